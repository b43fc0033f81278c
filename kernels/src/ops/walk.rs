use crate::tensor::Dims;
use smallvec::SmallVec;

/// Strides in elements; negative ones walk backwards, zero ones repeat.
pub(crate) type Strides = SmallVec<[isize; 6]>;

/// Visits the indices of a box in row-major order and keeps the offset that strides give each of them.
pub(crate) struct Walk<'a> {
    dims: &'a [usize],
    strides: &'a [isize],
    index: Dims,
    offset: isize,
}

impl<'a> Walk<'a> {
    /// Starts at the `position`-th index; no dimension may be 0.
    pub fn new(dims: &'a [usize], strides: &'a [isize], start: isize, position: usize) -> Self {
        let mut walk = Self { dims, strides, index: Dims::from_elem(0, dims.len()), offset: start };
        let mut rest = position;
        for (axis, &dim) in dims.iter().enumerate().rev() {
            walk.index[axis] = rest % dim;
            rest /= dim;
            walk.offset += walk.index[axis] as isize * strides[axis];
        }
        walk
    }

    pub fn index(&self) -> &[usize] {
        &self.index
    }

    pub fn offset(&self) -> usize {
        self.offset as usize
    }

    /// Goes to the next index; after the last one, back to the first.
    pub fn advance(&mut self) {
        for axis in (0..self.dims.len()).rev() {
            self.index[axis] += 1;
            self.offset += self.strides[axis];
            if self.index[axis] < self.dims[axis] {
                return;
            }
            self.offset -= self.dims[axis] as isize * self.strides[axis];
            self.index[axis] = 0;
        }
    }
}
