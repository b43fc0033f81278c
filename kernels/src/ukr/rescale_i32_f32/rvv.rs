//! Groups of four registers: what belongs to columns stays in registers while four rows at a time pass by, each in the shadow of
//! the others' latencies, and then the rest one by one.
//!
//! | registers | |
//! |---|---|
//! | v0-v3, v4-v7, v24-v27, v28-v31 | rows of sums and results |
//! | v8-v11 | `s` of the columns |
//! | v12-v15 | their scales times that of `A` |
//! | v16-v19 | their bias; -0, which changes no sum, where there is none |
//! | v20-v23 | their zero points |

use super::Args;

/// A step of a row in `$v`: its sums are loaded and their pointer moves on; its numbers, the `$row`th behind the pointers, times the
/// columns' are subtracted, then they are converted, multiplied, added to, and stored.
macro_rules! step {
    (load $v:literal) => {
        concat!("vle32.v ", $v, ", (s2)\n add s2, s2, a1\n")
    };
    (subtract $v:literal $row:literal) => {
        concat!(
            "lw t5, 4 * ",
            $row,
            "(s4)\n",
            "beqz a3, 6f\n",
            "lw t6, 4 * ",
            $row,
            "(s5)\n",
            "vnmsac.vx ",
            $v,
            ", t6, v20\n",
            "6:\n",
            "vnmsac.vx ",
            $v,
            ", t5, v8\n",
        )
    };
    (convert $v:literal) => {
        concat!("vfcvt.f.x.v ", $v, ", ", $v, "\n")
    };
    (multiply $v:literal) => {
        concat!("vfmul.vv ", $v, ", ", $v, ", v12\n")
    };
    (add $v:literal) => {
        concat!("vfadd.vv ", $v, ", ", $v, ", v16\n")
    };
    (store $v:literal) => {
        concat!("vse32.v ", $v, ", (s3)\n add s3, s3, a7\n")
    };
}

macro_rules! steps {
    ($([$($step:tt)+])+) => {
        concat!($(step!($($step)+)),+)
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
            "addi s6, t0, -4",
            "bltz s6, 5f",
            "4:",
            steps!(
                [load "v0"] [load "v4"] [subtract "v0" 0] [convert "v0"]
                [load "v24"] [subtract "v4" 1] [multiply "v0"] [convert "v4"]
                [load "v28"] [subtract "v24" 2] [add "v0"] [multiply "v4"] [convert "v24"] [store "v0"]
                [subtract "v28" 3] [add "v4"] [multiply "v24"] [convert "v28"] [store "v4"]
                [add "v24"] [multiply "v28"] [store "v24"] [add "v28"] [store "v28"]
            ),
            "addi s4, s4, 16",
            "addi s5, s5, 16",
            "addi s6, s6, -4",
            "bgez s6, 4b",
            "5:",
            "addi s6, s6, 4",
            "beqz s6, 3f",
            "4:",
            steps!([load "v0"] [subtract "v0" 0] [convert "v0"] [multiply "v0"] [add "v0"] [store "v0"]),
            "addi s4, s4, 4",
            "addi s5, s5, 4",
            "addi s6, s6, -1",
            "bnez s6, 4b",
            "3:",
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
            clobber_abi("C"),
            options(nostack),
        )
    }
}
