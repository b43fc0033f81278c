//! Operators that write elements by index over a copy of a tensor.

use kernels::ops::arithmetic::Arithmetic;
use kernels::ops::scatter_elements::{Reduction, ScatterElements as ElementsDriver};
use kernels::ops::scatter_nd::ScatterNd as NdDriver;
use kernels::tensor::{DType, Dims, elements};

use super::axes;
use super::gather::check_index_shape;
use super::numeric::{self, computed};
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "ScatterElements",
        versions: 11..=28,
        inputs: 3..=3,
        outputs: 1..=1,
        attrs: &["axis", "reduction"],
        work: Work::Glue,
        lower: scatter_elements,
    },
    OpRow {
        domain: "",
        name: "ScatterND",
        versions: 11..=28,
        inputs: 3..=3,
        outputs: 1..=1,
        attrs: &["reduction"],
        work: Work::Glue,
        lower: scatter_nd,
    },
];

/// What both operators have in common.
struct Updates {
    /// Of data and updates.
    dtype: DType,
    reduction: Reduction,
}

impl Updates {
    fn lower(cx: &Lower<'_, '_>) -> Result<Self, Decline> {
        let dtype = cx.dtype(0)?;
        cx.dtype_in(2, &[dtype])?;
        let reduction = match cx.attr_str("reduction", "none")? {
            "none" => Reduction::Replace,
            "add" => Reduction::Add,
            "mul" => Reduction::Mul,
            "min" => Reduction::Min,
            "max" => Reduction::Max,
            other => return Err(Decline::new(Code::Attribute, format!("reduction '{other}' is not known"))),
        };
        if reduction != Reduction::Replace && !Arithmetic::supports(computed(dtype)) {
            return Err(Decline::new(Code::DType, format!("{reduction:?} of {dtype} is not supported")));
        }
        Ok(Self { dtype, reduction })
    }

    /// Type that the step works on.
    fn computed(&self) -> DType {
        if self.reduction == Reduction::Replace { self.dtype } else { computed(self.dtype) }
    }

    /// Makes the output with a driver that reads data of shape `dims`, indices and updates.
    fn write_over(
        &self,
        b: &mut Bind<'_>,
        dims: &[usize],
        driver: impl kernels::driver::Driver + 'static,
    ) -> Result<(), BindError> {
        let (data, updates, y) = match self.reduction {
            Reduction::Replace => (b.input(0)?, b.input(2)?, b.output(0, self.dtype, dims)?),
            _ => {
                let operands = (numeric::input(b, 0, self.dtype)?, numeric::input(b, 2, self.dtype)?);
                (operands.0, operands.1, numeric::output(b, self.dtype, dims)?)
            }
        };
        let indices = b.input(1)?;
        if elements(dims) != 0 {
            b.step(driver, &[data, indices, updates], &[y]);
        }
        Ok(())
    }
}

struct ScatterElements {
    updates: Updates,
    index: DType,
    axis: i64,
}

fn scatter_elements(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let index = cx.dtype_in(1, &[DType::I32, DType::I64])?;
    Ok(Box::new(ScatterElements { updates: Updates::lower(cx)?, index, axis: cx.attr_int("axis", 0)? }))
}

impl Op for ScatterElements {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (data, indices, updates) = (b.dims(0)?, b.dims(1)?, b.dims(2)?);
        let axis = axes::resolve(self.axis, data.len())?;
        check_index_shape(&data, &indices, axis)?;
        if indices != updates {
            let shapes = (updates.as_slice(), indices.as_slice());
            return Err(BindError::new(format!(
                "updates of shape {:?} do not fit indices of {:?}",
                shapes.0, shapes.1
            )));
        }
        let (dtype, reduction) = (self.updates.computed(), self.updates.reduction);
        let driver = ElementsDriver::new(dtype, reduction, self.index, &data, &indices, axis);
        self.updates.write_over(b, &data, driver)
    }
}

struct ScatterNd(Updates);

fn scatter_nd(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(1, &[DType::I64])?;
    Ok(Box::new(ScatterNd(Updates::lower(cx)?)))
}

