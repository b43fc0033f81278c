//! The error function: an odd polynomial up to 1, `1 - 2^R(|x|)` with the sign of `x` beyond.

use super::Args;
use super::parts::{power, power_of_two, step};
use super::rvv_gelu_tanh::BINARY;
use super::single::{both, coefficients, meanwhile, register, rounds};

/// `R`, highest power first: minimax for the error of `2^R`, 2^-25.9, for `1 <= |x| <= 4`. Then `P` of `x P(x^2)`, minimax for
/// `|x| <= 1`.
static COEFFICIENTS: [f32; 13] = [
    -0.001_659_706_5,
    0.021_320_308,
    -0.127_872_05,
    -0.944_228,
    -1.612_122_9,
    -0.003_854_462_4,
    7.853_818e-5,
    -0.000_801_018_15,
    0.005_188_326_4,
    -0.026_853_811,
    0.112_835_854,
    -0.376_126_26,
    std::f32::consts::FRAC_2_SQRT_PI,
];
/// Beyond it the result rounds to 1.
const FAR: f32 = 4.0;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn erf(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        rounds!(
            args,
            0f32,
            BINARY,
            [
                in("a4") 0x7fff_ffffusize,
                in("a5") COEFFICIENTS.as_ptr(),
                in("a3") 1f32.to_bits() as usize,
                in("t4") 0usize,
                in("t5") FAR.to_bits() as usize,
            ],
            [
                "flw f0, 0(a5)\nflw f1, 4(a5)\nflw f2, 8(a5)\nflw f4, 12(a5)\nflw f5, 16(a5)\nflw f6, 20(a5)\nflw f7, 24(a5)",
                "flw f28, 28(a5)\nflw f29, 32(a5)\nflw f30, 36(a5)\nflw f31, 40(a5)\nflw f11, 44(a5)\nflw f12, 48(a5)"
            ],
            [
                both!("vmv.v.v " z ", " x "\nvand.vx " r ", " x ", a4"),
                both!("vminu.vx " r ", " r ", t5\nvfmv.v.f " p ", f1\nvfmv.v.f " t ", f2"),
            ],
            [
                both!("vfmacc.vf " p ", f0, " r),
                step!(t += p r, "f4"),
                step!(p += t r, "f5"),
                step!(t += p r, "f6"),
                step!(p += t r),
                both!("vfadd.vf " t ", " p ", f16"),
                power_of_two!(),
                both!("vfsub.vv " r ", " p ", " t "\nvfmv.v.f " t ", f15"),
                power!([], []),
                both!("vadd.vv " p ", " p ", " n "\nvfmul.vv " t ", " z ", " z),
                both!("vfsub.vv " r ", v30, " p "\nvfmv.v.f " p ", f28"),
                both!("vfsgnj.vv " r ", " r ", " z "\nvfmv.v.f " n ", f29"),
                both!("vfmacc.vf " p ", f7, " t),
                step!(n += p t, "f30"),
                step!(p += n t, "f31"),
                step!(n += p t, "f11"),
                step!(p += n t, "f12"),
                step!(n += p t),
                both!("vfmul.vv " n ", " n ", " z),
                // NaN is not beyond 1.
                both!("vand.vx " z ", " z ", a4\nvmv.v.x " p ", a3"),
                both!("vmfge.vv v0, " z ", " p "\nvmerge.vvm " n ", " n ", " r ", v0"),
            ],
            [],
            "v16",
            []
        );
    }
}
