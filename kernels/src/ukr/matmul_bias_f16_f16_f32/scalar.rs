//! The scalar twin.

use half::f16;

use super::{Args, Bias};
use crate::ukr::scalar_finish;

/// # Safety
/// The contract of [`Args`].
pub unsafe fn run(args: &Args) {
    // SAFETY: the contract gives the columns.
    unsafe {
        let Bias(bias) = *args.columns;
        scalar_finish::<f16, f16, f32, Bias, 8>(
            args,
            |sum, a, b| sum + a.to_f32() * b.to_f32(),
            |_, column, sum| if bias.is_null() { sum } else { sum + *bias.add(column) },
        );
    }
}
