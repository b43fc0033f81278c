//! Axes and lists of integers, as attributes and inputs give them.

use kernels::tensor::DType;

use super::{Code, Decline, Lower};
use crate::plan::{Bind, BindError};

/// `axis` in `0..rank`, counted from the end when negative.
pub(crate) fn resolve(axis: i64, rank: usize) -> Result<usize, BindError> {
    let from_end = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let resolved = from_end.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank);
    resolved.ok_or_else(|| BindError::new(format!("axis {axis} does not exist in a tensor of rank {rank}")))
}

/// Distinct axes in `0..rank`, in the order given.
pub(crate) fn resolve_all(axes: &[i64], rank: usize) -> Result<Vec<usize>, BindError> {
    let mut resolved = Vec::with_capacity(axes.len());
    for &axis in axes {
        let axis = resolve(axis, rank)?;
        if resolved.contains(&axis) {
            return Err(BindError::new(format!("axis {axis} is given twice")));
        }
        resolved.push(axis);
    }
    Ok(resolved)
}

/// A list of integers that old versions of an operator have as an attribute and new ones as an input.
pub(crate) enum IntList {
    Fixed(Vec<i64>),
    Input(usize),
    Absent,
}

impl IntList {
    /// Attribute `name` before version `since`, input `index` from then on.
    pub fn lower(cx: &Lower<'_, '_>, name: &str, index: usize, since: i32) -> Result<Self, Decline> {
        if cx.version() < since {
            return Ok(cx.attr_ints(name)?.map_or(Self::Absent, |values| Self::Fixed(values.to_vec())));
        }
        if !cx.has_input(index) {
            return Ok(Self::Absent);
        }
        cx.dtype_in(index, &[DType::I64, DType::I32])?;
        Ok(Self::Input(index))
    }

    /// The same list, which may not be absent.
    pub fn required(self, name: &str) -> Result<Self, Decline> {
        match self {
            Self::Absent => Err(Decline::new(Code::Input, format!("'{name}' is missing"))),
            given => Ok(given),
        }
    }

    /// The integers, `None` when they are absent.
    pub fn get(&self, b: &Bind<'_>) -> Result<Option<Vec<i64>>, BindError> {
        match self {
            Self::Fixed(values) => Ok(Some(values.clone())),
            Self::Input(index) => b.known_i64(*index).map(Some),
            Self::Absent => Ok(None),
        }
    }
}
