use super::NBitsShape;
use crate::host::vectorised;
use crate::mem::Scratch;

/// The largest group that a row is quantised in.
const GROUP: usize = 32;

/// Rows in int8, each group of a row with a scale of its own: the first group of all rows, then the next.
pub(crate) struct Int8Rows<'a> {
    pub shape: NBitsShape,
    pub rows: usize,
    /// `[groups][rows][group]`
    pub codes: &'a [i8],
    /// `[groups][rows]`
    pub scales: &'a [f32],
    /// Sums of the codes, as `scales`.
    pub sums: &'a [f32],
}

impl<'a> Int8Rows<'a> {
    /// Bytes of scratch that [`Int8Rows::quantize`] needs.
    pub fn scratch(shape: &NBitsShape, rows: usize) -> usize {
        Scratch::bytes::<i8>(rows * shape.depth()) + 2 * Scratch::bytes::<f32>(rows * shape.groups())
    }

    /// Quantises `a`, rows of `k` numbers: a group becomes `round(127 a / max |a|)`, which is at most half of
    /// `max |a| / 127` off. A group with a number that is not finite becomes NaN.
    pub fn quantize(shape: &NBitsShape, a: &[f32], scratch: &mut Scratch<'a>) -> Self {
        let (rows, len) = (a.len() / shape.k(), shape.group());
        let codes: &mut [i8] = scratch.take(rows * shape.depth());
        let scales: &mut [f32] = scratch.take(rows * shape.groups());
        let sums: &mut [f32] = scratch.take(rows * shape.groups());
        vectorised(|| {
            for (row, a) in a.chunks(shape.k()).enumerate() {
                for (group, a) in a.chunks(len).enumerate() {
                    let mut padded = [0f32; GROUP];
                    padded[..a.len()].copy_from_slice(a);
                    let (at, quantized) = (group * rows + row, quantize_group(&padded));
                    codes[at * len..][..len].copy_from_slice(&quantized.codes[..len]);
                    (scales[at], sums[at]) = (quantized.scale, quantized.sum as f32);
                }
            }
        });
        Self { shape: *shape, rows, codes, scales, sums }
    }

    /// The codes of a group of row `row`, four neighbours in a word.
    #[inline(always)]
    pub fn group(&self, row: usize, group: usize) -> &'a [[i8; 4]] {
        let len = self.shape.group();
        self.codes[(group * self.rows + row) * len..][..len].as_chunks().0
    }

    /// The scale of a group of row `row`, and the sum of its codes.
    #[inline(always)]
    pub fn scale_and_sum(&self, row: usize, group: usize) -> (f32, f32) {
        let at = group * self.rows + row;
        (self.scales[at], self.sums[at])
    }

    /// Codes, scales and sums of a group of all rows.
    #[cfg(target_arch = "x86_64")]
    pub fn of_all_rows(&self, group: usize) -> (&'a [i8], &'a [f32], &'a [f32]) {
        let (rows, len) = (self.rows, self.shape.group());
        let at = group * rows..(group + 1) * rows;
        (&self.codes[at.start * len..at.end * len], &self.scales[at.clone()], &self.sums[at])
    }
}

struct QuantizedGroup {
    codes: [i8; GROUP],
    scale: f32,
    sum: i32,
}

#[inline(always)]
fn quantize_group(a: &[f32; GROUP]) -> QuantizedGroup {
    // Adding it leaves a small number, rounded to a whole one, in the low bits.
    const ROUND: f32 = 12_582_912.0;
    // In the order of whole numbers infinity is above all finite magnitudes, and NaN above infinity.
    let largest = f32::from_bits(a.iter().fold(0, |largest, a| a.abs().to_bits().max(largest)));
    let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    let (mut codes, mut sum) = ([0; GROUP], 0);
    for (code, a) in codes.iter_mut().zip(a) {
        *code = (a * factor + ROUND).to_bits() as i8;
        sum += i32::from(*code);
    }
    QuantizedGroup { codes, scale: largest / 127.0 + largest * 0.0, sum }
}
