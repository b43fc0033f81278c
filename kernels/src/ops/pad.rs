use std::fmt;
use std::ops::Range;

use super::walk::{Strides, Walk};
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Dims, Element, row_major_strides};

/// What lies outside of a padded tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PadMode {
    /// One value: operand 1 if there is one, else zero.
    Constant,
    /// The nearest element.
    Edge,
    /// The mirror image, the edge not repeated.
    Reflect,
    /// The tensor again.
    Wrap,
}

/// One axis of an input of `len` elements, with elements added (or, when negative, cut off) on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PadAxis {
    pub len: usize,
    pub before: isize,
    pub after: isize,
}

impl PadAxis {
    /// Elements of the output; 0 when more is cut off than there is.
    pub fn padded(&self) -> usize {
        self.len.saturating_add_signed(self.before).saturating_add_signed(self.after)
    }

    /// The input's elements that are not cut off.
    fn kept(&self) -> Range<usize> {
        let start = self.before.min(0).unsigned_abs().min(self.len);
        let end = self.len.saturating_sub(self.after.min(0).unsigned_abs());
        start..end.max(start)
    }

    /// Where the kept elements are in the output.
    fn inside(&self) -> Range<usize> {
        let start = self.before.max(0) as usize;
        start..start + self.kept().len()
    }

    /// The input's element at output position `i`; `None` for the constant.
    fn source(&self, mode: PadMode, i: usize) -> Option<usize> {
        let kept = self.kept();
        let len = kept.len() as isize;
        let position = i as isize - self.before.max(0);
        let inside = match mode {
            _ if (0..len).contains(&position) => position,
            PadMode::Constant => return None,
            PadMode::Edge => position.clamp(0, len - 1),
            PadMode::Wrap => position.rem_euclid(len),
            PadMode::Reflect if len == 1 => 0,
            PadMode::Reflect => {
                let period = 2 * (len - 1);
                let phase = position.rem_euclid(period);
                phase.min(period - phase)
            }
        };
        Some(kept.start + inside as usize)
    }
}

/// Pads or crops a tensor on every axis.
///
/// Operands: data and, for [`PadMode::Constant`], optionally the value.
pub struct Pad {
    dtype: DType,
    mode: PadMode,
    /// All axes but the last padded one.
    outer: Vec<PadAxis>,
    outer_dims: Dims,
    outer_strides: Strides,
    last: PadAxis,
    /// Elements under one index of the last padded axis.
    inner: usize,
}

impl Pad {
    /// `axes` as in the input, outermost first. Only [`PadMode::Constant`] can pad an axis of which nothing is kept.
    ///
    /// # Panics
    /// When another mode pads an axis of which nothing is kept.
    pub fn new(dtype: DType, mode: PadMode, axes: &[PadAxis]) -> Self {
        let unmapped = |axis: &PadAxis| axis.kept().is_empty() && axis.padded() > 0;
        assert!(mode == PadMode::Constant || !axes.iter().any(unmapped), "nothing to pad with");
        let plain = |axis: &&PadAxis| axis.before == 0 && axis.after == 0;
        let trailing = axes.iter().rev().take_while(plain).count();
        let (padded, rest) = axes.split_at(axes.len() - trailing);
        let whole = PadAxis { len: 1, before: 0, after: 0 };
        let (last, outer) = padded.split_last().unwrap_or((&whole, &[]));
        let inner = rest.iter().map(|axis| axis.len).product();
        let lens: Dims = padded.iter().map(|axis| axis.len).collect();
        let strides = row_major_strides(&lens);
        Self {
            dtype,
            mode,
            outer: outer.to_vec(),
            outer_dims: outer.iter().map(PadAxis::padded).collect(),
            outer_strides: strides.iter().take(outer.len()).map(|&stride| stride as isize).collect(),
            last: *last,
            inner,
        }
    }

    fn pad<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let row = self.last.padded() * self.inner;
        let rows: usize = self.outer_dims.iter().product();
        let share = worker.share(if row == 0 { 0 } else { rows }, grain(row * size_of::<T>()));
        if share.is_empty() {
            return;
        }
        let input = io.input::<T>(0);
        let value = if io.inputs() > 1 { io.input::<T>(1)[0] } else { T::zeroed() };
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<T>(0).range(share.start * row..share.end * row) };
        let mut walk = Walk::new(&self.outer_dims, &self.outer_strides, 0, share.start);
        for out in out.chunks_exact_mut(row) {
            match self.source_row(walk.index()) {
                Some(from) => self.pad_row(&input[from * self.last.len * self.inner..], out, value),
                None => out.fill(value),
            }
            walk.advance();
        }
    }

    /// The input's row for the outer index of an output row.
    fn source_row(&self, index: &[usize]) -> Option<usize> {
        let sources = self.outer.iter().zip(index).map(|(axis, &i)| Some((axis.len, axis.source(self.mode, i)?)));
        sources.into_iter().try_fold(0, |row, source| source.map(|(len, i)| row * len + i))
    }

    fn pad_row<T: Element>(&self, input: &[T], out: &mut [T], value: T) {
        let (inner, inside, kept) = (self.inner, self.last.inside(), self.last.kept());
        let outside = (0..inside.start).chain(inside.end..self.last.padded());
        for i in outside {
            let out = &mut out[i * inner..(i + 1) * inner];
            match self.last.source(self.mode, i) {
                Some(from) => out.copy_from_slice(&input[from * inner..(from + 1) * inner]),
                None => out.fill(value),
            }
        }
        out[inside.start * inner..inside.end * inner].copy_from_slice(&input[kept.start * inner..kept.end * inner]);
    }
}

impl fmt::Display for Pad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pad {} {:?}", self.dtype, self.mode)?;
        for axis in self.outer.iter().chain([&self.last]) {
            write!(f, " {}{:+}{:+}", axis.len, axis.before, axis.after)?;
        }
        write!(f, " inner={}", self.inner)
    }
}

impl Driver for Pad {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.pad::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
