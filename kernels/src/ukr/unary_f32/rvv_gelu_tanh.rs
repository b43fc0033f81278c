//! `gelu_tanh(x) = x sigmoid(x (a + b x^2))`, `a = 2 sqrt(2/pi)` and `b = 0.044715 a`.

use super::Args;
use super::parts::{gate, gated, magnitude, power, power_of_two, quotient};
use super::single::{Exponential, both, coefficients, meanwhile, register, rounds};

/// `-a` and `-b` over ln(2), in two parts each: `a`, `b`, the rest of `a`, that of `b`. Twenty bits behind the point of `a`, so that
/// taking it off the sum with `b x^2` is exact.
static CUBIC: [f32; 4] = [-2.302_208, -0.102_943_24, -2.513_669_8e-7, 2.016_198_4e-9];
/// Beyond it the product is less than half the smallest f32.
const FAR: f32 = 11.5;

/// `2^y` for a `y` that is split into `t` and `r` by itself: `Q` is minimax for `|r| <= 1/2`.
pub(super) const BINARY: Exponential = Exponential {
    log2: 0.0,
    step: [0.0; 2],
    q: [0.000_153_532_53, 0.001_339_900_5, 0.009_618_439, 0.055_503_32, 0.240_226_48],
    first: std::f32::consts::LN_2,
};

/// The exponent is computed in two parts: near the smallest results an f32 alone would be wrong by 60 units in the last place of
/// its power.
///
/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn gelu_tanh(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        gate!(
            args,
            0f32,
            BINARY,
            FAR,
            CUBIC,
            ["flw f28, 0(a5)\nflw f29, 4(a5)\nflw f30, 8(a5)\nflw f31, 12(a5)"],
            [
                both!("vfmul.vv " r ", " z ", " z "\nvfmv.v.f " t ", f28"),
                both!("vmv.v.v " p ", " r),
                both!("vfmsac.vv " p ", " z ", " z),
                // The sum `t`, and in `n` what its rounding lost, with the rest of everything.
                both!("vfmacc.vf " t ", f29, " r),
                both!("vfrsub.vf " n ", " t ", f28"),
                both!("vfmacc.vf " n ", f29, " r),
                both!("vfmacc.vf " n ", f31, " r),
                both!("vfmacc.vf " n ", f29, " p),
                both!("vfadd.vf " n ", " n ", f30"),
                both!("vfmul.vv " r ", " z ", " t),
                both!("vmv.v.v " p ", " r),
                both!("vfmsac.vv " p ", " z ", " t),
                both!("vfmacc.vv " p ", " z ", " n),
                both!("vfadd.vf " t ", " r ", f16"),
                power_of_two!(),
                both!("vfsub.vv " r ", " r ", " t "\nvfmv.v.f " t ", f15"),
                both!("vfadd.vv " r ", " r ", " p),
                power!([], ["vmv.v.v " r ", v30"]),
                both!("vadd.vv " n ", " p ", " n),
                both!("vfmacc.vf " r ", f17, " n),
                both!("vfmul.vv " n ", " n ", " z),
            ]
        );
    }
}
