use std::fmt;
use std::sync::Arc;

use kernels::driver::Driver;
use kernels::isa::Target;
use kernels::mem::AlignedBuf;
use kernels::ops::convert::{F16ToF32, F32ToF16};
use kernels::tensor::{DType, Dims, Element, checked_elements, elements};

use super::planner::{Bound, Content, PlanNode, Planner};
use super::upper_bound::UpperBound;

/// Concrete shapes that do not fit an operator; the text says how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindError(pub String);

impl BindError {
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Larger buffers do not fit into an address space of 48 bits; offsets into an arena of smaller ones do not overflow.
const MAX_BYTES: usize = 1 << 47;

/// A buffer of the program being planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buf(pub(super) usize);

/// What an operator sees when its shapes become concrete, and where it puts its steps.
pub struct Bind<'p> {
    planner: &'p mut Planner,
    node: &'p PlanNode,
    outputs: Vec<Option<Bound>>,
    /// f32 results that become f16 outputs after the operator's own steps.
    narrow: Vec<(Buf, Buf, usize)>,
}

impl<'p> Bind<'p> {
    pub(super) fn new(planner: &'p mut Planner, node: &'p PlanNode) -> Self {
        Self { planner, outputs: vec![None; node.outputs.len()], node, narrow: Vec::new() }
    }

    /// What the program is planned for.
    pub fn target(&self) -> &Target {
        &self.planner.target
    }

    fn bound(&self, index: usize) -> Result<&Bound, BindError> {
        let slot = self.node.inputs.get(index).copied().flatten();
        slot.and_then(|slot| self.planner.value(slot)).ok_or_else(|| BindError(format!("input {index} is missing")))
    }

    /// Whether input `index` is given.
    pub fn has_input(&self, index: usize) -> bool {
        self.bound(index).is_ok()
    }

    /// Whether somebody reads output `index`.
    pub fn has_output(&self, index: usize) -> bool {
        self.node.outputs.get(index).copied().flatten().is_some()
    }

    /// Dimensions of input `index`.
    pub fn dims(&self, index: usize) -> Result<Dims, BindError> {
        Ok(self.bound(index)?.dims.clone())
    }

    pub fn dtype(&self, index: usize) -> Result<DType, BindError> {
        Ok(self.bound(index)?.dtype)
    }

    /// Contents of input `index` when they are known already: constants, and what follows from shapes.
    pub fn known<T: Element>(&self, index: usize) -> Option<Vec<T>> {
        let bound = self.bound(index).ok()?;
        let known = bound.known.as_ref().filter(|_| bound.dtype == T::DTYPE)?;
        Some(bytemuck::pod_collect_to_vec(known))
    }

    /// [`Bind::known`], the bytes as they are.
    pub fn known_bytes(&self, index: usize) -> Option<&[u8]> {
        Some(self.bound(index).ok()?.known.as_ref()?)
    }

    /// What is known of input `index` as a mask; a known bool is its own bound, unless it hides
    /// nothing.
    pub fn upper_bound(&self, index: usize) -> Option<UpperBound> {
        let bound = self.bound(index).ok()?;
        match &bound.known {
            Some(bytes) if bound.dtype == DType::Bool && bytes.contains(&0) => {
                Some(UpperBound { dims: bound.dims.clone(), bytes: Arc::clone(bytes) })
            }
            _ => bound.at_most.clone(),
        }
    }

    /// Known contents of an i64 or i32 input.
    ///
    /// # Errors
    /// When they are not known; [`super::super::ops::Op::shape_inputs`] guards against that.
    pub fn known_i64(&self, index: usize) -> Result<Vec<i64>, BindError> {
        let wide = self.known::<i64>(index);
        wide.or_else(|| Some(self.known::<i32>(index)?.into_iter().map(i64::from).collect()))
            .ok_or_else(|| BindError(format!("the contents of input {index} are not known when shapes are bound")))
    }

    /// Input `index` as it is.
    pub fn input(&self, index: usize) -> Result<Buf, BindError> {
        Ok(self.bound(index)?.buf)
    }

    /// Input `index` in f32: as it is, or widened from f16 by a step of its own.
    pub fn input_f32(&mut self, index: usize) -> Result<Buf, BindError> {
        let (buf, dtype, elements) = {
            let bound = self.bound(index)?;
            (bound.buf, bound.dtype, elements(&bound.dims))
        };
        match dtype {
            DType::F32 => Ok(buf),
            DType::F16 => {
                let wide = self.temp(DType::F32, elements)?;
                self.step(F16ToF32::new(elements), &[buf], &[wide]);
                Ok(wide)
            }
            other => Err(BindError(format!("input {index} is {other}, not a float"))),
        }
    }

