//! `gelu(x) = max(x, 0) - |x| erfc(|x|/sqrt 2)/2`.

use super::Args;
use super::parts::{OF_HALF, gate, gated, magnitude, power, power_of_two, quotient, step};
use super::single::{Exponential, both, coefficients, meanwhile, register, rounds};

/// `exp(x^2/2) erfc(x/sqrt 2)/2 = N(x)/D(x)` to 2^-27.3 for `0 <= x <= 14.6`: `N` and the monic `D`, highest power first; minimax.
static RATIO: [f32; 10] = [
    0.398_946_85,
    3.935_876,
    17.741_373,
    42.422_16,
    48.372_585,
    9.866_395,
    45.456_657,
    116.395_584,
    162.035_84,
    96.745_17,
];
/// Beyond it the product is less than half the smallest f32.
const FAR: f32 = 14.6;

/// `exp(-y/2)` of the square `y` and what its rounding lost.
const FALLING: Exponential = Exponential { log2: -OF_HALF.log2, ..OF_HALF };

/// Errs by 8.3 units in the last place at most, and by less than 6 in a million numbers that were tried: the exponential by 1.3,
/// numerator and denominator by half a unit for each of nine steps and for their coefficients, products and quotient by as much.
///
/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn gelu(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        gate!(
            args,
            0f32,
            FALLING,
            FAR,
            RATIO,
            [
                "flw f0, 0(a5)\nflw f1, 4(a5)\nflw f2, 8(a5)\nflw f5, 12(a5)\nflw f6, 16(a5)",
                "flw f7, 20(a5)\nflw f28, 24(a5)\nflw f29, 28(a5)\nflw f30, 32(a5)\nflw f31, 36(a5)"
            ],
            [
                both!("vfmul.vv " r ", " z ", " z "\nvfmv.v.f " t ", f16"),
                both!("vmv.v.v " p ", " r "\nvfmacc.vf " t ", f11, " r),
                both!("vfmsac.vv " p ", " z ", " z),
                power_of_two!(),
                both!("vfnmacc.vf " r ", f12, " t),
                both!("vfnmsac.vf " r ", f13, " t "\nvfmv.v.f " t ", f15"),
                both!("vfsub.vv " r ", " r ", " p),
                power!(["vfmv.v.f " t ", f1"], ["vfmv.v.f " r ", f2"]),
                both!("vfmacc.vf " t ", f0, " z "\nvadd.vv " p ", " p ", " n),
                step!(r += t z, "f5"),
                step!(t += r z, "f6"),
                step!(r += t z, "f28"),
                both!("vfmul.vv " n ", " r ", " p),
                both!("vfadd.vf " r ", " z ", f7"),
                both!("vfmul.vv " n ", " n ", " z),
                step!(t += r z, "f29"),
                step!(r += t z, "f30"),
                step!(t += r z, "f31"),
                step!(r += t z),
            ]
        );
    }
}
