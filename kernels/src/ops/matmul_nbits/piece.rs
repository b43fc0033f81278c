use std::ops::Range;

use super::left::chunks;
use crate::mem::Scratch;
use crate::pack::{NBitsBlocks, NBitsLayout, NBitsShape};
use crate::rt::Worker;
use crate::vector;

/// Some groups of neighbouring panels of a chip's layout with a byte for each code, in the first cache.
pub(super) struct Piece<'a> {
    layout: NBitsLayout,
    shape: NBitsShape,
    rows: usize,
    group: usize,
    groups: usize,
    /// Of one panel after the other.
    codes: &'a mut [i8],
}

impl<'a> Piece<'a> {
    /// Bytes of scratch that [`Piece::new`] needs.
    pub fn scratch([rows, columns]: [usize; 2]) -> usize {
        Scratch::bytes::<i8>(rows * columns)
    }

    /// Room for so many rows, a multiple of every group, of panels with so many columns together.
    pub fn new(layout: NBitsLayout, shape: NBitsShape, [rows, columns]: [usize; 2], scratch: &mut Scratch<'a>) -> Self {
        let (group, groups) = (layout.group(&shape), layout.groups(&shape));
        Self { layout, shape, rows, group, groups, codes: scratch.take(rows * columns) }
    }

    /// Rows of a group.
    pub fn group(&self) -> usize {
        self.group
    }

    /// Groups of a panel.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The groups of each piece.
    pub fn pieces(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        chunks(0..self.groups(), self.rows / self.group())
    }

    /// Codes of the first `groups` groups of the `index`th panel.
    pub fn codes(&self, index: usize, groups: usize) -> &[i8] {
        let panel = self.layout.panel();
        &self.codes[index * self.rows * panel..][..groups * self.group() * panel]
    }

    /// Bytes of these groups of a packed panel.
    pub fn packed(&self, groups: &Range<usize>) -> Range<usize> {
        let group = self.group() * self.layout.bits(&self.shape) / 8 * self.layout.panel();
        groups.start * group..groups.end * group
    }

    /// Unpacks these groups of the `index`th panel.
    pub fn unpack(&mut self, worker: &Worker<'_>, blocks: &NBitsBlocks<'_>, index: usize, groups: Range<usize>) {
        let (bits, panel) = (self.layout.bits(&self.shape), self.layout.panel());
        let packed = &blocks.codes[self.packed(&groups)];
        let (step, codes) =
            (self.layout.step() * panel, &mut self.codes[index * self.rows * panel..][..packed.len() * 8 / bits]);
        if vector::unpack(worker, bits, packed, step, codes) {
            return;
        }
        match bits {
            4 => packed.chunks(step).zip(codes.chunks_mut(2 * step)).for_each(|(packed, codes)| {
                let (low, high) = codes.split_at_mut(step);
                low.iter_mut().zip(packed).for_each(|(code, byte)| *code = (byte << 4) as i8);
                high.iter_mut().zip(packed).for_each(|(code, byte)| *code = (byte & 0xf0) as i8);
            }),
            _ => codes.copy_from_slice(bytemuck::cast_slice(packed)),
        }
    }
}
