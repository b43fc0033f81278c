//! Groups of eight registers in 32 bits: v8 is the number, v24 the quotient, then v16 and v20 its integer.

use super::Args;
use crate::ukr::rounds::{first, next};

/// Scales between these have a reciprocal, and quotients by them remainders, that are no denormals.
const LEAST: f32 = f32::from_bits(0x0d80_0000); // 2^-100
const GREATEST: f32 = f32::from_bits(0x7180_0000); // 2^100

/// `$first` reads v8 for the last time, `$rest` leaves the clamped quotient in v24.
macro_rules! rows {
    ($args:expr, $bounds:expr, [$($first:literal),+], [$($rest:literal),+]) => {{
        let reciprocal = 1.0 / $args.scale;
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 2f",
            first!(),
            "1:",
            "vsetvli zero, t0, e32, m8, ta, ma",
            $($first,)+
            next!(),
            $($rest,)+
            "vsetvli zero, zero, e16, m4, ta, ma",
            "vfncvt.x.f.w v16, v24",
            "vsetvli zero, zero, e8, m2, ta, ma",
            "vnsrl.wi v20, v16, 0",
            "vadd.vx v20, v20, a3",
            "vxor.vx v20, v20, a4",
            "vse8.v v20, (a1)",
            "add a1, a1, t0",
            "mv t0, t1",
            "bnez t0, 1b",
            "2:",
            ".option pop",
            inout("a0") $args.x => _,
            inout("a1") $args.y => _,
            inout("a2") $args.len => _,
            in("a3") $args.zero_point,
            in("a4") usize::from($args.flip),
            in("f10") $args.scale,
            in("f11") $bounds[0],
            in("f12") $bounds[1],
            in("f13") reciprocal,
            in("f14") (-$args.scale).mul_add(reciprocal, 1.0) * reciprocal,
            clobber_abi("C"),
            options(nostack),
        )
    }};
}

/// The quotient is rounded as a division rounds it: the reciprocal in two parts gives a quotient within a unit of its last place,
/// and the exact remainder of that corrects it (Markstein, IBM J. Res. Dev. 34, 1990, theorem 8). The bounds are whole numbers, so
/// clamping before rounding, or numbers before they are divided, changes nothing but NaN and what the integer cannot hold.
///
/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    let bounds = [-args.zero_point as f32, (255 - args.zero_point) as f32];
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        if (LEAST..=GREATEST).contains(&args.scale) {
            rows!(
                args,
                bounds.map(|bound| bound * args.scale),
                ["vfmax.vf v16, v8, f11", "vfmin.vf v16, v16, f12"],
                [
                    "vfmul.vf v24, v16, f14",
                    "vfmacc.vf v24, f13, v16",
                    "vfnmsac.vf v16, f10, v24",
                    "vfmacc.vf v24, f13, v16"
                ]
            );
        } else {
            rows!(args, bounds, ["vfdiv.vf v24, v8, f10"], ["vfmax.vf v24, v24, f11", "vfmin.vf v24, v24, f12"]);
        }
    }
}
