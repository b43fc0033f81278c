//! Groups of eight registers: v8 is the sum and the result, v16 what belongs to the column.

use super::Args;

macro_rules! rows {
    ($args:expr, $($zero_points:literal),*) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 2f",
            "1:",
            "vsetvli t0, a2, e32, m8, ta, ma",
            "vle32.v v8, (a0)",
            "vle32.v v16, (a3)",
            "vnmsac.vx v8, a6, v16",
            $($zero_points,)*
            "vle32.v v16, (a5)",
            "vfcvt.f.x.v v8, v8",
            "vfmul.vf v16, v16, f10",
            "vfmul.vv v8, v8, v16",
            "vse32.v v8, (a1)",
            "sub a2, a2, t0",
            "slli t0, t0, 2",
            "add a0, a0, t0",
            "add a1, a1, t0",
            "add a3, a3, t0",
            "add a4, a4, t0",
            "add a5, a5, t0",
            "bnez a2, 1b",
            "2:",
            ".option pop",
            inout("a0") $args.sums => _,
            inout("a1") $args.y => _,
            inout("a2") $args.len => _,
            inout("a3") $args.column_sums => _,
            inout("a4") $args.b_zero_points => _,
            inout("a5") $args.b_scales => _,
            in("a6") $args.a_zero_point,
            in("a7") $args.row_sum,
            in("f10") $args.a_scale,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        if args.b_zero_points.is_null() {
            rows!(args,)
        } else {
            rows!(args, "vle32.v v16, (a4)", "vnmsac.vx v8, a7, v16")
        }
    }
}
