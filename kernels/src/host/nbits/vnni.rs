//! By AVX-512 VNNI, whose dot products of bytes are exact in 32 bits: a vector holds a word of each column of a panel.

use std::arch::x86_64::*;

use super::PREFETCH;
use crate::pack::{Int8Rows, NBITS_PANEL, NBitsPanel};

pub fn nbits_int8(panel: NBitsPanel<'_>, a: &Int8Rows<'_>, tile: &mut [f32], columns: usize) -> bool {
    if !is_x86_feature_detected!("avx512bw") || !is_x86_feature_detected!("avx512vnni") {
        return false;
    }
    let is_whole = panel.shape.group() == 32;
    // SAFETY: the machine has what the functions enable.
    unsafe {
        match panel.shape.bits() {
            2 if is_whole => multiply::<2, 4, 8>(panel, a, tile, columns),
            2 => multiply::<2, 4, 4>(panel, a, tile, columns),
            4 if is_whole => multiply::<4, 2, 8>(panel, a, tile, columns),
            4 => multiply::<4, 2, 4>(panel, a, tile, columns),
            _ if is_whole => multiply::<8, 1, 8>(panel, a, tile, columns),
            _ => multiply::<8, 1, 4>(panel, a, tile, columns),
        }
    }
    true
}

/// All rows with one group after the other, whose `QUADS` times four codes a column stay in registers.
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn multiply<const BITS: u32, const PLANES: usize, const QUADS: usize>(
    panel: NBitsPanel<'_>,
    a: &Int8Rows<'_>,
    tile: &mut [f32],
    columns: usize,
) {
    assert!(tile.len() + columns >= a.rows * columns + NBITS_PANEL, "as many rows of sums");
    tile.chunks_mut(columns).take(a.rows).for_each(|sums| sums[..NBITS_PANEL].fill(0.0));
    for group in 0..panel.shape.groups() {
        let codes = unpack::<BITS, PLANES, QUADS>(panel.words(group));
        let (scales, zero_points) = (load(panel.scales(group)), load(panel.zero_points(group)));
        let (quads, a_scales, a_sums) = a.of_all_rows(group);
        let quads = bytemuck::cast_slice::<_, i32>(quads).as_chunks::<QUADS>().0;
        for (row, ((quads, a_scale), a_sum)) in quads.iter().zip(a_scales).zip(a_sums).enumerate() {
            let mut products = _mm512_setzero_si512();
            for (codes, quad) in codes.iter().zip(quads) {
                products = _mm512_dpbusd_epi32(products, *codes, _mm512_set1_epi32(*quad));
            }
            let exact = _mm512_fnmadd_ps(zero_points, _mm512_set1_ps(*a_sum), _mm512_cvtepi32_ps(products));
            let scales = _mm512_mul_ps(scales, _mm512_set1_ps(*a_scale));
            // SAFETY: by the assertion, as `row` is below the number of rows.
            unsafe {
                let sums = tile.as_mut_ptr().add(row * columns);
                _mm512_storeu_ps(sums, _mm512_fmadd_ps(exact, scales, _mm512_loadu_ps(sums)));
            }
        }
    }
}

/// Codes of a group, a byte each: neighbours of four rows of all columns in a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn unpack<const BITS: u32, const PLANES: usize, const QUADS: usize>(words: &[[u32; NBITS_PANEL]]) -> [__m512i; QUADS] {
    let mask = _mm512_set1_epi8((u8::MAX >> (8 - BITS)) as i8);
    let mut codes = [_mm512_setzero_si512(); QUADS];
    for (codes, words) in codes.chunks_exact_mut(PLANES).zip(words) {
        // Words are read in order; the next panel follows this one.
        _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_byte_add(PREFETCH).cast());
        // SAFETY: `words` are as many as a vector has.
        let mut rest = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
        for codes in codes {
            *codes = _mm512_and_si512(rest, mask);
            rest = _mm512_srli_epi16::<BITS>(rest);
        }
    }
    codes
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn load(numbers: &[f32; NBITS_PANEL]) -> __m512 {
    // SAFETY: the numbers are as many as a vector has.
    unsafe { _mm512_loadu_ps(numbers.as_ptr()) }
}
