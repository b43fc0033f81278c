use std::fmt;

use super::walk::{Strides, Walk};
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Dims, Element};
use crate::vector;

/// `out[i0, i1, ..] = in[start + i0*s0 + i1*s1 + ..]` with a contiguous output: transposes, slices, broadcasts, copies.
pub struct StridedCopy {
    dtype: DType,
    dims: Dims,
    strides: Strides,
    start: usize,
    total: usize,
    /// The axis other than the last one that is contiguous in the input, when the last one is not: a 2-D transpose.
    across: Option<usize>,
}

/// Edge of the square tiles of a transpose: a tile's rows are whole cache lines for elements of 4 bytes.
const TILE: usize = 16;

impl StridedCopy {
    /// `dims` are the output's; `strides` and `start` count elements of the input.
    ///
    /// # Panics
    /// When the numbers of dims and strides differ.
    pub fn new(dtype: DType, dims: &[usize], strides: &[isize], start: usize) -> Self {
        assert_eq!(dims.len(), strides.len());
        let (dims, strides) = if dims.contains(&0) { merge_axes(&[0], &[1]) } else { merge_axes(dims, strides) };
        let last = dims.len() - 1;
        let across = match strides[last] {
            0 | 1 => None,
            _ => (0..last).rev().find(|&axis| strides[axis] == 1),
        };
        let total = dims.iter().product();
        Self { dtype, dims, strides, start, total, across }
    }

    /// A transpose of a contiguous input of shape `dims`; `perm[i]` is the input's axis that becomes the output's axis `i`.
    ///
    /// # Panics
    /// When `perm` is no permutation of the axes of `dims`.
    pub fn transpose(dtype: DType, dims: &[usize], perm: &[usize]) -> Self {
        let strides = crate::tensor::row_major_strides(dims);
        let out_dims: Dims = perm.iter().map(|&axis| dims[axis]).collect();
        let out_strides: Strides = perm.iter().map(|&axis| strides[axis] as isize).collect();
        Self::new(dtype, &out_dims, &out_strides, 0)
    }

    /// A contiguous copy of `len` elements.
    pub fn contiguous(dtype: DType, len: usize) -> Self {
        Self::new(dtype, &[len], &[1], 0)
    }

    fn copy<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        if self.total == 0 {
            return;
        }
        match self.across {
            Some(axis) => self.transpose_tiles::<T>(axis, worker, io),
            None => self.copy_rows::<T>(worker, io),
        }
    }

    /// Copies row by row; a share may begin and end inside a row.
    fn copy_rows<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let last = self.dims.len() - 1;
        let (row, stride) = (self.dims[last], self.strides[last]);
        let share = worker.share(self.total, grain(size_of::<T>()));
        if share.is_empty() {
            return;
        }
        let input = io.input::<T>(0);
        // SAFETY: shares of ranks are disjoint.
        let mut out = unsafe { io.output::<T>(0).range(share.clone()) };
        let mut walk = Walk::new(&self.dims[..last], &self.strides[..last], self.start as isize, share.start / row);
        let mut column = share.start % row;
        while !out.is_empty() {
            let (part, rest) = out.split_at_mut(out.len().min(row - column));
            let from = (walk.offset() as isize + column as isize * stride) as usize;
            match stride {
                1 => part.copy_from_slice(&input[from..from + part.len()]),
                0 => part.fill(input[from]),
                _ if stride > 1 && vector::gather(worker, &input[from..], stride as usize, part) => {}
                _ => {
                    for (i, y) in part.iter_mut().enumerate() {
                        *y = input[(from as isize + i as isize * stride) as usize];
                    }
                }
            }
            out = rest;
            column = 0;
            walk.advance();
        }
    }

    /// Splits the output at `axis`: `before` whole indices, blocks of `TILE` along `axis`, then `between` and the rows.
    /// A block's output is one contiguous range.
    fn transpose_tiles<T: Element>(&self, axis: usize, worker: &Worker<'_>, io: &Io<'_>) {
        let last = self.dims.len() - 1;
        let (len, row) = (self.dims[axis], self.dims[last]);
        let between = axis + 1..last;
        let between_len: usize = self.dims[between.clone()].iter().product();
        let step = between_len * row;
        let blocks = len.div_ceil(TILE);
        let before: usize = self.dims[..axis].iter().product();
        let share = worker.share(before * blocks, grain(TILE * step * size_of::<T>()));
        let (input, output) = (io.input::<T>(0), io.output::<T>(0));
        for unit in share {
            let (outer, first) = (unit / blocks, unit % blocks * TILE);
            let height = TILE.min(len - first);
            let begin = (outer * len + first) * step;
            // SAFETY: blocks are disjoint ranges of the output and shares of ranks are disjoint sets of blocks.
            let out = unsafe { output.range(begin..begin + height * step) };
            let base = Walk::new(&self.dims[..axis], &self.strides[..axis], self.start as isize, outer).offset();
            let mut walk =
                Walk::new(&self.dims[between.clone()], &self.strides[between.clone()], (base + first) as isize, 0);
            for middle in 0..between_len {
                let out = &mut out[middle * row..];
                let stride = self.strides[last];
                if stride > 0 {
                    let x = &input[walk.offset()..];
                    if vector::transpose(worker, x, stride as usize, out, step, [height, row]) {
                        walk.advance();
                        continue;
                    }
                }
                transpose(input, walk.offset(), self.strides[last], height, row, out, step);
                walk.advance();
            }
        }
    }
}

/// `out[h * out_stride + r] = input[from + h + r * stride]` for `h < height <= TILE` and `r < row`.
fn transpose<T: Element>(
    input: &[T],
    from: usize,
    stride: isize,
    height: usize,
    row: usize,
    out: &mut [T],
    out_stride: usize,
) {
    let mut tile = [[T::zeroed(); TILE]; TILE];
    for first in (0..row).step_by(TILE) {
        let width = TILE.min(row - first);
        for (r, line) in tile.iter_mut().enumerate().take(width) {
            let at = (from as isize + (first + r) as isize * stride) as usize;
            line[..height].copy_from_slice(&input[at..at + height]);
        }
        for h in 0..height {
            let at = h * out_stride + first;
            for (y, line) in out[at..at + width].iter_mut().zip(&tile) {
                *y = line[h];
            }
        }
    }
}

/// Drops axes of length 1 and joins neighbours that one stride covers. Keeps at least one axis.
fn merge_axes(dims: &[usize], strides: &[isize]) -> (Dims, Strides) {
    let (mut merged, mut merged_strides) = (Dims::new(), Strides::new());
    for (&dim, &stride) in dims.iter().zip(strides).filter(|&(&dim, _)| dim != 1) {
        match (merged.last_mut(), merged_strides.last_mut()) {
            (Some(outer), Some(outer_stride)) if *outer_stride == stride.wrapping_mul(dim as isize) => {
                *outer *= dim;
                *outer_stride = stride;
            }
            _ => {
                merged.push(dim);
                merged_strides.push(stride);
            }
        }
    }
    if merged.is_empty() {
        merged.push(1);
        merged_strides.push(1);
    }
    (merged, merged_strides)
}

impl fmt::Display for StridedCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.across.is_some() { "transpose" } else { "copy" };
        write!(f, "{name} {} dims={:?} strides={:?}", self.dtype, self.dims, self.strides)
    }
}

impl Driver for StridedCopy {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.copy::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
