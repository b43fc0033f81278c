//! `tanh(|x|) = -T/(T + 2)` with `T = exp(-2|x|) - 1`, which keeps its relative precision near 0.

use super::Args;
use super::parts::{power_of_two, quotient};
use super::single::{Exponential, NATURAL, both, coefficients, meanwhile, polynomial, register, rounds};

/// `exp(-y)`
const FALLING: Exponential = Exponential { log2: -NATURAL.log2, ..NATURAL };
/// Beyond it the result rounds to 1.
const FAR: f32 = 10.0;

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn tanh(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        rounds!(
            args,
            2f32,
            FALLING,
            [in("a4") 0x7fff_ffffusize, in("t4") 1f32.to_bits() as usize, in("t5") FAR.to_bits() as usize,],
            [],
            [
                both!("vmv.v.v " z ", " x),
                both!("vand.vx " r ", " x ", a4"),
                both!("vminu.vx " r ", " r ", t5\nvfmv.v.f " t ", f16"),
            ],
            [
                both!("vfadd.vv " r ", " r ", " r),
                both!("vfmacc.vf " t ", f11, " r),
                power_of_two!(),
                both!("vfnmacc.vf " r ", f12, " t),
                both!("vfnmsac.vf " r ", f13, " t),
                polynomial!([], [], [], []),
                both!("vfsub.vv " t ", " n ", v30"),
                both!("vfmadd.vv " p ", " n ", " t),
                both!("vfadd.vf " r ", " p ", f10\nvmv.v.v " n ", " p),
                quotient!(),
                both!("vfsgnj.vv " p ", " p ", " z),
                both!("vmfne.vv v0, " z ", " z "\nvmerge.vvm " p ", " p ", " z ", v0")
            ],
            [],
            "v20",
            []
        );
    }
}
