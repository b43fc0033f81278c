//! Keys and values as the rows of one head.

use half::f16;
use half::slice::HalfFloatSliceExt;
use rten_tensor::Matrix;

use super::Source;
use super::cache::{CacheFormat, head_scales};
use super::tile::Unit;
use crate::host::matrix;
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::prefetch;
use crate::vector::{self, Rows};

/// Bytes that are asked for ahead at most: most of the first cache, which nothing else needs much of meanwhile.
const AHEAD: usize = 24 << 10;

/// Keys or values of a run.
pub(super) struct Operand<'a> {
    source: &'a Source,
    /// Elements in f32, else `bytes`.
    data: &'a [f32],
    bytes: &'a [u8],
    scales: &'a [f32],
}

/// Rows of one head, in place or unpacked.
pub(super) struct Block<'a> {
    pub data: &'a [f32],
    /// From row to row and from column to column.
    pub strides: [usize; 2],
}

impl<'a> Operand<'a> {
    pub fn new(source: &'a Source, io: &Io<'a>, index: usize) -> Self {
        let scales = source.scales.map_or(&[][..], |index| io.input(index));
        match source.is_staged() {
            true => Self { source, data: &[], bytes: io.input(index), scales },
            false => Self { source, data: io.input(index), bytes: &[], scales },
        }
    }

    pub fn is_staged(&self) -> bool {
        self.source.is_staged()
    }

    /// Asks for rows `start..start + rows` of the unit's head, as far as the first cache has room for them.
    pub fn prefetch(&self, unit: &Unit, width: usize, (start, rows): (usize, usize)) {
        let Source { at, format, group, .. } = self.source;
        let rows = if at.col == 1 { rows.min(AHEAD / format.bytes(width).max(1)) } else { 0 };
        for first in (start..start + rows).map(|row| at.at(unit.batch, unit.head / group, row)) {
            match self.is_staged() {
                true => prefetch(&self.bytes[format.bytes(first)..][..format.bytes(width)]),
                false => prefetch(&self.data[first..][..width]),
            }
        }
    }

    /// Rows of the unit's head from `start` on, where they are in f16.
    pub fn in_halves(&self, unit: &Unit, width: usize, start: usize) -> Option<Rows<'a, f16>> {
        let Source { at, format, group, .. } = self.source;
        let first = at.at(unit.batch, unit.head / group, start);
        let are_halves = *format == CacheFormat::F16 && width > 0;
        are_halves.then(|| Rows { data: bytemuck::cast_slice(&self.bytes[2 * first..]), stride: at.row, width })
    }

    /// Rows `start..start + rows` of the unit's head as f16: in place, or rounded to `stage` where they are f32.
    pub fn halves<'s>(
        &self,
        worker: &Worker<'_>,
        unit: &Unit,
        width: usize,
        (start, rows): (usize, usize),
        stage: &'s mut [f16],
    ) -> Rows<'s, f16>
    where
        'a: 's,
    {
        if let Some(rows) = self.in_halves(unit, width, start) {
            return rows;
        }
        let Source { at, group, .. } = self.source;
        let first = at.at(unit.batch, unit.head / group, start);
        let stage = &mut stage[..rows * width];
        // Rows without gaps are rounded together.
        let together = if at.row == width { rows } else { 1 };
        for (index, to) in stage.chunks_mut(together * width).enumerate() {
            let from = &self.data[first + index * together * at.row..][..to.len()];
            if !vector::narrow(worker, from, to) {
                to.convert_from_f32_slice(from);
            }
        }
        Rows { data: stage, stride: width, width }
    }

    /// Rows `start..start + rows` of the unit's head.
    pub fn block<'s>(
        &self,
        worker: &Worker<'_>,
        unit: &Unit,
        width: usize,
        start: usize,
        rows: usize,
        stage: &'s mut [f32],
    ) -> Block<'s>
    where
        'a: 's,
    {
        let Source { at, format, group, .. } = self.source;
        let head = unit.head / group;
        let first = at.at(unit.batch, head, start);
        if width == 0 {
            return Block { data: &[], strides: [0, 1] };
        }
        if !self.source.is_staged() {
            return Block { data: &self.data[first..], strides: [at.row, at.col] };
        }
        let scales = head_scales(self.scales, head, width);
        let stage = &mut stage[..rows * width];
        for (row, to) in stage.chunks_exact_mut(width).enumerate() {
            let bytes = &self.bytes[format.bytes(first + row * at.row)..][..format.bytes(width)];
            let is_half = *format == CacheFormat::F16;
            if !(is_half && vector::widen(worker, bytemuck::cast_slice(bytes), to)) {
                format.unpack(bytes, scales, to);
            }
        }
        Block { data: stage, strides: [width, 1] }
    }
}

impl<'a> Block<'a> {
    pub fn rows(&self, width: usize) -> Rows<'a, f32> {
        Rows { data: self.data, stride: self.strides[0], width }
    }

    pub fn matrix(&self, shape: [usize; 2]) -> Matrix<'a> {
        matrix(if shape.contains(&0) { &[] } else { self.data }, shape, self.strides)
    }
}
