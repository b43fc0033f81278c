use std::fmt;

use rayon::prelude::*;

use super::PackError;
use crate::driver::RunError;
use crate::host;
use crate::mem::AlignedBuf;

/// Columns of a panel.
pub(crate) const NBITS_PANEL: usize = 16;

/// Geometry of a weight `B[k, n]` of codes of 2, 4 or 8 bits: `B = (code - zero_point) * scale`, with a scale and a zero
/// point for each column and each block of `block` rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NBitsShape {
    k: usize,
    n: usize,
    bits: usize,
    block: usize,
}

impl NBitsShape {
    /// `None` unless `k` is at least 1, `bits` is 2, 4 or 8, and `block` is 16 or a multiple of 32.
    pub fn new(k: usize, n: usize, bits: usize, block: usize) -> Option<Self> {
        let known = k > 0 && matches!(bits, 2 | 4 | 8) && (block == 16 || (block > 0 && block.is_multiple_of(32)));
        known.then_some(Self { k, n, bits, block })
    }

    /// One block for each column.
    pub fn per_column(k: usize, n: usize, bits: usize) -> Option<Self> {
        Self::new(k, n, bits, k.next_multiple_of(32))
    }

    pub fn k(&self) -> usize {
        self.k
    }

    pub fn n(&self) -> usize {
        self.n
    }

    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Blocks of a column.
    pub fn blocks(&self) -> usize {
        self.k.div_ceil(self.block)
    }

    /// The zero point that stands for a signed code of 0.
    pub fn middle(&self) -> f32 {
        (1u32 << (self.bits - 1)) as f32
    }

    /// Rows that share a scale for certain, and that kernels take at once: 16 or 32.
    pub(crate) fn group(&self) -> usize {
        self.block.min(32)
    }

    pub(crate) fn groups(&self) -> usize {
        self.k.div_ceil(self.group())
    }

    pub(crate) fn groups_per_block(&self) -> usize {
        self.block / self.group()
    }

    /// Rows with those that fill the last group up.
    pub(crate) fn depth(&self) -> usize {
        self.groups() * self.group()
    }

    /// Codes of a word.
    pub(crate) fn codes(&self) -> usize {
        32 / self.bits
    }

    pub(crate) fn words_per_group(&self) -> usize {
        self.group() / self.codes()
    }

    pub(crate) fn panels(&self) -> usize {
        self.n.div_ceil(NBITS_PANEL)
    }
}

impl fmt::Display for NBitsShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { k, n, bits, block } = self;
        write!(f, "n={n} k={k} bits={bits} block={block}")
    }
}

/// Codes as a model holds them: one after the other, each `bits` wide, the first in the lowest bits of a byte.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    pub bytes: &'a [u8],
    /// Two's complement; packed as unsigned codes that are `2^(bits - 1)` larger.
    pub signed: bool,
    /// Codes from an element of `B` to the one below it.
    pub row_stride: usize,
    /// Codes from an element of `B` to the one to the right.
    pub column_stride: usize,
}

impl Codes<'_> {
    /// Code `index` of those in `bytes`, as an unsigned one.
    fn get(&self, index: usize, bits: usize) -> u32 {
        let bit = index * bits;
        let code = u32::from(self.bytes[bit / 8] >> (bit % 8)) & ((1 << bits) - 1);
        if self.signed { code ^ (1 << (bits - 1)) } else { code }
    }
}

/// A constant right-hand side of few bits, packed once and read by any number of drivers.
///
/// It has panels of 16 columns. A panel is `[words][16]` little-endian words of 32 bits, each with `32 / bits` neighbours of
/// one column: the code that is `4 p + b` rows down is in bits `8 b + bits p`. So a word under a mask of `bits` bits a byte
/// has four neighbours in its bytes. What lies outside of the matrix is 0. Scales and zero points are `[blocks][16]` a panel.
pub struct NBitsWeights {
    shape: NBitsShape,
    /// Empty when planned only.
    words: AlignedBuf,
    scales: AlignedBuf,
    /// One row of 16 equal numbers for all panels when the model gives none.
    zero_points: AlignedBuf,
}

/// The columns of [`NBitsWeights`] that stand side by side.
#[derive(Clone, Copy)]
pub(crate) struct NBitsPanel<'a> {
    pub shape: &'a NBitsShape,
    words: &'a [[u32; NBITS_PANEL]],
    scales: &'a [[f32; NBITS_PANEL]],
    zero_points: &'a [[f32; NBITS_PANEL]],
}

impl<'a> NBitsPanel<'a> {
    pub fn words(&self, group: usize) -> &'a [[u32; NBITS_PANEL]] {
        let words = self.shape.words_per_group();
        &self.words[group * words..][..words]
    }

    pub fn scales(&self, group: usize) -> &'a [f32; NBITS_PANEL] {
        &self.scales[group / self.shape.groups_per_block()]
    }

    /// Zero points of unsigned codes.
    pub fn zero_points(&self, group: usize) -> &'a [f32; NBITS_PANEL] {
        match self.zero_points {
            [same] => same,
            each => &each[group / self.shape.groups_per_block()],
        }
    }
}

