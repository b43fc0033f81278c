use crate::driver::RunError;
use crate::tape::Io;
use crate::tensor::DType;

/// Integers that choose elements. Floats are cut towards zero.
pub(crate) enum Indices<'a> {
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
}

impl<'a> Indices<'a> {
    /// Operand `input` of a step, of type `dtype`: `I32`, `F32` or else `I64`.
    pub fn of(io: &Io<'a>, input: usize, dtype: DType) -> Self {
        match dtype {
            DType::I32 => Self::I32(io.input(input)),
            DType::F32 => Self::F32(io.input(input)),
            _ => Self::I64(io.input(input)),
        }
    }

    pub fn get(&self, position: usize) -> i64 {
        match self {
            Self::I32(list) => i64::from(list[position]),
            Self::I64(list) => list[position],
            Self::F32(list) => list[position] as i64,
        }
    }

    /// The element that the index at `position` names on an axis of `len` elements; negative ones count from the end.
    pub fn resolve(&self, position: usize, len: usize) -> Result<usize, RunError> {
        let index = self.get(position);
        wrap(index, len)
            .ok_or_else(|| RunError::Data(format!("index {index} is out of bounds for an axis of {len} elements")))
    }

    /// The flat position in a box of `dims` that a tuple of indices names, the first of which is at `position`.
    pub fn resolve_tuple(&self, position: usize, dims: &[usize]) -> Result<usize, RunError> {
        dims.iter().enumerate().try_fold(0, |flat, (axis, &len)| Ok(flat * len + self.resolve(position + axis, len)?))
    }
}

/// `index` in `0..len`, counted from the end when negative.
pub(crate) fn wrap(index: i64, len: usize) -> Option<usize> {
    let len = i64::try_from(len).ok()?;
    let index = if index < 0 { index.checked_add(len)? } else { index };
    if (0..len).contains(&index) { usize::try_from(index).ok() } else { None }
}
