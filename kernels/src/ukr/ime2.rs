//! What the IME2 kernels of matrix products share: 16 rows by 32 columns in tiles of eight rows by eight columns, two down and
//! four across, whatever the element. One group of a tile is one register.
//!
//! | registers | |
//! |---|---|
//! | v0-v15 | sums, a pair of registers a tile: rows 0-3 and rows 4-7 |
//! | v16-v23 | two groups of `B`, a register a tile; in the end rows of `C` |
//! | v24-v27 | two groups of `A`, a register a tile |
//!
//! Loads are as wide as they get, because on the A100 a load of eight registers costs little more than one.

/// The tiles of `A` that are listed, each as `registers of two groups, register of a last group, sums of rows 0-3, sums of
/// rows 4-7`. `$dot` is the macro of the product, `$two` and `$last` load two groups and one.
macro_rules! tiles_kernel {
    (
        $args:expr, $dot:ident, $two:literal by $two_bytes:literal, $last:literal,
        $([$a0:literal $a1:literal] $a:literal [$c0:literal $c1:literal $c2:literal $c3:literal] [$($high:literal)+]),+
    ) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "vsetvli a7, zero, e8, m8, ta, ma",
            $(concat!("vmv.v.i v", $c0, ", 0"),)+
            "vsetvli a7, zero, e8, m1, ta, ma",
            "li a7, 2",
            "bltu a0, a7, 3f",
            "2:",
            "vl8re8.v v16, (a2)",
            concat!($two, " v24, (a1)"),
            "addi a0, a0, -2",
            "addi a2, a2, 1024",
            concat!("addi a1, a1, ", $two_bytes),
            $($dot!($c0, $a0, 16), $dot!($c1, $a0, 17), $dot!($c2, $a0, 18), $dot!($c3, $a0, 19),)+
            $($dot!($c0, $a1, 20), $dot!($c1, $a1, 21), $dot!($c2, $a1, 22), $dot!($c3, $a1, 23),)+
            "bgeu a0, a7, 2b",
            "3:",
            "beqz a0, 4f",
            "vl4re8.v v16, (a2)",
            concat!($last, " v24, (a1)"),
            $($dot!($c0, $a, 16), $dot!($c1, $a, 17), $dot!($c2, $a, 18), $dot!($c3, $a, 19),)+
            "4:",
            $(
                store_rows!($c0 $c1 $c2 $c3),
                store_rows!($($high)+),
            )+
            ".option pop",
            inout("a0") $args.k_groups => _,
            inout("a1") $args.a => _,
            inout("a2") $args.b => _,
            inout("a3") $args.c => _,
            in("a4") $args.c_stride,
            out("a7") _,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// Stores four rows of four tiles: `smt.vpack.vv` joins rows of eight numbers to rows of 16, and these to rows of 32.
macro_rules! store_rows {
    ($c0:literal $c1:literal $c2:literal $c3:literal) => {
        concat!(
            ".insn r 0x2b, 2, 0x33, x16, x",
            $c0,
            ", x",
            $c1,
            "\n",
            ".insn r 0x2b, 2, 0x33, x18, x",
            $c2,
            ", x",
            $c3,
            "\n",
            ".insn r 0x2b, 3, 0x33, x20, x16, x18\n",
            ".insn r 0x2b, 3, 0x33, x22, x17, x19\n",
            "vs1r.v v20, (a3)\n add a3, a3, a4\n",
            "vs1r.v v21, (a3)\n add a3, a3, a4\n",
            "vs1r.v v22, (a3)\n add a3, a3, a4\n",
            "vs1r.v v23, (a3)\n add a3, a3, a4\n",
        )
    };
}

pub(super) use {store_rows, tiles_kernel};
