//! Constant right-hand sides of few bits.

use std::fmt;

mod layout;
mod weights;

pub use layout::NBitsLayout;
pub use weights::NBitsWeights;
pub(crate) use weights::{NBitsBlocks, NBitsPanel, NBitsPanels};

/// Columns of a panel of [`NBitsLayout::Host`].
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
    /// The unsigned codes of a column, from its top.
    fn column(&self, column: usize, bits: usize, to: &mut [u8]) {
        let first = column * self.column_stride;
        if self.row_stride == 1 && (first * bits).is_multiple_of(8) {
            let bytes = &self.bytes[first * bits / 8..][..(to.len() * bits).div_ceil(8)];
            match bits {
                2 => unpack::<2, 4>(bytes, to),
                4 => unpack::<4, 2>(bytes, to),
                _ => to.copy_from_slice(bytes),
            }
        } else {
            to.iter_mut().enumerate().for_each(|(row, to)| *to = self.get(first + row * self.row_stride, bits));
        }
        if self.signed {
            to.iter_mut().for_each(|code| *code ^= 1 << (bits - 1));
        }
    }

    /// Code `index` of those in `bytes`.
    fn get(&self, index: usize, bits: usize) -> u8 {
        let bit = index * bits;
        self.bytes[bit / 8] >> (bit % 8) & u8::MAX >> (8 - bits)
    }
}

/// The `CODES` codes of `BITS` bits of each byte; the last byte may have more than are asked for.
fn unpack<const BITS: usize, const CODES: usize>(bytes: &[u8], to: &mut [u8]) {
    let codes = |byte: u8| std::array::from_fn::<u8, CODES, _>(|code| byte >> (code * BITS) & u8::MAX >> (8 - BITS));
    let (whole, rest) = to.as_chunks_mut::<CODES>();
    whole.iter_mut().zip(bytes).for_each(|(to, byte)| *to = codes(*byte));
    if let Some(byte) = bytes.get(whole.len()) {
        rest.copy_from_slice(&codes(*byte)[..rest.len()]);
    }
}
