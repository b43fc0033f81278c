//! The float products: `vfwmadot` and its slides.

use crate::core::Core;
use crate::float16::Float16;

/// Elements of two registers.
const MAX_ELEMENTS: usize = Core::MAX_VLENB;

/// The 16-bit floats of `bytes` (zeros after them).
pub fn widen(format: Float16, bytes: &[u8]) -> [f32; MAX_ELEMENTS] {
    let mut floats = [0.0; MAX_ELEMENTS];
    for (to, &bits) in floats.iter_mut().zip(bytes.as_chunks::<2>().0) {
        *to = format.widen(u16::from_le_bytes(bits)) as f32;
    }
    floats
}

/// C += A B^T, A from row `slide` on; `c` holds rows of 32-bit floats. Terms are added one by one from the
/// lowest k on, each product and sum rounded to nearest: the pseudo-code's order, which no text promises.
pub fn accumulate(core: Core, a: &[f32], b: &[f32], slide: usize, c: &mut [u8]) {
    let rows = core.rows();
    let depth = core.vlenb() / 2 / rows;
    for (p, c) in c.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let row = &a[(p / rows + slide) * depth..][..depth];
        let column = &b[p % rows * depth..][..depth];
        let sum = row.iter().zip(column).fold(f32::from_le_bytes(*c), |sum, (x, y)| sum + x * y);
        // Every NaN that RISC-V computes is the canonical one.
        *c = if sum.is_nan() { 0x7fc0_0000u32.to_le_bytes() } else { sum.to_le_bytes() };
    }
}
