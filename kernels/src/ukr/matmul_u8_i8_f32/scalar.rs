//! The scalar twin.

use super::{Args, Columns};
use crate::ukr::scalar_finish;

/// # Safety
/// The contract of [`Args`].
pub unsafe fn run(args: &Args) {
    // SAFETY: the contract gives the numbers of the columns, and each row its factor where there are any.
    unsafe {
        let Columns { sums, factors, scales, bias, zero_point, scale } = *args.columns;
        let correction = |row: usize, column: usize| {
            let of_row = if args.row_factors.is_null() { 0 } else { *args.row_factors.add(row) };
            let of_columns = zero_point.wrapping_mul(*sums.add(column));
            if of_row == 0 { of_columns } else { of_columns.wrapping_add(of_row.wrapping_mul(*factors.add(column))) }
        };
        scalar_finish::<u8, i8, i32, Columns, 16>(
            args,
            |sum, a, b| sum.wrapping_add(i32::from(a) * i32::from(b)),
            |row, column, sum| {
                let y = sum.wrapping_sub(correction(row, column)) as f32 * (scale * *scales.add(column));
                if bias.is_null() { y } else { y + *bias.add(column) }
            },
        );
    }
}
