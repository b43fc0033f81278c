//! Images of other sizes. Each axis that changes is a step of its own, for all interpolations are separable.

mod coordinates;
#[cfg(test)]
mod tests;

use kernels::ops::resample::Resample;
use kernels::tensor::{DType, Dims, elements};

use self::coordinates::{Coordinates, Interpolation, Rounding};
use super::{Code, Decline, Lower, Op, OpRow, Work, axes};
use crate::plan::{Bind, BindError};

const ROW: OpRow = OpRow {
    domain: "",
    name: "Resize",
    versions: 11..=28,
    inputs: 2..=4,
    outputs: 1..=1,
    attrs: &[
        "antialias",
        "axes",
        "coordinate_transformation_mode",
        "cubic_coeff_a",
        "exclude_outside",
        "extrapolation_value",
        "keep_aspect_ratio_policy",
        "mode",
        "nearest_mode",
    ],
    work: Work::Heavy,
    lower: resize,
};

pub const ROWS: &[OpRow] = &[
    ROW,
    OpRow { versions: 10..=10, inputs: 2..=2, attrs: &["mode"], lower: old_resize, ..ROW },
    OpRow { name: "Upsample", versions: 9..=10, inputs: 2..=2, attrs: &["mode"], lower: old_resize, ..ROW },
];

struct Resize {
    dtype: DType,
    coordinates: Coordinates,
    interpolation: Interpolation,
    /// The axes that scales and sizes name; `None`: all.
    axes: Option<Vec<i64>>,
    /// Inputs with scales and sizes.
    inputs: &'static [usize],
}

/// Inputs: X, roi, scales, sizes.
fn resize(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let unknown = |name: &str, value: &str| Decline::new(Code::Attribute, format!("{name} '{value}' is not supported"));
    let policy = cx.attr_str("keep_aspect_ratio_policy", "stretch")?;
    if policy != "stretch" {
        return Err(unknown("keep_aspect_ratio_policy", policy));
    }
    if cx.attr_bool("antialias", false)? {
        return Err(Decline::new(Code::Attribute, "antialiasing is not supported"));
    }
    let name = cx.attr_str("coordinate_transformation_mode", "half_pixel")?;
    let coordinates = Coordinates::named(name).ok_or_else(|| unknown("coordinate_transformation_mode", name))?;
    let rounding = cx.attr_str("nearest_mode", "round_prefer_floor")?;
    let interpolation = match cx.attr_str("mode", "nearest")? {
        "nearest" => {
            Interpolation::Nearest(Rounding::named(rounding).ok_or_else(|| unknown("nearest_mode", rounding))?)
        }
        "linear" => Interpolation::Linear,
        "cubic" => Interpolation::Cubic {
            a: cx.attr_float("cubic_coeff_a", -0.75)?,
            exclude_outside: cx.attr_bool("exclude_outside", false)?,
        },
        other => return Err(unknown("mode", other)),
    };
    if cx.has_input(2) {
        cx.dtype_in(2, &[DType::F32])?;
    }
    if cx.has_input(3) {
        cx.dtype_in(3, &[DType::I64])?;
    }
    let axes = cx.attr_ints("axes")?.map(<[i64]>::to_vec);
    Ok(Box::new(Resize { dtype: cx.float_input(0)?, coordinates, interpolation, axes, inputs: &[2, 3] }))
}

/// Inputs: X, scales.
fn old_resize(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let interpolation = match cx.attr_str("mode", "nearest")? {
        "nearest" => Interpolation::Nearest(Rounding::Outwards),
        "linear" => Interpolation::Linear,
        other => return Err(Decline::new(Code::Attribute, format!("mode '{other}' is not supported"))),
    };
    cx.dtype_in(1, &[DType::F32])?;
    let (dtype, coordinates) = (cx.float_input(0)?, Coordinates::Asymmetric);
    Ok(Box::new(Resize { dtype, coordinates, interpolation, axes: None, inputs: &[1] }))
}

/// A new axis.
#[derive(Clone, Copy)]
struct Size {
    len: usize,
    scale: f32,
}

impl Resize {
    /// The new size of each axis of `dims`.
    fn sizes(&self, b: &Bind<'_>, dims: &[usize]) -> Result<Vec<Size>, BindError> {
        let chosen = match &self.axes {
            Some(axes) => axes::resolve_all(axes, dims.len())?,
            None => (0..dims.len()).collect(),
        };
        let scales = b.known::<f32>(self.inputs[0]).filter(|scales| !scales.is_empty());
        let lens = self.inputs.get(1).and_then(|&input| b.known::<i64>(input)).filter(|lens| !lens.is_empty());
        let new: Vec<Size> = match (scales, lens) {
            (Some(scales), None) if scales.len() == chosen.len() => {
                let size = |(&axis, scale): (&usize, f32)| Size { len: (dims[axis] as f32 * scale) as usize, scale };
                chosen.iter().zip(scales).map(size).collect()
            }
            (None, Some(lens)) if lens.len() == chosen.len() => {
                let size = |(&axis, len): (&usize, i64)| {
                    let len = usize::try_from(len).ok()?;
                    Some(Size { len, scale: len as f32 / dims[axis] as f32 })
                };
                let sizes = chosen.iter().zip(lens).map(size).collect::<Option<_>>();
                sizes.ok_or_else(|| BindError::new("a size is negative"))?
            }
            _ => return Err(BindError::new("neither scales nor sizes fit the axes")),
        };
        let mut sizes: Vec<Size> = dims.iter().map(|&len| Size { len, scale: 1.0 }).collect();
        chosen.into_iter().zip(new).for_each(|(axis, size)| sizes[axis] = size);
        match sizes.iter().zip(dims).find(|(size, len)| (size.scale.is_nan() || size.scale <= 0.0) && **len > 0) {
            Some((size, len)) => Err(BindError::new(format!("a scale of {} on an axis of {len} elements", size.scale))),
            None => Ok(sizes),
        }
    }
}

impl Op for Resize {
    fn shape_inputs(&self) -> &[usize] {
        self.inputs
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let mut dims = b.dims(0)?;
        let sizes = self.sizes(b, &dims)?;
        let changes: Vec<usize> =
            (0..dims.len()).filter(|&axis| sizes[axis].len != dims[axis] || sizes[axis].scale != 1.0).collect();
        let Some((&last, before)) = changes.split_last() else { return b.alias(0, 0, &dims) };
        let out: Dims = sizes.iter().map(|size| size.len).collect();
        let mut x = b.input_f32(0)?;
        let y = b.output_f32(0, self.dtype, &out)?;
        if elements(&out) == 0 {
            return Ok(());
        }
        if elements(&dims) == 0 {
            return Err(BindError::new(format!("an image of shape {dims:?} has nothing to be resized")));
        }
        for &axis in before.iter().chain([&last]) {
            let Size { len, scale } = sizes[axis];
            let (terms, table) = self.interpolation.table(self.coordinates, dims[axis], len, scale);
            let block = [elements(&dims[..axis]), dims[axis], elements(&dims[axis + 1..])];
            dims[axis] = len;
            let to = if axis == last { y } else { b.temp(DType::F32, elements(&dims))? };
            b.step(Resample::new(block, terms, table), &[x], &[to]);
            x = to;
        }
        Ok(())
    }
}
