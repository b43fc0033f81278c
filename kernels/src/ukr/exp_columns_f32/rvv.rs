//! The exponential of `ukr::unary_f32`, of a row, of two or of four rows at a time; v4-v7 are the lanes of the sums. Shifts come to
//! the registers of what is left of the numbers, which are free until the next ones.

use super::Args;
use crate::ukr::rounds::{fold_columns, halve};
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
            0.0f32,
            NATURAL,
            [in("a4") args.shifts, in("a5") args.sums, in("t4") LARGE.to_bits() as usize,],
            ["vsetvli t3, zero, e32, m4, ta, ma", "vmv.v.i v4, 0", "vle32.v v12, (a4)"],
            [both!("vfsub.vv " r ", " x ", " r "\nvfmv.v.f " t ", f16")],
            [
                both!("vminu.vx " r ", " r ", a6"),
                both!("vfmacc.vf " t ", f11, " r),
                both!("vsll.vi " n ", " t ", 23\nvfsub.vf " t ", " t ", f16"),
                reduced!(["vadd.vx " n ", " n ", t4"], []),
                polynomial!([], [], [], []),
                "vl4re32.v v12, (a4)",
                both!("vfmadd.vv " p ", " n ", " n),
                both!("vfmul.vf " p ", " p ", f17")
            ],
            ["vfadd.vv v4, v4, v20"],
            "v20",
            ["vsetvli t0, zero, e32, m4, ta, ma", fold_columns!("vfadd.vv", 4, 6, 5), "vse32.v v4, (a5)"]
        );
    }
}
