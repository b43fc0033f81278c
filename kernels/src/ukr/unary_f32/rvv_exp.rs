//! The exponential, scaled by two powers of two, because one alone does not reach the denormals and the largest numbers.

use super::Args;
use super::single::{both, coefficients, polynomial, register, rounds};

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn exp(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        rounds!(
            args,
            0f32,
            // The power of two that is infinite, and the bits of 1.
            [in("a7") 129, in("t4") 127 << 23,],
            [],
            // The sum with 0 has NaN without its sign: no comparison as integers takes it for a number.
            both!("vfadd.vf " r ", " x ", f10"),
            [
                both!("vminu.vx " r ", " r ", a6"),
                both!("vfmul.vf " p ", " r ", f11"),
                both!("vfcvt.x.f.v " n ", " p),
                both!("vmin.vx " n ", " n ", a7"),
                both!("vfcvt.f.x.v " t ", " n),
                polynomial!(),
                both!("vsra.vi " t ", " n ", 1"),
                both!("vsub.vv " n ", " n ", " t),
                both!("vsll.vi " t ", " t ", 23"),
                both!("vsll.vi " n ", " n ", 23"),
                both!("vadd.vx " t ", " t ", t4"),
                both!("vadd.vx " n ", " n ", t4"),
                both!("vfmadd.vv " p ", " t ", " t),
                both!("vfmul.vv " p ", " p ", " n)
            ],
            ["vse32.v v20, (a1)"],
            []
        );
    }
}
