//! The exponential, scaled by two powers of two, because one alone does not reach the denormals and the largest numbers.

use super::Args;
use super::single::{NATURAL, ROUNDING, both, coefficients, meanwhile, polynomial, reduced, register, rounds};

/// The power of two that is infinite.
const INFINITE: f32 = 129.0;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn exp(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        rounds!(
            args,
            0f32,
            NATURAL,
            [
                in("a4") -i64::from(ROUNDING.to_bits()),
                in("t4") 1f32.to_bits() as usize,
                in("t5") (ROUNDING + INFINITE).to_bits() as usize,
            ],
            [],
            // The sum with 0 has NaN without its sign: no comparison as integers takes it for a number.
            [both!("vfadd.vf " r ", " x ", f10\nvfmv.v.f " t ", f16")],
            [
                both!("vminu.vx " r ", " r ", a6"),
                both!("vfmacc.vf " t ", f11, " r),
                both!("vmin.vx " t ", " t ", t5"),
                both!("vadd.vx " n ", " t ", a4\nvfsub.vf " t ", " t ", f16"),
                reduced!(["vsra.vi " z ", " n ", 1"], ["vsub.vv " n ", " n ", " z]),
                polynomial!(
                    ["vsll.vi " z ", " z ", 23"],
                    ["vsll.vi " n ", " n ", 23"],
                    ["vadd.vx " z ", " z ", t4"],
                    ["vadd.vx " n ", " n ", t4"]
                ),
                both!("vfmadd.vv " p ", " z ", " z),
                both!("vfmul.vv " p ", " p ", " n)
            ],
            [],
            "v20",
            []
        );
    }
}
