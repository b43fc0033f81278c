//! The kernels of weights of few bits.

use kernels::table::*;
use kernels::ukr::{dequantize_i8_f32, dequantize_nbits_f16, matmul_nbits, matvec_nbits, pack_f32_f16};
use kernels::ukr::{quantize_f32_i8, unpack_i8};

use crate::{LEN, call, each};

pub fn all() {
    blocks();
    rows();
    vectors();
}

/// Products of a block of rows by one panel, in groups of 128 rows that share their scales.
fn blocks() {
    for row in MATMUL_NBITS {
        let (m, panel, group) = (row.spec.block.m, row.spec.layout.panel(), 128);
        for k in [group, 4 * group] {
            let (a, b) = (vec![0i8; m * k], vec![0i8; panel * k]);
            let (of_rows, of_columns) = (
                vec![0f32; m * k / group * row.spec.copies()],
                vec![0f32; panel * k / group * row.spec.column_copies()],
            );
            let mut c = vec![0f32; m * panel];
            let args = matmul_nbits::Args {
                a: a.as_ptr(),
                b: b.as_ptr(),
                a_scales: of_rows.as_ptr(),
                a_sums: of_rows.as_ptr(),
                b_scales: of_columns.as_ptr(),
                b_zero_points: of_columns.as_ptr(),
                c: c.as_mut_ptr(),
                groups: k / group,
                k_groups: group / row.spec.tile.k,
                rows: m,
            };
            // SAFETY: the buffers have the sizes that the contract wants.
            unsafe { call(row, &format!("{m}x{panel}x{k}"), m * panel * k, &args) };
        }
    }
}

/// A row by one panel, in groups of 128 and of 32 rows that share their scales.
fn rows() {
    for (row, planes, group) in MATVEC_NBITS.iter().flat_map(|row| [(row, 1, 128), (row, 2, 128), (row, 2, 32)]) {
        let (m, n, panel, k) = (row.spec.tile.m, row.spec.tile.n, row.spec.layout.panel(), 512);
        let groups = k / group;
        let (a, b) = (vec![0i8; m * k], vec![0u8; panel * k / planes]);
        let (of_row, of_columns) = (vec![0f32; groups.next_multiple_of(m) * n], vec![0f32; panel * groups]);
        let mut c = vec![0f32; panel];
        let args = matvec_nbits::Args {
            a: a.as_ptr(),
            b: b.as_ptr(),
            a_scales: of_row.as_ptr(),
            a_sums: of_row.as_ptr(),
            b_scales: of_columns.as_ptr(),
            b_zero_points: of_columns.as_ptr(),
            c: c.as_mut_ptr(),
            groups,
            k_groups: group / row.spec.tile.k,
            planes,
        };
        // SAFETY: the buffers have the sizes that the contract wants.
        unsafe { call(row, &format!("1x{panel}x{k}"), panel * k, &args) };
    }
}

/// The vector kernels of weights of few bits, and of the rows that they are multiplied with.
fn vectors() {
    let (x, mut y, mut numbers) = (vec![0i8; LEN], vec![0i8; 2 * LEN], vec![0f32; LEN]);
    let (mut scales, mut sums, mut halves) = ([0f32; 32], [0f32; 32], vec![half::f16::ZERO; LEN]);
    let (codes, floats) = (y.as_mut_ptr(), numbers.as_mut_ptr());
    let (scales, sums) = (scales.as_mut_ptr(), sums.as_mut_ptr());
    // SAFETY: every buffer has the numbers of `LEN` codes, a group or a row of them has 32.
    unsafe {
        each(QUANTIZE_F32_I8, quantize_f32_i8::Args { x: floats, y: codes, scales, sums, len: LEN, group: 32 });
        each(UNPACK_I8, unpack_i8::Args { x: x.as_ptr().cast(), y: codes, step: 128, steps: LEN / 128 });
        let zero_points = scales;
        each(
            DEQUANTIZE_I8_F32,
            dequantize_i8_f32::Args { x: x.as_ptr(), y: floats, scales, zero_points, rows: LEN / 32 },
        );
        let (codes, halves) = (x.as_ptr().cast(), halves.as_mut_ptr());
        for row in DEQUANTIZE_NBITS_F16 {
            let steps = LEN * row.spec / 8 / 512;
            let zero_points = std::ptr::null();
            let args =
                dequantize_nbits_f16::Args { x: codes, y: halves, scales, zero_points, factor: 1.0, groups: 1, steps };
            call(row, &LEN.to_string(), LEN, &args);
        }
        let k = LEN / 8;
        each(
            PACK_F32_F16,
            pack_f32_f16::Args { x: floats, x_stride: 4 * k, factors: scales, y: halves, y_stride: 128, k },
        );
    }
}
