//! What the attention operators share: masks as additive biases, and the scale.

use kernels::ops::attention::{Attention, AttentionDims, BoundsToBias, KeepToBias, ScoreStage, Strided};
use kernels::tensor::{DType, elements};

use super::known_mask::KnownMask;
use crate::plan::{Bind, BindError, Buf};

/// `scale`, or one over the root of the head size when it is 0.
pub(super) fn scale_or_default(scale: f32, head: usize) -> f32 {
    if scale == 0.0 { 1.0 / (head as f32).sqrt() } else { scale }
}

/// An attention and its operands, to which masks are added.
pub(super) struct Masked {
    pub dims: AttentionDims,
    pub driver: Attention,
    pub operands: Vec<Buf>,
}

impl Masked {
    /// Adds input `index`, which broadcasts to `[batch, heads, queries, keys]`: a float is added to the scores, a false
    /// boolean hides.
    pub fn bias(mut self, b: &mut Bind<'_>, index: usize) -> Result<Self, BindError> {
        let dims = b.dims(index)?;
        let strided = broadcast(&dims, &self.dims)?;
        let bias = if b.dtype(index)? == DType::Bool {
            let (flags, bias) = (b.input(index)?, b.temp(DType::F32, elements(&dims))?);
            b.step(KeepToBias::<u8>::new(elements(&dims), f32::NEG_INFINITY), &[flags], &[bias]);
            bias
        } else {
            b.input_f32(index)?
        };
        self.push(strided, bias);
        Ok(self)
    }

    /// Adds inputs as [`Masked::bias`] does, but leaves those keys out that a known one hides behind the position of each
    /// query, and does not read one that does nothing else. `alone`: there is no other mask.
    pub fn biases(mut self, b: &mut Bind<'_>, indices: &[usize], alone: bool) -> Result<Self, BindError> {
        for &index in indices {
            let known = KnownMask::read(b, index, &self.dims, alone);
            if let Some(offset) = known.as_ref().and_then(|known| known.causal) {
                self.driver = self.driver.bounded(offset);
            }
            if known.is_none_or(|known| !known.nothing_else) {
                self = self.bias(b, index)?;
            }
        }
        Ok(self)
    }

    /// Adds an i32 mask of the com.microsoft operators, where `hidden` is added to the scores of hidden keys:
    /// `[batch]` lengths, `[2 * batch]` ends and starts, `[3 * batch + 2]` lengths and what follows from them, flags
    /// `[batch, keys]` or `[batch, queries, keys]`.
    pub fn key_mask(mut self, b: &mut Bind<'_>, index: usize, hidden: f32) -> Result<Self, BindError> {
        let (given, d) = (b.dims(index)?, self.dims);
        let at = |batch: usize, row: usize| Strided { offset: 0, batch, head: 0, row, col: 1 };
        let (strided, len) = match *given.as_slice() {
            [len] if [d.batch, 2 * d.batch, 3 * d.batch + 2].contains(&len) => (at(d.keys, 0), d.batch * d.keys),
            [batch, keys] if batch == d.batch && keys == d.keys => (at(d.keys, 0), batch * keys),
            // The same value for every key leaves the softmax as it is.
            [batch, 1] if batch == d.batch || batch == 1 => return Ok(self),
            [batch, rows, keys] if [batch, rows, keys] == [d.batch, d.queries, d.keys] => {
                (at(rows * keys, keys), batch * rows * keys)
            }
            _ => {
                let (given, d) = (given.as_slice(), &self.driver);
                return Err(BindError::new(format!("a mask of shape {given:?} does not fit {d}")));
            }
        };
        let (mask, bias) = (b.input(index)?, b.temp(DType::F32, len)?);
        match given.len() {
            1 => b.step(BoundsToBias::new(d.batch, d.keys, given[0] == 2 * d.batch, hidden), &[mask], &[bias]),
            _ => b.step(KeepToBias::<i32>::new(len, hidden), &[mask], &[bias]),
        }
        self.push(strided, bias);
        Ok(self)
    }

    /// Adds a step that makes output `index` the scores at this stage, `[batch, heads, queries, keys]`, if they are read.
    pub fn scores(self, b: &mut Bind<'_>, index: usize, dtype: DType, stage: ScoreStage) -> Result<Self, BindError> {
        if b.has_output(index) {
            let d = &self.dims;
            let scores = b.output_f32(index, dtype, &[d.batch, d.heads, d.queries, d.keys])?;
            b.step(self.driver.clone().on(b.target()).scores(stage), &self.operands, &[scores]);
        }
        Ok(self)
    }

    /// Adds the step, which writes `y`.
    pub fn step(self, b: &mut Bind<'_>, y: Buf) -> Result<(), BindError> {
        let driver = self.driver.rounded(b.dtype(0)? == DType::F16).on(b.target());
        let mut outputs = vec![y];
        if driver.partials() > 0 {
            outputs.push(b.temp(DType::F32, driver.partials())?);
        }
        b.step(driver, &self.operands, &outputs);
        Ok(())
    }

    fn push(&mut self, strided: Strided, bias: Buf) {
        self.driver.add_bias(strided);
        self.operands.push(bias);
    }
}

/// Strides of a dense tensor that broadcasts to `[batch, heads, queries, keys]`.
pub(super) fn broadcast(dims: &[usize], to: &AttentionDims) -> Result<Strided, BindError> {
    let target = [to.batch, to.heads, to.queries, to.keys];
    let mut strides = [0; 4];
    let mut stride = 1;
    let mut place = |(&dim, (&target, place)): (&usize, (&usize, &mut usize))| {
        *place = if dim == 1 { 0 } else { stride };
        stride *= dim;
        dim == 1 || dim == target
    };
    let fits = dims.len() <= 4 && dims.iter().rev().zip(target.iter().zip(&mut strides).rev()).all(&mut place);
    let [batch, head, row, col] = strides;
    match fits {
        true => Ok(Strided { offset: 0, batch, head, row, col }),
        false => Err(BindError::new(format!("a mask of shape {dims:?} does not broadcast to {target:?}"))),
    }
}