    /// A new buffer for output `index`.
    pub fn output(&mut self, index: usize, dtype: DType, dims: &[usize]) -> Result<Buf, BindError> {
        let count = checked(dims)?;
        let buf = self.temp(dtype, count)?;
        self.set_output(index, Bound { dtype, dims: Dims::from_slice(dims), buf, known: None, at_most: None })?;
        Ok(buf)
    }

    /// A new f32 buffer for output `index` of type f32 or f16; an f16 output is rounded once, after all steps.
    pub fn output_f32(&mut self, index: usize, dtype: DType, dims: &[usize]) -> Result<Buf, BindError> {
        let output = self.output(index, dtype, dims)?;
        if dtype != DType::F16 {
            return Ok(output);
        }
        let elements = elements(dims);
        let wide = self.temp(DType::F32, elements)?;
        self.narrow.push((wide, output, elements));
        Ok(wide)
    }

    /// Makes output `index` the bytes of input `input` with other dimensions.
    pub fn alias(&mut self, index: usize, input: usize, dims: &[usize]) -> Result<(), BindError> {
        let source = self.bound(input)?.clone();
        if checked(dims)? != elements(&source.dims) {
            let (from, to) = (source.dims.as_slice(), dims);
            return Err(BindError(format!("a tensor of shape {from:?} cannot take the shape {to:?}")));
        }
        let at_most = source.at_most.filter(|_| UpperBound::survives(&source.dims, dims));
        self.set_output(index, Bound { dims: Dims::from_slice(dims), at_most, ..source })
    }

    /// Tells what is known of output `index`, a mask that was made before.
    pub fn bound_output(&mut self, index: usize, at_most: Option<UpperBound>) {
        if let Some(Some(output)) = self.outputs.get_mut(index) {
            output.at_most = at_most;
        }
    }

    /// Makes output `index` a tensor whose contents are known now.
    pub fn output_known<T: Element>(&mut self, index: usize, dims: &[usize], values: &[T]) -> Result<(), BindError> {
        self.output_constant(index, T::DTYPE, dims, Arc::new(AlignedBuf::copy_of(bytemuck::cast_slice(values))))
    }

    /// Makes output `index` a tensor with these bytes.
    pub fn output_constant(
        &mut self,
        index: usize,
        dtype: DType,
        dims: &[usize],
        bytes: Arc<AlignedBuf>,
    ) -> Result<(), BindError> {
        if checked(dims)?.checked_mul(dtype.size()) != Some(bytes.len()) {
            return Err(BindError(format!("{} bytes do not fill the shape {dims:?} of {dtype}", bytes.len())));
        }
        let buf = self.constant(Arc::clone(&bytes));
        let dims = Dims::from_slice(dims);
        self.set_output(index, Bound { dtype, dims, buf, known: Some(bytes), at_most: None })
    }

    fn set_output(&mut self, index: usize, bound: Bound) -> Result<(), BindError> {
        let place = self.outputs.get_mut(index).ok_or_else(|| BindError(format!("there is no output {index}")))?;
        *place = Some(bound);
        Ok(())
    }

    /// A buffer that lives within this operator.
    pub fn temp(&mut self, dtype: DType, elements: usize) -> Result<Buf, BindError> {
        let bytes = elements.checked_mul(dtype.size()).filter(|&bytes| bytes <= MAX_BYTES);
        let bytes = bytes.ok_or_else(|| BindError(format!("{elements} elements of {dtype} do not fit into memory")))?;
        Ok(self.planner.add_buffer(bytes, Content::Computed))
    }

    /// A buffer with fixed contents.
    pub fn constant(&mut self, bytes: Arc<AlignedBuf>) -> Buf {
        self.planner.add_buffer(bytes.len(), Content::Known(bytes))
    }

    /// Adds a step that reads `inputs` and writes `outputs`.
    pub fn step(&mut self, driver: impl Driver + 'static, inputs: &[Buf], outputs: &[Buf]) {
        self.planner.add_step(Box::new(driver), inputs, outputs, self.node.label);
    }

    pub(super) fn finish(mut self) -> Vec<Option<Bound>> {
        for (wide, output, elements) in std::mem::take(&mut self.narrow) {
            self.step(F32ToF16::new(elements), &[wide], &[output]);
        }
        self.outputs
    }
}

fn checked(dims: &[usize]) -> Result<usize, BindError> {
    checked_elements(dims).ok_or_else(|| BindError(format!("a tensor of shape {dims:?} does not fit into memory")))
}
