//! Index algebra of elementwise operations with NumPy broadcasting.

use std::ops::Range;

use smallvec::SmallVec;

use super::walk::{Strides, Walk};
use crate::tensor::{Dims, row_major_strides};

/// The dims that `operands` have together: aligned at the last axis, equal lengths stay, length 1 stretches.
/// `None` when two lengths clash.
pub fn broadcast_dims(operands: &[&[usize]]) -> Option<Dims> {
    let rank = operands.iter().map(|dims| dims.len()).max().unwrap_or(0);
    let mut out = Dims::from_elem(1, rank);
    for dims in operands {
        for (to, &dim) in out[rank - dims.len()..].iter_mut().zip(*dims) {
            match (*to, dim) {
                (1, _) => *to = dim,
                (_, 1) => {}
                (a, b) if a == b => {}
                _ => return None,
            }
        }
    }
    Some(out)
}

/// How the elements of an output find those of `N` contiguous operands.
///
/// Axes are merged where all operands allow it, so that rows are as long as can be. Along a row each operand either
/// advances by one element or repeats a single one.
#[derive(Clone, Debug)]
pub(crate) struct Broadcast<const N: usize> {
    /// At least one axis; the last one is the row.
    dims: Dims,
    strides: [Strides; N],
}

impl<const N: usize> Broadcast<N> {
    /// # Panics
    /// When the operands do not broadcast; [`broadcast_dims`] tells.
    pub fn new(operands: [&[usize]; N]) -> Self {
        let Some(out) = broadcast_dims(&operands) else {
            panic!("operands {operands:?} do not broadcast");
        };
        let full = operands.map(|dims| operand_strides(dims, out.len()));
        let mut plan = Self { dims: Dims::new(), strides: std::array::from_fn(|_| SmallVec::new()) };
        if out.contains(&0) {
            plan.push(0, [0; N]);
            return plan;
        }
        for (axis, &dim) in out.iter().enumerate().filter(|&(_, &dim)| dim != 1) {
            plan.push(dim, std::array::from_fn(|i| full[i][axis]));
        }
        if plan.dims.is_empty() {
            plan.push(1, [0; N]);
        }
        plan
    }

    /// Appends an axis, merged into the last one if every operand's strides continue.
    fn push(&mut self, dim: usize, strides: [isize; N]) {
        let continues = |(have, &stride): (&Strides, &isize)| have.last() == Some(&(stride * dim as isize));
        let merge = self.strides.iter().zip(&strides).all(continues);
        match self.dims.last_mut() {
            Some(outer) if merge => {
                *outer *= dim;
                for (have, stride) in self.strides.iter_mut().zip(strides) {
                    have.pop();
                    have.push(stride);
                }
            }
            _ => {
                self.dims.push(dim);
                for (have, stride) in self.strides.iter_mut().zip(strides) {
                    have.push(stride);
                }
            }
        }
    }

    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Elements of the output.
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// For each operand: whether it repeats one element along a row.
    pub fn repeats(&self) -> [bool; N] {
        std::array::from_fn(|i| self.strides[i].last() == Some(&0))
    }

