//! Groups of four registers: what belongs to columns stays in registers while two rows at a time pass by, each in the shadow of
//! the other's latencies.
//!
//! | registers | |
//! |---|---|
//! | v0-v3, v4-v7 | two rows of sums and results |
//! | v8-v11 | `s` of the columns |
//! | v12-v15 | their scales times that of `A` |
//! | v16-v19 | their bias; -0, which changes no sum, where there is none |
//! | v20-v23 | their zero points |

use super::Args;

/// `v0` and `v4` less the row's numbers behind the pointer `$p`, the second `s9` bytes on, times the columns' numbers in `$v`.
macro_rules! subtract {
    ($p:literal, $v:literal) => {
        concat!(
            "add t6, ",
            $p,
            ", s9\n lw t5, (",
            $p,
            ")\n lw t6, (t6)\n vnmsac.vx v0, t5, ",
            $v,
            "\n vnmsac.vx v4, t6, ",
            $v
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    if args.rows == 0 {
        return;
    }
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz t1, 7f",
            "1:",
            "vsetvli t4, t1, e32, m4, ta, ma",
            "vle32.v v8, (a2)",
            "vle32.v v12, (a4)",
            "vfmul.vf v12, v12, f10",
            "beqz a3, 2f",
            "vle32.v v20, (a3)",
            "2:",
            "lui t5, 0x80000",
            "vmv.v.x v16, t5",
            "beqz a5, 3f",
            "vle32.v v16, (a5)",
            "3:",
            "mv s2, a0",
            "mv s3, a6",
            "mv s4, t2",
            "mv s5, t3",
            "mv s6, t0",
            "mv s7, a1",
            "mv s8, a7",
            "li s9, 4",
            "4:",
            // Where one row is left, it is both rows.
            "addi s6, s6, -2",
            "bgez s6, 5f",
            "li s7, 0",
            "li s8, 0",
            "li s9, 0",
            "5:",
            "add s10, s2, s7",
            "vle32.v v0, (s2)",
            "vle32.v v4, (s10)",
            subtract!("s4", "v8"),
            "beqz a3, 6f",
            subtract!("s5", "v20"),
            "6:",
            "vfcvt.f.x.v v0, v0",
            "vfcvt.f.x.v v4, v4",
            "vfmul.vv v0, v0, v12",
            "vfmul.vv v4, v4, v12",
            "vfadd.vv v0, v0, v16",
            "vfadd.vv v4, v4, v16",
            "add s11, s3, s8",
            "vse32.v v0, (s3)",
            "vse32.v v4, (s11)",
            "add s2, s10, s7",
            "add s3, s11, s8",
            "addi s4, s4, 8",
            "addi s5, s5, 8",
            "bgtz s6, 4b",
            "sub t1, t1, t4",
            "slli t4, t4, 2",
            "add a0, a0, t4",
            "add a2, a2, t4",
            "add a4, a4, t4",
            "add a6, a6, t4",
            "beqz a3, 8f",
            "add a3, a3, t4",
            "8:",
            "beqz a5, 9f",
            "add a5, a5, t4",
            "9:",
            "bnez t1, 1b",
            "7:",
            ".option pop",
            inout("a0") args.sums => _,
            in("a1") args.sums_stride,
            inout("a2") args.column_sums => _,
            inout("a3") args.b_zero_points => _,
            inout("a4") args.b_scales => _,
            inout("a5") args.bias => _,
            inout("a6") args.y => _,
            in("a7") args.y_stride,
            in("t0") args.rows,
            inout("t1") args.columns => _,
            in("t2") args.a_zero_points,
            in("t3") args.row_sums,
            in("f10") args.a_scale,
            out("s2") _,
            out("s3") _,
            out("s4") _,
            out("s5") _,
            out("s6") _,
            out("s7") _,
            out("s8") _,
            out("s9") _,
            out("s10") _,
            out("s11") _,
            clobber_abi("C"),
            options(nostack),
        )
    }
}
