use half::f16;
use half::slice::HalfFloatSliceExt;

/// How a cache keeps its elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheFormat {
    #[default]
    F32,
    F16,
    /// `x / scale`, rounded to the nearest even i8.
    I8,
    /// `x / scale`, rounded to the nearest even of -8..8, plus 8: the even column in the low half of a byte. Rows have an
    /// even number of columns.
    U4,
}

impl CacheFormat {
    /// Bytes of `elements` elements.
    pub fn bytes(self, elements: usize) -> usize {
        match self {
            CacheFormat::F32 => 4 * elements,
            CacheFormat::F16 => 2 * elements,
            CacheFormat::I8 => elements,
            CacheFormat::U4 => elements / 2,
        }
    }

    /// Whether an operand holds scales: one, or one for each head and column.
    pub fn is_scaled(self) -> bool {
        matches!(self, CacheFormat::I8 | CacheFormat::U4)
    }

    /// Writes `row` to its bytes. `scales` has one element or one a column.
    pub(crate) fn pack(self, row: &[f32], scales: &[f32], bytes: &mut [u8]) {
        let scale = |column: usize| scales[if scales.len() == 1 { 0 } else { column }];
        let level = |column: usize| (row[column] / scale(column)).round_ties_even();
        match self {
            CacheFormat::F32 => bytes.copy_from_slice(bytemuck::cast_slice(row)),
            CacheFormat::F16 => bytemuck::cast_slice_mut::<u8, f16>(bytes).convert_from_f32_slice(row),
            // `as` saturates.
            CacheFormat::I8 => (0..row.len()).zip(bytes).for_each(|(column, byte)| *byte = level(column) as i8 as u8),
            CacheFormat::U4 => {
                let nibble = |column: usize| (level(column).clamp(-8.0, 7.0) + 8.0) as u8;
                let pairs = (0..row.len()).step_by(2).zip(bytes);
                pairs.for_each(|(column, byte)| *byte = nibble(column) | nibble(column + 1) << 4);
            }
        }
    }

    /// Reads the row back.
    pub(crate) fn unpack(self, bytes: &[u8], scales: &[f32], row: &mut [f32]) {
        match self {
            CacheFormat::F32 => row.copy_from_slice(bytemuck::cast_slice(bytes)),
            CacheFormat::F16 => bytemuck::cast_slice::<u8, f16>(bytes).convert_to_f32_slice(row),
            CacheFormat::I8 => {
                row.iter_mut().zip(bytes).for_each(|(x, &byte)| *x = f32::from(byte as i8));
                rescale(row, scales);
            }
            CacheFormat::U4 => {
                for (pair, &byte) in row.chunks_exact_mut(2).zip(bytes) {
                    pair[0] = f32::from(byte & 15) - 8.0;
                    pair[1] = f32::from(byte >> 4) - 8.0;
                }
                rescale(row, scales);
            }
        }
    }
}

fn rescale(row: &mut [f32], scales: &[f32]) {
    match scales {
        [scale] => row.iter_mut().for_each(|x| *x *= scale),
        _ => row.iter_mut().zip(scales).for_each(|(x, scale)| *x *= scale),
    }
}

/// The scales of head `head`, whose rows have `width` columns: one, or one a column; none of an unscaled cache.
pub(crate) fn head_scales(scales: &[f32], head: usize, width: usize) -> &[f32] {
    if scales.len() <= 1 { scales } else { &scales[head * width..][..width] }
}
