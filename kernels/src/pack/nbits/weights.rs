use std::fmt;

use rayon::prelude::*;

use super::{Codes, NBITS_PANEL, NBitsLayout, NBitsShape};
use crate::driver::RunError;
use crate::host;
use crate::mem::AlignedBuf;
use crate::pack::PackError;

/// A constant right-hand side of few bits, packed once and read by any number of drivers.
pub struct NBitsWeights {
    layout: NBitsLayout,
    shape: NBitsShape,
    /// Empty when planned only.
    codes: AlignedBuf,
    scales: AlignedBuf,
    /// When the model gives none: on chips empty, on the host one row of equal numbers for all panels.
    zero_points: AlignedBuf,
    bound: f32,
}

/// A panel of [`NBitsLayout::Host`]. Words are the bytes of a step, little-endian: under a mask of `bits` bits a byte, a word
/// has four neighbours of one column in its bytes.
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

/// A panel of a chip's layout.
#[derive(Clone, Copy)]
pub(crate) struct NBitsBlocks<'a> {
    pub codes: &'a [u8],
    /// `[groups][panel]`, of the bytes that the codes stand for.
    pub scales: &'a [f32],
    /// As `scales`; `None` when all are 0.
    pub zero_points: Option<&'a [f32]>,
}

/// All panels of a chip's layout.
#[derive(Clone, Copy)]
pub(crate) struct NBitsPanels<'a> {
    /// `[panels]` of what [`NBitsBlocks`] has.
    all: NBitsBlocks<'a>,
    len: usize,
    /// Bytes of codes and numbers of scales of a panel.
    bytes: usize,
    parameters: usize,
}

impl<'a> NBitsPanels<'a> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether any zero point is not 0.
    pub fn has_zero_points(&self) -> bool {
        self.all.zero_points.is_some()
    }

    /// Panel `index`.
    pub fn get(&self, index: usize) -> NBitsBlocks<'a> {
        let (bytes, parameters) = (index * self.bytes, index * self.parameters);
        let parameters = parameters..parameters + self.parameters;
        NBitsBlocks {
            codes: &self.all.codes[bytes..][..self.bytes],
            scales: &self.all.scales[parameters.clone()],
            zero_points: self.all.zero_points.map(|zero_points| &zero_points[parameters]),
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
        layout: NBitsLayout,
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
        let (unit, middle) = (layout.unit(&shape), shape.middle());
        let scales = pack_parameters(layout, &shape, scales, |scale| scale * unit);
        let zero_points = match (layout, zero_points) {
            (NBitsLayout::Host, None) => AlignedBuf::copy_of(bytemuck::cast_slice(&[middle; NBITS_PANEL])),
            (NBitsLayout::Host, Some(given)) => pack_parameters(layout, &shape, given, |zero_point| zero_point),
            (NBitsLayout::Packed(_), Some(given)) if given.iter().any(|&zero_point| zero_point != middle) => {
                pack_parameters(layout, &shape, given, |zero_point| (zero_point - middle) / unit)
            }
            (NBitsLayout::Packed(_), _) => AlignedBuf::zeroed(0),
        };
        let bound = bound(&scales, &zero_points);
        Ok(Self { layout, shape, codes: pack_codes(layout, &shape, codes), scales, zero_points, bound })
    }

    /// The shape of a weight without its contents, to plan with. Running with it is [`RunError::Weights`].
    pub fn planned(layout: NBitsLayout, shape: NBitsShape) -> Self {
        let empty = || AlignedBuf::zeroed(0);
        Self { layout, shape, codes: empty(), scales: empty(), zero_points: empty(), bound: 0.0 }
    }

    pub fn shape(&self) -> &NBitsShape {
        &self.shape
    }

    /// On chips no element is larger, apart from NaN and infinities.
    pub(crate) fn bound(&self) -> f32 {
        self.bound
    }

    /// Panel `index` of the host's layout.
    ///
    /// # Errors
    /// [`RunError::Weights`] when nothing was packed, or in another layout.
    pub(crate) fn panel(&self, index: usize) -> Result<NBitsPanel<'_>, RunError> {
        let blocks = self.blocks(NBitsLayout::Host, index)?;
        let zero_points: &[[f32; NBITS_PANEL]] = bytemuck::cast_slice(&self.zero_points);
        Ok(NBitsPanel {
            shape: &self.shape,
            words: bytemuck::cast_slice(blocks.codes),
            scales: bytemuck::cast_slice(blocks.scales),
            zero_points: blocks.zero_points.map_or(zero_points, bytemuck::cast_slice),
        })
    }

    /// Panel `index` of `layout`.
    ///
    /// # Errors
    /// Those of [`NBitsWeights::panels`].
    pub(crate) fn blocks(&self, layout: NBitsLayout, index: usize) -> Result<NBitsBlocks<'_>, RunError> {
        Ok(self.panels(layout)?.get(index))
    }

    /// All panels of `layout`.
    ///
    /// # Errors
    /// [`RunError::Weights`] when nothing was packed, or in another layout.
    pub(crate) fn panels(&self, layout: NBitsLayout) -> Result<NBitsPanels<'_>, RunError> {
        let (bytes, parameters) = (layout.panel_bytes(&self.shape), layout.groups(&self.shape) * layout.panel());
        let len = layout.panels(&self.shape);
        if self.layout != layout || self.codes.len() < len * bytes {
            let state = if self.codes.is_empty() { "planned but never packed" } else { "packed" };
            let Self { layout: own, shape, .. } = self;
            return Err(RunError::Weights(format!("a weight of {shape} is {state} as {own}; the step reads {layout}")));
        }
        let scales: &[f32] = bytemuck::cast_slice(&self.scales);
        let zero_points: &[f32] = bytemuck::cast_slice(&self.zero_points);
        let zero_points = (zero_points.len() == scales.len()).then_some(zero_points);
        Ok(NBitsPanels { all: NBitsBlocks { codes: &self.codes, scales, zero_points }, len, bytes, parameters })
    }
}

