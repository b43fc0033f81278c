use std::ops::Range;

use super::engine::Engine;
use crate::driver::RunError;
use crate::host::{self, F32Rows};
use crate::isa::Target;
use crate::mem::AlignedBuf;

/// Constant filters in f32, in the order that the engine of a target reads them: for each group a matrix of rows, in blocks
/// that are multiplied at a time.
pub struct Filters {
    storage: Storage,
}

enum Storage {
    Planned,
    Host(Vec<F32Rows>),
    /// The blocks of each group one after the other.
    Blocks {
        packed: AlignedBuf,
        /// Elements of a group.
        group: usize,
        /// Rows of a block.
        block: usize,
    },
}

/// The filters of one group.
#[derive(Clone, Copy)]
pub(super) enum Group<'a> {
    Host(&'a F32Rows),
    /// With the rows of a block.
    Blocks(&'a [f32], usize),
    /// Not packed: row-major.
    Rows(&'a [f32]),
}

impl Filters {
    /// Packs the filters of a [`super::Conv`]: `[groups, filters, depth]`.
    pub fn pack(target: &Target, filters: &[f32], groups: usize, depth: usize) -> Self {
        let engine = Engine::new(target);
        Self::pack_blocks(engine, filters, groups, depth, engine.rows())
    }

    /// Packs the filters of a [`super::ConvTranspose`]: `[groups, channels, rows]`, where `rows` counts the taps of all filters
    /// of a group, `taps` those of one.
    pub fn pack_transposed(target: &Target, filters: &[f32], groups: usize, channels: usize, taps: usize) -> Self {
        let rows = filters.len() / (groups * channels).max(1);
        let element = |i: usize| {
            let (group, row, channel) = (i / channels / rows, i / channels % rows, i % channels);
            filters[(group * channels + channel) * rows + row]
        };
        let transposed: Vec<f32> = (0..filters.len()).map(element).collect();
        let engine = Engine::new(target);
        Self::pack_blocks(engine, &transposed, groups, channels, engine.filters(taps) * taps)
    }

    /// Packs matrices `[rows, depth]`, to be multiplied by `block` rows at a time.
    fn pack_blocks(engine: Engine, matrices: &[f32], groups: usize, depth: usize, block: usize) -> Self {
        let rows = matrices.len().checked_div(groups * depth).unwrap_or(0);
        if engine.is_host() && rows > 0 {
            let pack = |group: &[f32]| F32Rows::pack(host::matrix(group, [rows, depth], [depth, 1]), block);
            return Self { storage: Storage::Host(matrices.chunks_exact(rows * depth).map(pack).collect()) };
        }
        let group = offset(engine, rows, depth, block);
        let mut packed = AlignedBuf::zeroed(groups * group * size_of::<f32>());
        let blocks = bytemuck::cast_slice_mut::<u8, f32>(&mut packed);
        for (index, first) in (0..groups).flat_map(|index| (0..rows).step_by(block).map(move |first| (index, first))) {
            let count = block.min(rows - first);
            let matrix = &matrices[(index * rows + first) * depth..][..count * depth];
            let start = index * group + offset(engine, first, depth, block);
            engine.pack(matrix, depth, &mut blocks[start..start + engine.left_len(count, depth)]);
        }
        Self { storage: Storage::Blocks { packed: packed.sealed(), group, block } }
    }

    /// Stands for filters that are packed later. Running with it is [`RunError::Weights`].
    pub fn planned() -> Self {
        Self { storage: Storage::Planned }
    }

    /// Group `index`.
    pub(super) fn group(&self, index: usize) -> Result<Group<'_>, RunError> {
        match &self.storage {
            Storage::Planned => Err(RunError::Weights("the filters are planned but never packed".into())),
            Storage::Host(groups) => Ok(Group::Host(&groups[index])),
            Storage::Blocks { packed, group, block } => {
                Ok(Group::Blocks(&bytemuck::cast_slice(packed)[index * group..][..*group], *block))
            }
        }
    }
}

/// The packed block `rows` of a group of blocks of `block` rows.
pub(super) fn block<'a>(
    packed: &'a [f32],
    engine: Engine,
    rows: &Range<usize>,
    depth: usize,
    block: usize,
) -> &'a [f32] {
    &packed[offset(engine, rows.start, depth, block)..][..engine.left_len(rows.len(), depth)]
}

/// Where the block that begins at row `first` begins in a packed group.
fn offset(engine: Engine, first: usize, depth: usize, block: usize) -> usize {
    first / block * engine.left_len(block, depth) + engine.left_len(first % block, depth)
}
