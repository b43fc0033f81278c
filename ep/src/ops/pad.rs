use std::sync::Arc;

use kernels::mem::AlignedBuf;
use kernels::ops::pad::{Pad as Driver, PadAxis, PadMode};
use kernels::tensor::{DType, Dims, elements};

use super::axes::{self, IntList};
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "Pad",
    versions: 2..=28,
    inputs: 1..=4,
    outputs: 1..=1,
    attrs: &["mode", "pads", "value"],
    work: Work::Glue,
    lower,
}];

struct Pad {
    dtype: DType,
    mode: PadMode,
    pads: IntList,
    /// Before version 11, the constant as an attribute.
    value: Option<Arc<AlignedBuf>>,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let dtype = cx.dtype(0)?;
    let mode = match cx.attr_str("mode", "constant")? {
        "constant" => PadMode::Constant,
        "edge" => PadMode::Edge,
        "reflect" => PadMode::Reflect,
        "wrap" if cx.version() >= 19 => PadMode::Wrap,
        other => return Err(Decline::new(Code::Attribute, format!("mode '{other}' is not known"))),
    };
    let pads = IntList::lower(cx, "pads", 1, 11)?.required("pads")?;
    let mut value = None;
    if cx.version() < 11 {
        value = Some(Arc::new(float_bytes(dtype, cx.attr_float("value", 0.0)?)?));
    } else if cx.has_input(2) {
        cx.dtype_in(2, &[dtype])?;
    }
    if cx.has_input(3) {
        cx.dtype_in(3, &[DType::I64, DType::I32])?;
    }
    Ok(Box::new(Pad { dtype, mode, pads, value }))
}

fn float_bytes(dtype: DType, value: f32) -> Result<AlignedBuf, Decline> {
    match dtype {
        DType::F32 => Ok(AlignedBuf::copy_of(&value.to_ne_bytes())),
        DType::F16 => Ok(AlignedBuf::copy_of(bytemuck::bytes_of(&half::f16::from_f32(value)))),
        other => Err(Decline::new(Code::DType, format!("input 0 of type {other} is not supported"))),
    }
}

impl Pad {
    fn axes(&self, b: &Bind<'_>, dims: &[usize]) -> Result<Vec<PadAxis>, BindError> {
        let pads = self.pads.get(b)?.unwrap_or_default();
        let chosen =
            if b.has_input(3) { axes::resolve_all(&b.known_i64(3)?, dims.len())? } else { (0..dims.len()).collect() };
        if pads.len() != 2 * chosen.len() {
            return Err(BindError::new(format!("{} pads do not fit {} axes", pads.len(), chosen.len())));
        }
        let mut padded: Vec<PadAxis> = dims.iter().map(|&len| PadAxis { len, before: 0, after: 0 }).collect();
        let (before, after) = pads.split_at(chosen.len());
        for (axis, (&before, &after)) in chosen.into_iter().zip(before.iter().zip(after)) {
            padded[axis] = self.pad_axis(dims[axis], before, after)?;
        }
        Ok(padded)
    }

    fn pad_axis(&self, len: usize, before: i64, after: i64) -> Result<PadAxis, BindError> {
        let wrong = |why| BindError::new(format!("pads of {before} and {after} on an axis of {len}: {why}"));
        let cut = before.min(0).unsigned_abs().saturating_add(after.min(0).unsigned_abs());
        let kept = (len as u64).checked_sub(cut).ok_or_else(|| wrong("more is cut off than there is"))?;
        if kept == 0 && self.mode != PadMode::Constant && (before > 0 || after > 0) {
            return Err(wrong("there is nothing to pad with"));
        }
        let size = |pad: i64| isize::try_from(pad).ok().filter(|&pad| pad < isize::MAX / 4);
        match (size(before), size(after)) {
            (Some(before), Some(after)) => Ok(PadAxis { len, before, after }),
            _ => Err(wrong("the result does not fit into memory")),
        }
    }
}

impl Op for Pad {
    fn shape_inputs(&self) -> &[usize] {
        &[1, 3]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let axes = self.axes(b, &dims)?;
        let out: Dims = axes.iter().map(PadAxis::padded).collect();
        let mut inputs = vec![b.input(0)?];
        if let Some(value) = &self.value {
            inputs.push(b.constant(Arc::clone(value)));
        } else if b.has_input(2) {
            if elements(&b.dims(2)?) != 1 {
                return Err(BindError::new("the value to pad with is not one element"));
            }
            inputs.push(b.input(2)?);
        }
        let y = b.output(0, self.dtype, &out)?;
        if elements(&out) != 0 {
            b.step(Driver::new(self.dtype, self.mode, &axes), &inputs, &[y]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::Attr;
    use crate::testing::{Model, Value};

    fn pad(mode: &str, pads: &[i64], axes: Option<&[i64]>) -> Result<Value, String> {
        let mut model = Model::new();
        model.input::<f32>("x", &[2, 3]).constant("pads", &[pads.len()], pads).constant("value", &[], &[9f32]);
        let mut inputs = vec!["x", "pads", if mode == "constant" { "value" } else { "" }];
        if let Some(axes) = axes {
            model.constant("axes", &[axes.len()], axes);
            inputs.push("axes");
        }
        model.node("Pad", &inputs, &["y"], vec![("mode", Attr::Str(mode.into()))]).output("y");
        let x = Value::new(&[2, 3], &[0f32, 1., 2., 3., 4., 5.]);
        Ok(model.run(&[x]).map_err(|error| error.to_string())?[0].clone())
    }

    #[test]
    fn pads_in_every_mode() {
        let rows =
            |row: [f32; 2]| Value::new(&[2, 5], &[row[0], 0., 1., 2., row[1], row[0] + 3., 3., 4., 5., row[1] + 3.]);
        assert_eq!(pad("edge", &[0, 1, 0, 1], None).unwrap(), rows([0., 2.]));
        assert_eq!(pad("reflect", &[1, 1], Some(&[-1])).unwrap(), rows([1., 1.]));
        assert_eq!(pad("wrap", &[1, 1], Some(&[1])).unwrap(), rows([2., 0.]));
        let want = Value::new(&[3, 2], &[9f32, 9., 0., 1., 3., 4.]);
        assert_eq!(pad("constant", &[1, 0, 0, -1], None).unwrap(), want);
    }

    #[test]
    fn the_old_form_has_attributes() {
        let mut model = Model::new();
        let attrs = vec![("pads", Attr::Ints(vec![1, 0])), ("value", Attr::Float(0.5))];
        model.version(2).input::<f32>("x", &[1]).node("Pad", &["x"], &["y"], attrs).output("y");
        assert_eq!(model.run(&[Value::new(&[1], &[3f32])]).unwrap(), [Value::new(&[2], &[0.5f32, 3.])]);
    }

    #[test]
    fn bad_pads_are_errors() {
        assert!(pad("constant", &[1], None).unwrap_err().contains("1 pads"));
        assert!(pad("constant", &[-2, -2], Some(&[1])).unwrap_err().contains("cut off"));
        assert!(pad("edge", &[1, -3], Some(&[1])).unwrap_err().contains("nothing to pad with"));
        assert!(pad("constant", &[i64::MAX, 0], Some(&[1])).unwrap_err().contains("memory"));
        assert!(pad("constant", &[1 << 60, 1 << 60, 0, 0], None).unwrap_err().contains("memory"));
        assert!(pad("swirl", &[0, 0], Some(&[1])).unwrap_err().contains("'swirl'"));
    }
}
