//! Rows whose halves fill one, two or four registers: a row comes and goes as one group, the next one while it is turned, and all
//! rows share the cosines in v24 and the sines in v28. Rows are in v0 and v8 by turns, results in v16.

use super::Args;

/// Turns the row whose halves are in `$a` and `$b` and stores it; `$second` is the second half of the result.
macro_rules! turn {
    ($half:literal, $whole:literal, $a:literal, $b:literal, $second:literal) => {
        concat!(
            "vsetvli t0, zero, e32, ",
            $half,
            ", ta, ma\n",
            "vfmul.vv v16, ",
            $a,
            ", v24\n",
            "vfmul.vv ",
            $second,
            ", ",
            $a,
            ", v28\n",
            "vfnmsac.vv v16, ",
            $b,
            ", v28\n",
            "vfmacc.vv ",
            $second,
            ", ",
            $b,
            ", v24\n",
            "vsetvli t0, zero, e32, ",
            $whole,
            ", ta, ma\n",
            "vse32.v v16, (a6)\n",
            "add a6, a6, a5",
        )
    };
}

/// A function for halves that fill `$half`; the second halves of the two rows and of the result are in the registers that are
/// listed.
macro_rules! rows {
    ($name:ident, $half:literal, $whole:literal, [$even:literal, $odd:literal, $result:literal]) => {
        /// # Safety
        /// The contract of [`Args`] with at least one row, of so many pairs, on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    concat!("vsetvli t0, zero, e32, ", $half, ", ta, ma"),
                    "vle32.v v24, (a1)",
                    "vle32.v v28, (a2)",
                    concat!("vsetvli t0, zero, e32, ", $whole, ", ta, ma"),
                    "vle32.v v0, (a0)",
                    "1:",
                    "addi a3, a3, -1",
                    "add a0, a0, a4",
                    "beqz a3, 2f",
                    "vle32.v v8, (a0)",
                    "2:",
                    turn!($half, $whole, "v0", $even, $result),
                    "beqz a3, 4f",
                    "addi a3, a3, -1",
                    "add a0, a0, a4",
                    "beqz a3, 3f",
                    "vle32.v v0, (a0)",
                    "3:",
                    turn!($half, $whole, "v8", $odd, $result),
                    "bnez a3, 1b",
                    "4:",
                    ".option pop",
                    inout("a0") args.x => _,
                    inout("a6") args.y => _,
                    in("a1") args.cos,
                    in("a2") args.sin,
                    inout("a3") args.rows => _,
                    in("a4") args.x_stride,
                    in("a5") args.y_stride,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

rows!(two_registers, "m1", "m2", ["v1", "v9", "v17"]);
rows!(four_registers, "m2", "m4", ["v2", "v10", "v18"]);
rows!(eight_registers, "m4", "m8", ["v4", "v12", "v20"]);
