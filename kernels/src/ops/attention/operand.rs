//! Keys and values as the rows of one head.

use half::f16;
use rten_tensor::Matrix;

use super::Source;
use super::cache::{CacheFormat, head_scales};
use super::tile::Unit;
use crate::host::matrix;
use crate::rt::Worker;
use crate::tape::Io;
use crate::vector::{self, Rows};

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

    /// Rows `start..start + rows` of the unit's head as f16: in place where they are, and if `rounds` rounded where they are f32, by
    /// the vectors of the worker's core.
    pub fn halves<'s>(
        &self,
        worker: &Worker<'_>,
        unit: &Unit,
        width: usize,
        (start, rows): (usize, usize),
        (stage, rounds): (&'s mut [f32], bool),
    ) -> Option<Rows<'s, f16>>
    where
        'a: 's,
    {
        let Source { at, format, group, .. } = self.source;
        let first = at.at(unit.batch, unit.head / group, start);
        match format {
            CacheFormat::F16 if width > 0 => {
                Some(Rows { data: bytemuck::cast_slice(&self.bytes[2 * first..]), stride: at.row, width })
            }
            CacheFormat::F32 if rounds => {
                let stage = &mut bytemuck::cast_slice_mut::<f32, f16>(stage)[..rows * width];
                // Rows without gaps are rounded together.
                let together = if at.row == width { rows } else { 1 };
                let mut parts = stage.chunks_mut(together * width).enumerate();
                let round = |(index, to): (usize, &mut [f16])| {
                    let from = &self.data[first + index * together * at.row..][..to.len()];
                    vector::narrow(worker, from, to)
                };
                parts.all(round).then_some(Rows { data: stage, stride: width, width })
            }
            _ => None,
        }
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
