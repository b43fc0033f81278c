//! Sixteen rows by 32 columns at VLEN 1024, where a row of sums is one register.
//!
//! | registers | |
//! |---|---|
//! | v0-v7 | eight steps of `B`, which come in one load: on the A100 a load of eight registers costs little more than one |
//! | v8-v23 | sums, one register a row |

use super::Args;

/// Computes the rows that are listed, each as `number f-register sum`.
macro_rules! rows_kernel {
    ($rows:expr, $($row:literal $a:literal $sum:literal),+) => {{
        let rows = $rows;
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli zero, a6, e32, m1, ta, ma",
            "bnez t0, 7f",
            $(concat!("vmv.v.i ", $sum, ", 0"),)+
            "j 8f",
            "7:",
            "mv t1, a3",
            $(
                concat!("vle32.v ", $sum, ", (t1)"),
                "add t1, t1, a4",
            )+
            "8:",
            "li a7, 8",
            "bltu a0, a7, 4f",
            "2:",
            "vl8re32.v v0, (a2)",
            "addi a2, a2, 8 * 4 * 32",
            "addi a0, a0, -8",
            step!("v0", $($a $sum $row),+),
            step!("v1", $($a $sum $row),+),
            step!("v2", $($a $sum $row),+),
            step!("v3", $($a $sum $row),+),
            step!("v4", $($a $sum $row),+),
            step!("v5", $($a $sum $row),+),
            step!("v6", $($a $sum $row),+),
            step!("v7", $($a $sum $row),+),
            "bgeu a0, a7, 2b",
            "4:",
            "beqz a0, 6f",
            "5:",
            "vle32.v v0, (a2)",
            "addi a2, a2, 4 * 32",
            "addi a0, a0, -1",
            step!("v0", $($a $sum $row),+),
            "bnez a0, 5b",
            "6:",
            $(
                concat!("vse32.v ", $sum, ", (a3)"),
                "add a3, a3, a4",
            )+
            ".option pop",
            inout("a0") rows.block.k_groups => _,
            inout("a1") rows.a => _,
            in("a5") 4 * rows.block.rows,
            inout("a2") rows.block.b => _,
            inout("a3") rows.c => _,
            in("a4") rows.block.c_stride,
            in("a6") 32usize,
            in("t0") usize::from(rows.block.accumulate),
            out("a7") _,
            clobber_abi("C"),
            options(nostack),
        )
    }};
}

/// One step of `B` in register `$b`.
macro_rules! step {
    ($b:literal, $($a:literal $sum:literal $row:literal),+) => {
        concat!(
            $("flw ", $a, ", 4 * ", $row, "(a1)\n",)+
            "add a1, a1, a5\n",
            $("vfmacc.vf ", $sum, ", ", $a, ", ", $b, "\n",)+
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    let mut row = 0;
    while row < args.rows {
        // SAFETY: the assembly touches only what `Args` lends it, for the rows that are left.
        unsafe {
            let rows = args.rows_from(row);
            row += match args.rows - row {
                16.. => {
                    rows_kernel!(rows, 0 "f0" "v8", 1 "f1" "v9", 2 "f2" "v10", 3 "f3" "v11", 4 "f4" "v12", 5 "f5" "v13", 6 "f6" "v14", 7 "f7" "v15", 8 "f10" "v16", 9 "f11" "v17", 10 "f12" "v18", 11 "f13" "v19", 12 "f14" "v20", 13 "f15" "v21", 14 "f16" "v22", 15 "f17" "v23");
                    16
                }
                8..16 => {
                    rows_kernel!(rows, 0 "f0" "v8", 1 "f1" "v9", 2 "f2" "v10", 3 "f3" "v11", 4 "f4" "v12", 5 "f5" "v13", 6 "f6" "v14", 7 "f7" "v15");
                    8
                }
                4..8 => {
                    rows_kernel!(rows, 0 "f0" "v8", 1 "f1" "v9", 2 "f2" "v10", 3 "f3" "v11");
                    4
                }
                2..4 => {
                    rows_kernel!(rows, 0 "f0" "v8", 1 "f1" "v9");
                    2
                }
                _ => {
                    rows_kernel!(rows, 0 "f0" "v8");
                    1
                }
            };
        }
    }
}
