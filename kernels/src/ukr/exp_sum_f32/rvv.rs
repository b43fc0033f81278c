//! The exponential of `ukr::unary_f32`; v4-v7 are the lanes of the sum. The power of two comes from the bits of a sum with so large
//! a number that only an integer is left of its fraction.

use super::Args;
use crate::ukr::unary_f32::single::{both, coefficients, polynomial, register, rounds};

/// `1.5 2^23`
const ROUNDING: f32 = 12_582_912.0;
/// The results are scaled by this and back: as numbers times a power of two they would not reach the denormals.
const LARGE: f32 = (1u64 << 63) as f32 * 2.0;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        rounds!(
            args,
            args.shift,
            [in("a4") args.sum, in("t4") LARGE.to_bits() as usize, in("f16") ROUNDING, in("f17") 1.0 / LARGE,],
            ["vsetvli t3, zero, e32, m4, ta, ma", "vmv.v.i v4, 0"],
            both!("vfsub.vf " r ", " x ", f10"),
            [
                both!("vminu.vx " r ", " r ", a6"),
                both!("vfmv.v.f " p ", f16"),
                both!("vfmacc.vf " p ", f11, " r),
                both!("vfsub.vf " t ", " p ", f16"),
                both!("vsll.vi " n ", " p ", 23"),
                both!("vadd.vx " n ", " n ", t4"),
                polynomial!(),
                both!("vfmadd.vv " p ", " n ", " n),
                both!("vfmul.vf " p ", " p ", f17")
            ],
            ["vfadd.vv v4, v4, v20", "vse32.v v20, (a1)"],
            [
                "vsetvli t3, zero, e32, m2, ta, ma",
                "vfwadd.vv v8, v4, v6",
                "vsetvli t3, zero, e64, m2, ta, ma",
                "vfadd.vv v8, v8, v10",
                "vsetvli t3, zero, e64, m1, ta, ma",
                "vfadd.vv v8, v8, v9",
                "vmv.s.x v10, zero",
                "vfredusum.vs v8, v8, v10",
                "vfmv.f.s f0, v8",
                "fsd f0, 0(a4)"
            ]
        );
    }
}
