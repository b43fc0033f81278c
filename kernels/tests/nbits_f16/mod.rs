//! Panels of few bits written out in f16.

use half::f16;
use kernels::table::{DEQUANTIZE_NBITS_F16, PACK_F32_F16};
use kernels::ukr::{dequantize_nbits_f16, pack_f32_f16};

use crate::grid::{Guarded, call, each};
use crate::{bytes, numbers};

/// Whether `y` is the f16 that is nearest to `exact`.
fn is_nearest(y: f16, exact: f64) -> bool {
    let distance = |y: f16| (y.to_f64() - exact).abs();
    let neighbours = [-1i16, 1].map(|step| f16::from_bits(y.to_bits().wrapping_add_signed(step)));
    neighbours.iter().all(|&other| other.is_nan() || y.to_f64() == exact || distance(y) <= distance(other))
}

#[test]
fn panels_in_f16() {
    each(DEQUANTIZE_NBITS_F16, |variant, run| {
        let bits = variant.spec;
        for (groups, steps) in [(1, 1), (1, 2), (2, 1), (3, 4), (5, 1), (4, 2)] {
            for (edge, has_zero_points) in Guarded::<u8>::EDGES.into_iter().zip([false, true]) {
                let x: Vec<u8> = bytes(groups * steps * 512, 1).iter().map(|&x| x as u8).collect();
                let rows = groups * steps * 16 * (8 / bits);
                let (x, mut y) = (Guarded::new(&x, edge), Guarded::new(&vec![f16::NAN; rows * 32], edge));
                let [scales, zero_points] = [2, 3].map(|seed| Guarded::new(&numbers(groups * 32, seed), edge));
                let args = dequantize_nbits_f16::Args {
                    x: x.as_ptr(),
                    y: y.as_mut_ptr(),
                    scales: scales.as_ptr(),
                    zero_points: if has_zero_points { zero_points.as_ptr() } else { std::ptr::null() },
                    factor: 0.25,
                    groups,
                    steps,
                };
                // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                unsafe { call(run, &args) };
                for (index, &y) in y.iter().enumerate() {
                    let (row, column) = (index / 256 * 8 + index % 8, index / 8 % 32);
                    let (step, inside) = (row * bits / 128, row % (128 / bits));
                    let byte = x[(step * 32 + column) * 16 + inside % 16];
                    let code = match (bits, inside / 16) {
                        (8, _) => byte as i8,
                        (_, 0) => (byte << 4) as i8,
                        _ => (byte & 0xf0) as i8,
                    };
                    let parameter = step / steps * 32 + column;
                    let scale = scales[parameter] * 0.25;
                    let zero = if has_zero_points { zero_points[parameter] * scale } else { 0.0 };
                    let exact = f64::from(code) * f16::from_f32(scale).to_f64() - f16::from_f32(zero).to_f64();
                    let what = format!("{} {groups} groups of {steps} steps", variant.name);
                    assert!(is_nearest(y, exact), "{what} at [{row}, {column}]: {y} is not {exact}");
                }
            }
        }
    });
}

#[test]
fn packed_rows() {
    each(PACK_F32_F16, |variant, run| {
        for (k, stride, rows) in
            [(1, 1, 8), (7, 9, 8), (8, 8, 16), (63, 64, 8), (64, 64, 16), (65, 70, 8), (200, 200, 16)]
        {
            for edge in Guarded::<u8>::EDGES {
                let mut numbers = numbers(7 * stride + k, 1);
                [f32::NAN, f32::INFINITY, 1e9, 1e-9].into_iter().zip(&mut numbers).for_each(|(x, own)| *own = x);
                let factors: Vec<f32> = (0..8).map(|row| 2f32.powi(row * 3 - 10)).collect();
                let (x, factors) = (Guarded::new(&numbers, edge), Guarded::new(&factors, edge));
                let len = (k.div_ceil(8) - 1) * rows * 8 + 64;
                let mut y = Guarded::new(&vec![f16::MAX; len], edge);
                let args = pack_f32_f16::Args {
                    x: x.as_ptr(),
                    x_stride: stride * 4,
                    factors: factors.as_ptr(),
                    y: y.as_mut_ptr(),
                    y_stride: rows * 16,
                    k,
                };
                // SAFETY: the buffers have the sizes that the contract wants, on a core that can run the variant.
                unsafe { call(run, &args) };
                for (index, y) in y.iter().enumerate() {
                    let (group, row, inside) = (index / (rows * 8), index / 8 % rows, index % 8);
                    let expected = match (row < 8, group * 8 + inside) {
                        (false, _) => f16::MAX,
                        (_, depth) if depth >= k => f16::ZERO,
                        (_, depth) => f16::from_f32(x[row * stride + depth] * factors[row]),
                    };
                    let what = format!("{} k={k} of {rows} rows at {index}", variant.name);
                    assert!(*y == expected || y.is_nan() && expected.is_nan(), "{what}: {y} is not {expected}");
                }
            }
        }
    });
}