impl Op for ScatterNd {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let (data, indices, updates) = (b.dims(0)?, b.dims(1)?, b.dims(2)?);
        let fits = || {
            let (&tuple, places) = indices.split_last()?;
            let expected: Dims = places.iter().chain(data.get(tuple..)?).copied().collect();
            (expected == updates).then_some((tuple, elements(places)))
        };
        let (tuple, count) = fits().ok_or_else(|| {
            let shapes = [&data, &indices, &updates].map(|dims| dims.as_slice());
            BindError::new(format!("shapes of data, indices and updates do not fit: {shapes:?}"))
        })?;
        let (bounds, inner) = data.split_at(tuple);
        let (bounds, inner) = (Dims::from_slice(bounds), elements(inner));
        let driver = NdDriver { dtype: self.0.computed(), reduction: self.0.reduction, bounds, inner, count };
        self.0.write_over(b, &data, driver)
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn run(
        op: &str,
        dims: &[usize],
        indices: Value,
        updates: Value,
        attrs: Vec<(&str, Attr<'static>)>,
    ) -> Result<Value, String> {
        let known = |dims: &[usize]| dims.iter().map(|&dim| crate::ir::Dim::Known(dim)).collect();
        let mut model = Model::new();
        model.input::<i32>("data", dims);
        model.input_of("indices", indices.dtype, known(&indices.dims));
        model.input_of("updates", updates.dtype, known(&updates.dims));
        model.node(op, &["data", "indices", "updates"], &["y"], attrs).output("y");
        let data: Vec<i32> = (0..dims.iter().product::<usize>() as i32).collect();
        let outputs = model.run(&[Value::new(dims, &data), indices, updates]).map_err(|error| error.to_string())?;
        Ok(outputs[0].clone())
    }

    #[test]
    fn writes_over_a_copy() {
        let (indices, updates) = (Value::new(&[1, 2], &[-1i32, 0]), Value::new(&[1, 2], &[50i32, 60]));
        let got = run("ScatterElements", &[2, 3], indices.clone(), updates.clone(), vec![("axis", Attr::Int(1))]);
        assert_eq!(got.unwrap(), Value::new(&[2, 3], &[60i32, 1, 50, 3, 4, 5]));
        let got = run("ScatterElements", &[2, 3], indices.clone(), updates.clone(), vec![]);
        assert_eq!(got.unwrap(), Value::new(&[2, 3], &[0i32, 60, 2, 50, 4, 5]));
        let rows = Value::new(&[1, 3], &[7i32, 8, 9]);
        let got = run("ScatterND", &[2, 3], Value::new(&[1, 1], &[-1i64]), rows.clone(), vec![]);
        assert_eq!(got.unwrap(), Value::new(&[2, 3], &[0i32, 1, 2, 7, 8, 9]));
        let error = run("ScatterND", &[2, 3], Value::new(&[1, 1], &[2i64]), rows, vec![]).unwrap_err();
        assert!(error.contains("index 2"), "{error}");
        let reduction = |name: &str| vec![("reduction", Attr::Str(name.into()))];
        let got = run("ScatterElements", &[2, 3], indices.clone(), updates.clone(), reduction("add"));
        assert_eq!(got.unwrap(), Value::new(&[2, 3], &[0i32, 61, 2, 53, 4, 5]));
        let error = run("ScatterElements", &[2, 3], indices, updates, reduction("mean")).unwrap_err();
        assert!(error.contains("'mean'"), "{error}");
    }

    #[test]
    fn shapes_must_fit() {
        let error =
            run("ScatterElements", &[2, 3], Value::new(&[1, 2], &[0i64; 2]), Value::new(&[2], &[0i32; 2]), vec![]);
        assert!(error.unwrap_err().contains("updates of shape [2]"));
        let error = run("ScatterND", &[2, 3], Value::new(&[1, 1], &[0i64]), Value::new(&[1, 2], &[0i32; 2]), vec![]);
        assert!(error.unwrap_err().contains("do not fit"));
    }
}
