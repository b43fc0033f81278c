//! Elements one by one, of several columns side by side, for cores whose strided loads are slower than that.

use super::Args;

/// Columns that are read side by side.
const COLUMNS: usize = 8;

/// Elements of the type `T`.
///
/// # Safety
/// The contract of [`Args`].
pub unsafe fn elements<T: Copy>(args: &Args) {
    let whole = args.columns - args.columns % COLUMNS;
    // SAFETY: the columns are those of `args`.
    unsafe {
        (0..whole).step_by(COLUMNS).for_each(|first| columns::<T, COLUMNS>(args, first));
        (whole..args.columns).for_each(|first| columns::<T, 1>(args, first));
    }
}

/// # Safety
/// The contract of [`Args`], which has `N` columns from `first` on.
unsafe fn columns<T: Copy, const N: usize>(args: &Args, first: usize) {
    // SAFETY: the contract makes these elements part of `x` and of `y`.
    unsafe {
        let from: [*const T; N] =
            std::array::from_fn(|column| args.x.byte_offset((first + column) as isize * args.x_stride).cast());
        for row in 0..args.rows {
            let to = args.y.byte_add(row * args.y_stride).cast::<T>().add(first);
            for (column, from) in from.iter().enumerate() {
                to.add(column).write(from.add(row).read());
            }
        }
    }
}