    /// Calls `row` for each row of the output's elements `share`, with the row's place inside the share and the first
    /// element of each operand.
    #[inline(always)]
    pub fn for_each_row(&self, share: Range<usize>, mut row: impl FnMut(Range<usize>, [usize; N])) {
        let last = self.dims.len() - 1;
        let width = self.dims[last];
        if share.is_empty() {
            return;
        }
        let mut walks: [Walk<'_>; N] =
            std::array::from_fn(|i| Walk::new(&self.dims[..last], &self.strides[i][..last], 0, share.start / width));
        let mut column = share.start % width;
        let mut done = 0;
        while done < share.len() {
            let len = (width - column).min(share.len() - done);
            row(done..done + len, std::array::from_fn(|i| walks[i].offset() + column * self.strides[i][last] as usize));
            done += len;
            column = 0;
            walks.iter_mut().for_each(Walk::advance);
        }
    }
}

impl Broadcast<2> {
    /// `y = f(a, b)` for the output's elements `share`; `y` holds just these.
    #[inline(always)]
    pub fn map<A: Copy, B: Copy, Y: Copy>(
        &self,
        share: Range<usize>,
        a: &[A],
        b: &[B],
        y: &mut [Y],
        f: impl Fn(A, B) -> Y,
    ) {
        let repeats = self.repeats();
        self.for_each_row(share, |row, [i, j]| {
            let y = &mut y[row];
            let len = y.len();
            match repeats {
                [false, false] => {
                    for ((y, &a), &b) in y.iter_mut().zip(&a[i..i + len]).zip(&b[j..j + len]) {
                        *y = f(a, b);
                    }
                }
                [false, true] => {
                    let b = b[j];
                    y.iter_mut().zip(&a[i..i + len]).for_each(|(y, &a)| *y = f(a, b));
                }
                [true, false] => {
                    let a = a[i];
                    y.iter_mut().zip(&b[j..j + len]).for_each(|(y, &b)| *y = f(a, b));
                }
                [true, true] => y.fill(f(a[i], b[j])),
            }
        });
    }
}

/// Strides of a contiguous operand within `rank` output axes, 0 where it is stretched.
pub(crate) fn operand_strides(dims: &[usize], rank: usize) -> Strides {
    let mut strides = Strides::from_elem(0, rank);
    let own = row_major_strides(dims);
    for (axis, (&dim, &stride)) in dims.iter().zip(&own).enumerate() {
        strides[rank - dims.len() + axis] = if dim == 1 { 0 } else { stride as isize };
    }
    strides
}

/// Every element's operand offsets by the definition of broadcasting: the oracle of elementwise tests.
#[cfg(test)]
pub(crate) fn reference_offsets<const N: usize>(operands: [&[usize]; N]) -> Vec<[usize; N]> {
    let out = broadcast_dims(&operands).unwrap();
    let total: usize = out.iter().product();
    let offset = |dims: &[usize], element: usize| {
        let (mut rest, mut offset, mut stride) = (element, 0, 1);
        for axis in (0..out.len()).rev() {
            let index = rest % out[axis];
            rest /= out[axis];
            if let Some(own) = (axis + dims.len()).checked_sub(out.len()) {
                offset += if dims[own] == 1 { 0 } else { index * stride };
                stride *= dims[own];
            }
        }
        offset
    };
    (0..total).map(|element| operands.map(|dims| offset(dims, element))).collect()
}

/// Pairs of operand dims that meet every inner loop: same shape, scalars, rows, columns, mixed, empty.
#[cfg(test)]
pub(crate) const PAIRS: &[(&[usize], &[usize])] = &[
    (&[], &[]),
    (&[1], &[]),
    (&[7], &[7]),
    (&[2, 3, 5], &[2, 3, 5]),
    (&[17, 19], &[]),
    (&[1, 1], &[17, 19]),
    (&[4, 33], &[33]),
    (&[33], &[4, 33]),
    (&[5, 31], &[5, 1]),
    (&[6, 1], &[6, 65]),
    (&[3, 1], &[1, 4]),
    (&[2, 1, 3, 1], &[4, 1, 5]),
    (&[2, 3, 1, 5], &[2, 1, 4, 5]),
    (&[2, 0, 3], &[1, 3]),
    (&[0], &[1]),
    (&[1, 2, 1, 9000], &[3, 1, 1, 1]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dims_follow_the_rule() {
        assert_eq!(broadcast_dims(&[&[2, 1, 3], &[4, 1]]).unwrap().as_slice(), [2, 4, 3]);
        assert_eq!(broadcast_dims(&[&[0, 1], &[1, 5]]).unwrap().as_slice(), [0, 5]);
        assert_eq!(broadcast_dims(&[&[], &[]]).unwrap().as_slice(), [0usize; 0]);
        assert_eq!(broadcast_dims(&[&[2], &[3]]), None);
        assert_eq!(broadcast_dims(&[&[0], &[2]]), None);
    }

    #[test]
    fn axes_merge_into_long_rows() {
        assert_eq!(Broadcast::new([&[2, 3, 4], &[2, 3, 4]]).dims(), [24]);
        assert_eq!(Broadcast::new([&[2, 3, 4], &[]]).dims(), [24]);
        assert_eq!(Broadcast::new([&[2, 3, 4], &[4]]).dims(), [6, 4]);
        assert_eq!(Broadcast::new([&[2, 3, 4], &[2, 1, 1]]).dims(), [2, 12]);
        assert_eq!(Broadcast::new([&[1, 1], &[1]]).dims(), [1]);
    }

    #[test]
    fn rows_visit_each_element_with_its_operands() {
        for &(a, b) in PAIRS {
            let plan = Broadcast::new([a, b]);
            let want = reference_offsets([a, b]);
            for cut in [0, 1, want.len() / 3, want.len()] {
                let cut = cut.min(want.len());
                let mut got = Vec::new();
                for share in [0..cut, cut..want.len()] {
                    let begin = got.len();
                    plan.for_each_row(share, |row, first| {
                        assert_eq!(begin + row.start, got.len());
                        let steps = plan.repeats().map(|repeats| usize::from(!repeats));
                        got.extend((0..row.len()).map(|k| [first[0] + k * steps[0], first[1] + k * steps[1]]));
                    });
                }
                assert_eq!(got, want, "{a:?} {b:?} cut {cut}");
            }
        }
    }
}
