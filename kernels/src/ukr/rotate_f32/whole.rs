//! Rows whose halves fill one, two or four registers: a row, or several of them without gaps, comes and goes as one group, the next one
//! while it is turned, and all rows share the cosines in v24 and the sines in v28. Rows are in v0 and v8 by turns, results in v16.

use super::Args;
use crate::ukr::rounds::register_bytes;

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

/// Turns a group of rows, the halves of which are listed with those of the results; each pair of results is begun before one is ended.
macro_rules! turn_group {
    ($($a:literal $b:literal => $first:literal $second:literal),+) => {
        concat!(
            $("vfmul.vv v", $first, ", v", $a, ", v24\nvfmul.vv v", $second, ", v", $a, ", v28\n",)+
            $("vfnmsac.vv v", $first, ", v", $b, ", v28\nvfmacc.vv v", $second, ", v", $b, ", v24\n",)+
            "vs8r.v v16, (a6)\nadd a6, a6, a5\n",
        )
    };
}

/// A function for as many rows without gaps as fill eight registers, a group after the other: v0 and v8 by turns. `a3` are groups.
macro_rules! groups {
    ($name:ident, $half:literal, [$($even:tt)+], [$($odd:tt)+]) => {
        /// # Safety
        /// The contract of [`Args`] with at least one group of rows of so many pairs without gaps, and no other rows, on a core that
        /// meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            let bytes = 8 * register_bytes();
            // SAFETY: the assembly touches only the numbers that `Args` lends it.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    concat!("vsetvli t0, zero, e32, ", $half, ", ta, ma"),
                    "vl8re32.v v0, (a0)",
                    "vle32.v v24, (a1)",
                    "vle32.v v28, (a2)",
                    "1:",
                    "addi a3, a3, -1",
                    "add a0, a0, a5",
                    "beqz a3, 2f",
                    "vl8re32.v v8, (a0)",
                    "2:",
                    turn_group!($($even)+),
                    "beqz a3, 4f",
                    "addi a3, a3, -1",
                    "add a0, a0, a5",
                    "beqz a3, 3f",
                    "vl8re32.v v0, (a0)",
                    "3:",
                    turn_group!($($odd)+),
                    "bnez a3, 1b",
                    "4:",
                    ".option pop",
                    inout("a0") args.x => _,
                    inout("a6") args.y => _,
                    in("a1") args.cos,
                    in("a2") args.sin,
                    inout("a3") args.rows * args.x_stride / bytes => _,
                    in("a5") bytes,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

groups!(
    groups_of_four,
    "m1",
    [0 1 => 16 17, 2 3 => 18 19, 4 5 => 20 21, 6 7 => 22 23],
    [8 9 => 16 17, 10 11 => 18 19, 12 13 => 20 21, 14 15 => 22 23]
);
groups!(groups_of_two, "m2", [0 2 => 16 18, 4 6 => 20 22], [8 10 => 16 18, 12 14 => 20 22]);