impl NBitsWeights {
    /// Packs `codes`, in parallel when called inside a rayon pool. `scales` and `zero_points` are `[n, blocks]` row-major;
    /// without zero points that of every block is [`NBitsShape::middle`]. Those of signed codes are to be given for the
    /// unsigned ones.
    ///
    /// # Errors
    /// [`PackError::Size`] when there are not as many codes, scales or zero points as the shape asks for.
    pub fn pack(
        shape: NBitsShape,
        codes: Codes<'_>,
        scales: &[f32],
        zero_points: Option<&[f32]>,
    ) -> Result<Self, PackError> {
        host::init();
        let NBitsShape { k, n, bits, .. } = shape;
        let blocks = shape.blocks();
        let last = (k - 1) * codes.row_stride + n.saturating_sub(1) * codes.column_stride;
        if n > 0 && codes.bytes.len() * 8 < (last + 1) * bits {
            return Err(PackError::Size { given: codes.bytes.len() * 8 / bits, k, n });
        }
        for given in [Some(scales), zero_points].into_iter().flatten().map(<[f32]>::len) {
            if given != n * blocks {
                return Err(PackError::Size { given, k: blocks, n });
            }
        }
        let zero_points = match zero_points {
            Some(zero_points) => pack_parameters(&shape, zero_points),
            None => AlignedBuf::copy_of(bytemuck::cast_slice(&[shape.middle(); NBITS_PANEL])),
        };
        Ok(Self { shape, words: pack_words(&shape, codes), scales: pack_parameters(&shape, scales), zero_points })
    }

    /// The shape of a weight without its contents, to plan with. Running with it is [`RunError::Weights`].
    pub fn planned(shape: NBitsShape) -> Self {
        let empty = || AlignedBuf::zeroed(0);
        Self { shape, words: empty(), scales: empty(), zero_points: empty() }
    }

    pub fn shape(&self) -> &NBitsShape {
        &self.shape
    }

    /// # Errors
    /// [`RunError::Weights`] when nothing was packed.
    pub(crate) fn panel(&self, panel: usize) -> Result<NBitsPanel<'_>, RunError> {
        let shape = &self.shape;
        let (words, blocks) = (shape.groups() * shape.words_per_group(), shape.blocks());
        let cut = |rows: usize, buf: &'_ AlignedBuf| -> Option<std::ops::Range<usize>> {
            let range = panel * rows..(panel + 1) * rows;
            (range.end * NBITS_PANEL * 4 <= buf.len()).then_some(range)
        };
        let planned = || RunError::Weights(format!("a weight of {shape} is planned but never packed"));
        let words = cut(words, &self.words).ok_or_else(planned)?;
        let scales = cut(blocks, &self.scales).ok_or_else(planned)?;
        let zero_points: &[[f32; NBITS_PANEL]] = bytemuck::cast_slice(&self.zero_points);
        Ok(NBitsPanel {
            shape,
            words: &bytemuck::cast_slice(&self.words)[words],
            scales: &bytemuck::cast_slice(&self.scales)[scales.clone()],
            zero_points: if zero_points.len() == 1 { zero_points } else { &zero_points[scales] },
        })
    }
}

fn pack_words(shape: &NBitsShape, codes: Codes<'_>) -> AlignedBuf {
    let &NBitsShape { k, n, bits, .. } = shape;
    let panel_words = shape.depth() / shape.codes();
    let mut packed = AlignedBuf::zeroed(shape.panels() * panel_words * NBITS_PANEL * 4);
    let words: &mut [[u32; NBITS_PANEL]] = bytemuck::cast_slice_mut(&mut packed);
    words.par_chunks_mut(panel_words).enumerate().for_each(|(panel, words)| {
        for column in panel * NBITS_PANEL..((panel + 1) * NBITS_PANEL).min(n) {
            for row in 0..k {
                let (word, inside) = (row / shape.codes(), row % shape.codes());
                let code = codes.get(row * codes.row_stride + column * codes.column_stride, bits);
                words[word][column % NBITS_PANEL] |= code << (inside % 4 * 8 + inside / 4 * bits);
            }
        }
    });
    packed.sealed()
}

/// `[n, blocks]` as `[blocks][16]` a panel.
fn pack_parameters(shape: &NBitsShape, values: &[f32]) -> AlignedBuf {
    let blocks = shape.blocks();
    let mut packed = AlignedBuf::zeroed(shape.panels() * blocks * NBITS_PANEL * 4);
    let rows: &mut [[f32; NBITS_PANEL]] = bytemuck::cast_slice_mut(&mut packed);
    for (index, &value) in values.iter().enumerate() {
        let (column, block) = (index / blocks, index % blocks);
        rows[column / NBITS_PANEL * blocks + block][column % NBITS_PANEL] = value;
    }
    packed.sealed()
}

impl fmt::Debug for NBitsWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NBitsWeights({})", self.shape)
    }
}