fn pack_codes(layout: NBitsLayout, shape: &NBitsShape, codes: Codes<'_>) -> AlignedBuf {
    let &NBitsShape { k, n, bits, .. } = shape;
    let (panel, step, stored_bits, len) =
        (layout.panel(), layout.step(), layout.bits(shape), layout.panel_bytes(shape));
    let (middle, mask) = (if layout == NBitsLayout::Host { 0 } else { 1 << (bits - 1) }, u8::MAX >> (8 - stored_bits));
    let step_rows = step * layout.planes(shape);
    let mut packed = AlignedBuf::zeroed(layout.panels(shape) * len);
    packed.par_chunks_mut(len).enumerate().for_each(|(index, bytes)| {
        let mut stored = vec![0u8; k];
        for column in 0..panel.min(n - index * panel) {
            codes.column(index * panel + column, bits, &mut stored);
            stored.iter_mut().for_each(|code| *code = code.wrapping_sub(middle) & mask);
            for (step_codes, bytes) in stored.chunks(step_rows).zip(bytes.chunks_exact_mut(panel * step)) {
                let bytes = &mut bytes[column * step..][..step];
                for (plane, codes) in step_codes.chunks(step).enumerate() {
                    bytes.iter_mut().zip(codes).for_each(|(byte, code)| *byte |= code << (plane * stored_bits));
                }
            }
        }
    });
    packed.sealed()
}

/// `[n, blocks]` as `[groups][panel]` a panel.
fn pack_parameters(layout: NBitsLayout, shape: &NBitsShape, values: &[f32], packed: impl Fn(f32) -> f32) -> AlignedBuf {
    let (panel, groups, blocks) = (layout.panel(), layout.groups(shape), shape.blocks());
    let mut buffer = AlignedBuf::zeroed(layout.panels(shape) * groups * panel * size_of::<f32>());
    let parameters: &mut [f32] = bytemuck::cast_slice_mut(&mut buffer);
    for (column, values) in values.chunks(blocks).enumerate() {
        for group in 0..shape.k.div_ceil(layout.group(shape)) {
            let row = column / panel * groups + group;
            parameters[row * panel + column % panel] = packed(values[group * layout.group(shape) / shape.block]);
        }
    }
    buffer.sealed()
}

/// The largest `(128 + |zero point|) |scale|`; bytes of chips are signed codes.
fn bound(scales: &[u8], zero_points: &[u8]) -> f32 {
    let [scales, zero_points]: [&[f32]; 2] = [scales, zero_points].map(bytemuck::cast_slice);
    let zero_points = zero_points.iter().copied().chain(std::iter::repeat(0.0));
    scales
        .iter()
        .zip(zero_points)
        .map(|(scale, zero_point)| (128.0 + zero_point.abs()) * scale.abs())
        .fold(0.0, f32::max)
}

impl fmt::Debug for NBitsWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NBitsWeights({} {})", self.layout, self.shape)
    }
}
