//! The logistic function and what it weighs: with `e = exp(-|y|)` it is `e/(1 + e)` for negative numbers and 1 less that for others.

use super::Args;
use super::parts::{SCALE, gate, gated, magnitude, power, power_of_two, quotient};
use super::single::{Exponential, NATURAL, both, coefficients, meanwhile, register, rounds};

/// `exp(-y)`
const FALLING: Exponential = Exponential { log2: -NATURAL.log2, ..NATURAL };
/// Beyond it exponentials are less than half the smallest f32, even times the argument.
const FAR: f32 = 130.0;

/// Of the exponential, `n` and one more than it, `r`; the former is scaled. `r` is first what is left of the argument.
macro_rules! odds {
    () => {
        concat!(
            power!([], ["vmv.v.v " r ", v30"]),
            both!("vadd.vv " n ", " p ", " n),
            both!("vfmacc.vf " r ", f17, " n),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn sigmoid(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        rounds!(
            args,
            0f32,
            FALLING,
            [
                in("a4") 0x7fff_ffffusize,
                in("a5") 1f32.to_bits() as usize,
                in("t4") SCALE,
                in("t5") FAR.to_bits() as usize,
            ],
            [],
            [
                both!("vmv.v.v " z ", " x),
                both!("vand.vx " r ", " x ", a4"),
                both!("vminu.vx " r ", " r ", t5\nvfmv.v.f " t ", f16"),
            ],
            [
                both!("vfmacc.vf " t ", f11, " r),
                power_of_two!(),
                both!("vfnmacc.vf " r ", f12, " t),
                both!("vfnmsac.vf " r ", f13, " t "\nvfmv.v.f " t ", f15"),
                odds!(),
                quotient!(),
                both!("vsrl.vi " r ", " z ", 31"),
                both!("vadd.vi " r ", " r ", -1"),
                both!("vand.vx " r ", " r ", a5"),
                both!("vfnmsac.vf " r ", f17, " p),
                both!("vand.vx " r ", " r ", a4"),
                both!("vmfne.vv v0, " z ", " z "\nvmerge.vvm " r ", " r ", " z ", v0")
            ],
            [],
            "v12",
            []
        );
    }
}

/// `alpha` times a number is exact in two parts.
///
/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn swish(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        gate!(
            args,
            args.alpha,
            FALLING,
            FAR / args.alpha,
            [0f32; 0],
            [],
            [
                both!("vfmul.vf " r ", " z ", f10\nvfmv.v.f " t ", f16"),
                both!("vmv.v.v " p ", " r "\nvfmacc.vf " t ", f11, " r),
                both!("vfmsac.vf " p ", f10, " z),
                power_of_two!(),
                both!("vfnmacc.vf " r ", f12, " t),
                both!("vfnmsac.vf " r ", f13, " t "\nvfmv.v.f " t ", f15"),
                both!("vfsub.vv " r ", " r ", " p),
                odds!(),
                both!("vfmul.vv " n ", " n ", " z),
            ]
        );
    }
}
