//! By AVX2, which adds products of bytes in 16 bits.

use std::arch::x86_64::*;

use rten_simd::isa::Avx2Isa;

use super::PREFETCH;
use crate::pack::{Int8Rows, NBITS_PANEL, NBitsPanel};

/// Columns of a vector.
const LANES: usize = 8;

pub fn nbits_int8(panel: NBitsPanel<'_>, a: &Int8Rows<'_>, tile: &mut [f32], columns: usize) -> bool {
    if Avx2Isa::new().is_none() {
        return false;
    }
    // SAFETY: `Avx2Isa` exists only where AVX2 and FMA do.
    unsafe {
        match panel.shape.bits() {
            2 => multiply::<2, 4>(panel, a, tile, columns),
            4 => multiply::<4, 2>(panel, a, tile, columns),
            _ => multiply::<8, 1>(panel, a, tile, columns),
        }
    }
    true
}

/// All rows, as many at a time as registers can hold.
#[target_feature(enable = "avx2,fma")]
fn multiply<const BITS: i32, const PLANES: usize>(
    panel: NBitsPanel<'_>,
    a: &Int8Rows<'_>,
    tile: &mut [f32],
    columns: usize,
) {
    let mut row = 0;
    while row < a.rows {
        let tile = &mut tile[row * columns..];
        row += match a.rows - row {
            8.. if BITS < 8 => multiply_rows::<8, 1, BITS, PLANES>(panel, a, row, tile, columns),
            4.. => multiply_rows::<4, 1, BITS, PLANES>(panel, a, row, tile, columns),
            _ => multiply_rows::<1, 2, BITS, PLANES>(panel, a, row, tile, columns),
        }
    }
}

/// `R` rows, from row `first` on, with `V` vectors of columns at a time; returns `R`.
#[target_feature(enable = "avx2,fma")]
fn multiply_rows<const R: usize, const V: usize, const BITS: i32, const PLANES: usize>(
    panel: NBitsPanel<'_>,
    a: &Int8Rows<'_>,
    first: usize,
    tile: &mut [f32],
    columns: usize,
) -> usize {
    let groups = panel.shape.groups();
    for lane in (0..NBITS_PANEL).step_by(V * LANES) {
        let mut sums = [[_mm256_setzero_ps(); V]; R];
        for group in 0..groups {
            let products = multiply_group::<R, V, BITS, PLANES>(panel, a, first, group, lane);
            for vector in 0..V {
                let lane = lane + vector * LANES;
                let (scales, zero_points) = (load(panel.scales(group), lane), load(panel.zero_points(group), lane));
                for row in 0..R {
                    let (scale, sum) = a.scale_and_sum(first + row, group);
                    let (scale, sum) = (_mm256_set1_ps(scale), _mm256_set1_ps(sum));
                    let exact = _mm256_fnmadd_ps(zero_points, sum, _mm256_cvtepi32_ps(products[row][vector]));
                    let sums = &mut sums[row][vector];
                    *sums = _mm256_fmadd_ps(exact, _mm256_mul_ps(scales, scale), *sums);
                }
            }
        }
        for (row, sums) in sums.iter().enumerate() {
            for (vector, sums) in sums.iter().enumerate() {
                let out = &mut tile[row * columns + lane + vector * LANES..][..LANES];
                // SAFETY: `out` has the numbers of a vector.
                unsafe { _mm256_storeu_ps(out.as_mut_ptr(), *sums) };
            }
        }
    }
    R
}

/// The exact products of a group with the columns from `lane` on. Codes of 8 bits are taken as two halves of 4: then
/// the sums of two products of a code and an int8, and of eight such sums, fit the 16 bits in which the instructions
/// add.
#[inline]
#[target_feature(enable = "avx2,fma")]
#[expect(clippy::needless_range_loop, reason = "a plane of all rows is read before the next plane")]
fn multiply_group<const R: usize, const V: usize, const BITS: i32, const PLANES: usize>(
    panel: NBitsPanel<'_>,
    a: &Int8Rows<'_>,
    first: usize,
    group: usize,
    lane: usize,
) -> [[__m256i; V]; R] {
    let mask = _mm256_set1_epi8(if BITS == 2 { 3 } else { 15 });
    let (mut low, mut high) = ([[_mm256_setzero_si256(); V]; R], [[_mm256_setzero_si256(); V]; R]);
    let mut words_of: [&[[i32; PLANES]]; R] = [&[]; R];
    for (row, words) in words_of.iter_mut().enumerate() {
        *words = bytemuck::cast_slice::<_, i32>(a.group(first + row, group)).as_chunks().0;
    }
    for (index, word) in panel.words(group).iter().enumerate() {
        if R == 1 {
            // So little work does not hide the way of the words from memory; the next panel follows this one.
            _mm_prefetch::<_MM_HINT_T0>(word.as_ptr().wrapping_byte_add(PREFETCH).cast());
        }
        for vector in 0..V {
            let words = &word[lane + vector * LANES..][..LANES];
            // SAFETY: `words` are as many as a vector has.
            let mut rest = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
            for plane in 0..PLANES {
                let codes = _mm256_and_si256(rest, mask);
                let high_codes = _mm256_and_si256(_mm256_srli_epi16::<4>(rest), mask);
                for row in 0..R {
                    let a = _mm256_set1_epi32(words_of[row][index][plane]);
                    let (low, high) = (&mut low[row][vector], &mut high[row][vector]);
                    *low = _mm256_add_epi16(*low, _mm256_maddubs_epi16(codes, a));
                    if BITS == 8 {
                        *high = _mm256_add_epi16(*high, _mm256_maddubs_epi16(high_codes, a));
                    }
                }
                rest = _mm256_srli_epi16::<BITS>(rest);
            }
        }
    }
    let (one, sixteen) = (_mm256_set1_epi16(1), _mm256_set1_epi16(16));
    for (low, high) in low.iter_mut().zip(&high) {
        for (low, high) in low.iter_mut().zip(high) {
            *low = _mm256_madd_epi16(*low, one);
            if BITS == 8 {
                *low = _mm256_add_epi32(*low, _mm256_madd_epi16(*high, sixteen));
            }
        }
    }
    low
}

/// The numbers from `lane` on.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn load(values: &[f32; NBITS_PANEL], lane: usize) -> __m256 {
    let values = &values[lane..][..LANES];
    // SAFETY: `values` are as many as a vector has.
    unsafe { _mm256_loadu_ps(values.as_ptr()) }
}
