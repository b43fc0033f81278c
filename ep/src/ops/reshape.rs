//! Operators that give the same elements another shape: no data move.

use kernels::tensor::{Dims, checked_elements, elements};

use super::axes::{self, IntList};
use super::{Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[
    OpRow {
        domain: "",
        name: "Reshape",
        versions: 1..=28,
        inputs: 1..=2,
        outputs: 1..=1,
        attrs: &["shape", "allowzero"],
        work: Work::Glue,
        lower: reshape,
    },
    OpRow {
        domain: "",
        name: "Squeeze",
        versions: 1..=28,
        inputs: 1..=2,
        outputs: 1..=1,
        attrs: &["axes"],
        work: Work::Glue,
        lower: squeeze,
    },
    OpRow {
        domain: "",
        name: "Unsqueeze",
        versions: 1..=28,
        inputs: 1..=2,
        outputs: 1..=1,
        attrs: &["axes"],
        work: Work::Glue,
        lower: unsqueeze,
    },
    OpRow {
        domain: "",
        name: "Flatten",
        versions: 1..=28,
        inputs: 1..=1,
        outputs: 1..=1,
        attrs: &["axis"],
        work: Work::Glue,
        lower: flatten,
    },
];

struct Reshape {
    shape: IntList,
    allow_zero: bool,
}

fn reshape(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype(0)?;
    let shape = IntList::lower(cx, "shape", 1, 5)?.required("shape")?;
    Ok(Box::new(Reshape { shape, allow_zero: cx.attr_bool("allowzero", false)? }))
}

impl Op for Reshape {
    fn shape_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let shape = self.shape.get(b)?.unwrap_or_default();
        let dims = reshaped(&b.dims(0)?, &shape, self.allow_zero)?;
        b.alias(0, 0, &dims)
    }
}

/// The shape that a request gives a tensor of shape `from`: 0 copies a dimension (unless `allow_zero`), -1 takes what is left.
fn reshaped(from: &[usize], request: &[i64], allow_zero: bool) -> Result<Dims, BindError> {
    let wrong =
        |why: &str| BindError::new(format!("a tensor of shape {from:?} cannot take the shape {request:?}: {why}"));
    let mut open = None;
    let mut dims = Dims::new();
    for (axis, &size) in request.iter().enumerate() {
        dims.push(match size {
            0 if !allow_zero => *from.get(axis).ok_or_else(|| wrong("0 has no dimension to copy"))?,
            -1 if open.replace(axis).is_some() => return Err(wrong("more than one -1")),
            -1 => 1,
            _ => usize::try_from(size).map_err(|_| wrong("a dimension is negative"))?,
        });
    }
    let Some(axis) = open else { return Ok(dims) };
    let rest = checked_elements(&dims).ok_or_else(|| wrong("the size overflows"))?;
    let (total, open) = (elements(from), dims.get_mut(axis));
    match (total.checked_rem(rest), open) {
        (Some(0), Some(open)) => *open = total / rest,
        _ => return Err(wrong("-1 fits no whole number")),
    }
    Ok(dims)
}

struct Squeeze(IntList);

fn squeeze(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype(0)?;
    Ok(Box::new(Squeeze(IntList::lower(cx, "axes", 1, 13)?)))
}

impl Op for Squeeze {
    fn shape_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let gone = match self.0.get(b)? {
            Some(list) => axes::resolve_all(&list, dims.len())?,
            None => (0..dims.len()).filter(|&axis| dims[axis] == 1).collect(),
        };
        if let Some(axis) = gone.iter().find(|&&axis| dims[axis] != 1) {
            return Err(BindError::new(format!("axis {axis} of shape {:?} is not 1", dims.as_slice())));
        }
        let kept = dims.iter().enumerate().filter(|(axis, _)| !gone.contains(axis));
        let kept: Dims = kept.map(|(_, &dim)| dim).collect();
        b.alias(0, 0, &kept)
    }
}

struct Unsqueeze(IntList);

fn unsqueeze(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype(0)?;
    Ok(Box::new(Unsqueeze(IntList::lower(cx, "axes", 1, 13)?.required("axes")?)))
}

impl Op for Unsqueeze {
    fn shape_inputs(&self) -> &[usize] {
        &[1]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let list = self.0.get(b)?.unwrap_or_default();
        let rank = dims.len() + list.len();
        let new = axes::resolve_all(&list, rank)?;
        let mut old = dims.iter().copied();
        let dims: Dims = (0..rank).filter_map(|axis| if new.contains(&axis) { Some(1) } else { old.next() }).collect();
        b.alias(0, 0, &dims)
    }
}

struct Flatten {
    axis: i64,
}

fn flatten(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    cx.dtype(0)?;
    Ok(Box::new(Flatten { axis: cx.attr_int("axis", 1)? }))
}

impl Op for Flatten {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        // The axis may also stand behind the last dimension.
        let axis = match usize::try_from(self.axis) {
            Ok(axis) if axis == dims.len() => axis,
            _ => axes::resolve(self.axis, dims.len())?,
        };
        let (outer, inner) = dims.split_at(axis);
        b.alias(0, 0, &[elements(outer), elements(inner)])
    }
}

#[cfg(test)]
mod tests;
