//! The exponential of `ukr::unary_f32`; v4-v7 are the lanes of the sum.

use super::Args;
use crate::ukr::unary_f32::single::{
    LARGE, NATURAL, both, coefficients, meanwhile, polynomial, reduced, register, rounds,
};

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        rounds!(
            args,
            args.shift,
            NATURAL,
            [in("a4") args.sum, in("t4") LARGE.to_bits() as usize,],
            ["vsetvli t3, zero, e32, m4, ta, ma", "vmv.v.i v4, 0"],
            [both!("vfsub.vf " r ", " x ", f10\nvfmv.v.f " t ", f16")],
            [
                both!("vminu.vx " r ", " r ", a6"),
                both!("vfmacc.vf " t ", f11, " r),
                both!("vsll.vi " n ", " t ", 23\nvfsub.vf " t ", " t ", f16"),
                reduced!(["vadd.vx " n ", " n ", t4"], []),
                polynomial!([], [], [], []),
                both!("vfmadd.vv " p ", " n ", " n),
                both!("vfmul.vf " p ", " p ", f17")
            ],
            ["vfadd.vv v4, v4, v20"],
            "v20",
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
