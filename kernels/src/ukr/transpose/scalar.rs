//! Elements one by one, of several columns side by side, for cores whose strided loads are slower than that.

use super::Args;
use crate::ukr::prefetch;

/// Columns that are read side by side at most.
const COLUMNS: usize = 8;

/// Elements of the type `T`.
///
/// # Safety
/// The contract of [`Args`].
pub unsafe fn elements<T: Copy>(args: &Args) {
    let mut first = 0;
    // SAFETY: the columns are those of `args`.
    unsafe {
        while first + COLUMNS <= args.columns {
            (first + COLUMNS..args.columns).take(COLUMNS).for_each(|next| prefetch(column::<T>(args, next)));
            columns::<T, COLUMNS>(args, &mut first);
        }
        if first + 4 <= args.columns {
            columns::<T, 4>(args, &mut first);
        }
        if first + 2 <= args.columns {
            columns::<T, 2>(args, &mut first);
        }
        if first < args.columns {
            columns::<T, 1>(args, &mut first);
        }
    }
}

/// # Safety
/// The contract of [`Args`], which has this column.
unsafe fn column<T>(args: &Args, column: usize) -> &[T] {
    // SAFETY: the contract makes these elements part of `x`.
    unsafe { std::slice::from_raw_parts(args.x.byte_offset(column as isize * args.x_stride).cast(), args.rows) }
}

/// Moves the `N` columns from `first` on, which then is the next one.
///
/// # Safety
/// The contract of [`Args`], which has these columns.
unsafe fn columns<T: Copy, const N: usize>(args: &Args, first: &mut usize) {
    // SAFETY: the contract makes these elements part of `x` and of `y`.
    unsafe {
        let from: [&[T]; N] = std::array::from_fn(|index| column(args, *first + index));
        for row in 0..args.rows {
            // All are read before the first is written, which might be one of them as far as the compiler knows.
            let elements: [T; N] = std::array::from_fn(|index| *from[index].get_unchecked(row));
            args.y.byte_add(row * args.y_stride).cast::<T>().add(*first).cast::<[T; N]>().write(elements);
        }
    }
    *first += N;
}
