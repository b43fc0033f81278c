use super::NBitsShape;
use crate::host::vectorised;
use crate::mem::Scratch;

/// The largest group that a row is quantised in.
const GROUP: usize = 32;

/// Rows in int8, each group of a row with a scale of its own.
pub(crate) struct Int8Rows<'a> {
    pub shape: NBitsShape,
    /// Rows of the weight's depth.
    pub codes: &'a [i8],
    pub scales: &'a [f32],
    /// Sums of the codes of each group.
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
        let rows = a.len() / shape.k();
        let codes: &mut [i8] = scratch.take(rows * shape.depth());
        let scales: &mut [f32] = scratch.take(rows * shape.groups());
        let sums: &mut [f32] = scratch.take(rows * shape.groups());
        vectorised(|| {
            let groups = a.chunks(shape.k()).flat_map(|row| row.chunks(shape.group()));
            let codes = codes.chunks_mut(shape.group());
            for (((a, codes), scale), sum) in groups.zip(codes).zip(scales.iter_mut()).zip(sums.iter_mut()) {
                let mut padded = [0f32; GROUP];
                padded[..a.len()].copy_from_slice(a);
                let quantized;
                (quantized, *scale, *sum) = quantize_group(&padded);
                codes.copy_from_slice(&quantized[..codes.len()]);
            }
        });
        Self { shape: *shape, codes, scales, sums }
    }

    pub fn rows(&self) -> usize {
        self.scales.len() / self.shape.groups()
    }

    /// The codes of a group of row `row`, four neighbours in a word.
    #[inline(always)]
    pub fn group(&self, row: usize, group: usize) -> &'a [[i8; 4]] {
        let len = self.shape.group();
        self.codes[(row * self.shape.groups() + group) * len..][..len].as_chunks().0
    }
}

/// The codes of a group, its scale, and the sum of the codes.
#[inline(always)]
fn quantize_group(a: &[f32; GROUP]) -> ([i8; GROUP], f32, f32) {
    const LANES: usize = 8;
    // Adding it leaves a small number, rounded to a whole one, in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let (mut largest, mut poison) = ([0f32; LANES], [0f32; LANES]);
    for a in a.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            largest[lane] = largest[lane].max(a[lane].abs());
            poison[lane] += a[lane] * 0.0;
        }
    }
    let largest = largest.into_iter().fold(0f32, f32::max);
    // 0 of finite numbers, else NaN.
    let poison: f32 = poison.into_iter().sum();
    let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    let codes = a.map(|a| (a * factor + ROUND).to_bits() as i8);
    let sum: i32 = codes.iter().map(|&code| i32::from(code)).sum();
    (codes, largest / 127.0 + poison, sum as f32)
}
