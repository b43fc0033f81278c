//! Operators that make tensors from attributes and shapes.

use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::fill::Fill;
use kernels::tensor::{DType, Dims, elements};

use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::ir::{Attr, Tensor};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "Constant",
        versions: 1..=28,
        inputs: 0..=0,
        outputs: 1..=1,
        attrs: &["value", "value_int", "value_ints", "value_float", "value_floats"],
        work: Work::Glue,
        lower: constant,
    },
    OpRow {
        domain: "",
        name: "ConstantOfShape",
        versions: 9..=28,
        inputs: 1..=1,
        outputs: 1..=1,
        attrs: &["value"],
        work: Work::Glue,
        lower: constant_of_shape,
    },
];

struct Constant {
    dtype: DType,
    dims: Dims,
    bytes: Arc<AlignedBuf>,
}

fn constant(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let mut attrs = cx.node().attrs.iter();
    let (Some((name, attr)), None) = (attrs.next(), attrs.next()) else {
        return Err(Decline::new(Code::Attribute, "a constant needs exactly one value"));
    };
    let tensor = match attr {
        Attr::Tensor(tensor) => tensor.clone(),
        Attr::Int(value) => Tensor::owned(&[], &[*value]),
        Attr::Ints(values) => Tensor::owned(&[values.len()], values),
        Attr::Float(value) => Tensor::owned(&[], &[*value]),
        Attr::Floats(values) => Tensor::owned(&[values.len()], values),
        _ => return Err(Decline::new(Code::Attribute, format!("'{name}' has a type that is not supported"))),
    };
    let bytes = Arc::new(AlignedBuf::copy_of(tensor.bytes()));
    Ok(Box::new(Constant { dtype: tensor.dtype, dims: tensor.dims, bytes }))
}

impl Op for Constant {
    fn reads_only_shapes(&self) -> bool {
        true
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        b.output_constant(0, self.dtype, &self.dims, Arc::clone(&self.bytes))
    }
}

struct ConstantOfShape {
    dtype: DType,
    value: [u8; 8],
}

fn constant_of_shape(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype_in(0, &[DType::I64])?;
    let wrong = || Decline::new(Code::Attribute, "'value' is not one element of a supported type");
    let mut value = [0; 8];
    let dtype = match cx.node().attrs.get("value") {
        None => DType::F32,
        Some(Attr::Tensor(tensor)) if tensor.elements() == 1 => {
            value.get_mut(..tensor.bytes().len()).ok_or_else(wrong)?.copy_from_slice(tensor.bytes());
            tensor.dtype
        }
        Some(_) => return Err(wrong()),
    };
    Ok(Box::new(ConstantOfShape { dtype, value }))
}

impl Op for ConstantOfShape {
    fn shape_inputs(&self) -> &[usize] {
        &[0]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let shape = b.known_i64(0)?;
        let dims: Option<Dims> = shape.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let dims = dims.ok_or_else(|| BindError::new(format!("a dimension of shape {shape:?} is negative")))?;
        let y = b.output(0, self.dtype, &dims)?;
        let len = elements(&dims);
        b.step(Fill { dtype: self.dtype, len, value: self.value }, &[], &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::{Attr, Tensor};
    use crate::testing::{Model, Value};

    #[test]
    fn constants_of_every_kind() {
        let kinds: [(&str, Attr<'static>, Value); 5] = [
            ("value", Attr::Tensor(Tensor::owned(&[1, 2], &[3u8, 4])), Value::new(&[1, 2], &[3u8, 4])),
            ("value_int", Attr::Int(-7), Value::new(&[], &[-7i64])),
            ("value_ints", Attr::Ints(vec![1, 2]), Value::new(&[2], &[1i64, 2])),
            ("value_float", Attr::Float(0.5), Value::new(&[], &[0.5f32])),
            ("value_floats", Attr::Floats(vec![]), Value::new::<f32>(&[0], &[])),
        ];
        for (name, attr, want) in kinds {
            let mut model = Model::new();
            model.node("Constant", &[], &["y"], vec![(name, attr)]).output("y");
            assert_eq!(model.run(&[]).unwrap(), [want]);
        }
        let mut model = Model::new();
        model.node("Constant", &[], &["y"], vec![("value_string", Attr::Str("a".into()))]).output("y");
        assert!(model.run(&[]).unwrap_err().to_string().contains("'value_string'"));
    }

    #[test]
    fn fills_the_shape_that_an_input_gives() {
        let run = |shape: &[i64], value: Option<Tensor<'static>>| {
            let attrs = value.map(|value| ("value", Attr::Tensor(value))).into_iter().collect();
            let mut model = Model::new();
            model.input::<i64>("shape", &[shape.len()]).node("ConstantOfShape", &["shape"], &["y"], attrs).output("y");
            model.run(&[Value::new(&[shape.len()], shape)])
        };
        assert_eq!(run(&[2, 1], None).unwrap(), [Value::new(&[2, 1], &[0f32; 2])]);
        assert_eq!(run(&[3], Some(Tensor::owned(&[1], &[7i64]))).unwrap(), [Value::new(&[3], &[7i64; 3])]);
        assert_eq!(run(&[], Some(Tensor::owned(&[1], &[7i16]))).unwrap(), [Value::new(&[], &[7i16])]);
        assert_eq!(run(&[0, 4], None).unwrap(), [Value::new::<f32>(&[0, 4], &[])]);
        assert!(run(&[2, -1], None).unwrap_err().to_string().contains("[2, -1]"));
        assert!(run(&[1 << 40, 1 << 40], None).unwrap_err().to_string().contains("memory"));
        assert!(run(&[1 << 62], None).unwrap_err().to_string().contains("memory"));
    }
}
