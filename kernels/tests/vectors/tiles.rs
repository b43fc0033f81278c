//! Rows on their way to the matrix unit.

use half::f16;
use kernels::table::{INTERLEAVE_F32_F16, TILE_F16};
use kernels::ukr::tile_f16::TilesOf;
use kernels::ukr::{interleave_f32_f16, tile_f16};

use crate::grid::{Guarded, call, each};
use crate::numbers;

#[test]
fn rows_become_tiles() {
    each(TILE_F16, |variant, run| {
        for (gap, edge) in [0, 8, 64].into_iter().flat_map(|gap| Guarded::<u8>::EDGES.map(|edge| (gap, edge))) {
            let stride = 64 + gap;
            let x: Vec<f16> = numbers(7 * stride + 64, 3).into_iter().map(f16::from_f32).collect();
            let (tile, tiles) = if variant.spec == TilesOf::Rows { (64, 8) } else { (128, 4) };
            let y_stride = tile + gap;
            let (x, mut y) =
                (Guarded::new(&x, edge), Guarded::new(&vec![f16::NAN; (tiles - 1) * y_stride + tile], edge));
            let args =
                tile_f16::Args { x: x.as_ptr(), x_stride: 2 * stride, y: y.as_mut_ptr(), y_stride: 2 * y_stride };
            // SAFETY: the buffers have the rows and tiles that the contract wants, on a core that can run the variant.
            unsafe { call(run, &args) };
            for (index, &y) in y.iter().enumerate() {
                let (of, inside) = (index / y_stride, index % y_stride);
                let (row, column) = match variant.spec {
                    TilesOf::Rows => (inside / 8, 8 * of + inside % 8),
                    TilesOf::Columns => (inside % 8, 16 * of + inside / 8),
                };
                let is_gap = inside >= tile;
                assert!(if is_gap { y.is_nan() } else { y == x[row * stride + column] }, "{} at {index}", variant.name);
            }
        }
    });
}

#[test]
fn rows_are_interleaved_in_f16() {
    each(INTERLEAVE_F32_F16, |_, run| {
        for (groups, edge) in [0, 1, 2, 3, 11].into_iter().flat_map(|n| Guarded::<u8>::EDGES.map(|edge| (n, edge))) {
            let mut x = numbers(groups * 8 * 32, 3);
            x.iter_mut().zip([1e-7, f32::NAN, 65_520.0, 1e-9]).for_each(|(x, special)| *x = special);
            let (x, mut y) = (Guarded::new(&x, edge), Guarded::new(&vec![f16::ZERO; groups * 8 * 32], edge));
            let args = interleave_f32_f16::Args { x: x.as_ptr(), y: y.as_mut_ptr(), groups };
            // SAFETY: both buffers have so many groups.
            unsafe { call(run, &args) };
            for (index, &y) in y.iter().enumerate() {
                let (group, column, row) = (index / 256, index / 8 % 32, index % 8);
                let wanted = f16::from_f32(x[(group * 8 + row) * 32 + column]);
                assert!(
                    y == wanted || (y.is_nan() && wanted.is_nan()),
                    "{index} of {groups} groups: {y}, not {wanted}"
                );
            }
        }
    });
}
