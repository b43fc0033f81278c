//! Rows of any width, strip by strip, for any VLEN from 128 on.
//!
//! | registers | |
//! |---|---|
//! | v0 | a strip of the query row |
//! | v8-v15 | sums, a register for each row of a group |
//! | v16-v23 | a strip of these rows; in the end the two halves of the sums |
//! | v24-v31 | the strip as f16 |

use super::Args;

/// Adds neighbours of the eight registers v8-v15, which belong to a row of `x` each, until a number is left of each register; then
/// scales and stores the eight at `t1`. Expects 32 in s5, the bytes of a register in s6, the scale in f10.
macro_rules! halve_and_store {
    () => {
        concat!(
            halve!("vsetvli t0, zero, e32, m4, ta, ma"),
            halve!("vsetvli t0, zero, e32, m2, ta, ma"),
            // Registers of 128 bits are done.
            "srli t0, s6, 2\n li t3, 8\n bltu t0, t3, 32f\n",
            halve!("vsetvli t2, zero, e32, m1, ta, ma"),
            "31:\n beq t0, t3, 32f\n srli t0, t0, 1\n",
            halve!("vsetvli zero, t0, e32, mf2, ta, ma"),
            "j 31b\n",
            "32:\n vsetivli zero, 8, e32, m2, ta, ma\n vfmul.vf v8, v8, f10\n vse32.v v8, (t1)",
        )
    };
}

/// Adds the numbers with odd places to those with even ones; there are as many as `$set` says.
macro_rules! halve {
    ($set:literal) => {
        concat!($set, "\n vnsrl.wi v16, v8, 0\n vnsrl.wx v20, v8, s5\n vfadd.vv v8, v16, v20\n")
    };
}

/// `$load` reads a strip of the row at `t5` to its register, by its number in the group, and `$widen` makes f32 of all eight.
macro_rules! dots {
    ($args:expr, $bytes:literal, [$($load:expr),+], [$($widen:expr),*]) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh",
            "csrr s6, vlenb",
            "li s5, 32",
            "1:",
            "beqz a6, 9f",
            // The lines of the rows that come later.
            "add t0, a0, s4",
            "li t1, 8",
            "2:",
            "mv t2, t0",
            concat!("slli t3, a7, ", $bytes),
            "add t3, t3, t0",
            "3:",
            ".insn i 0x13, 6, x0, t2, 1",
            "addi t2, t2, 64",
            "bltu t2, t3, 3b",
            "add t0, t0, a1",
            "addi t1, t1, -1",
            "bnez t1, 2b",
            "mv s2, a2",
            "mv t1, a3",
            "mv s3, a5",
            "4:",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vmv.v.i v8, 0",
            "mv t4, a0",
            "mv t6, a7",
            "5:",
            // What is beyond the width stays zero.
            "vsetvli t0, t6, e32, m1, tu, ma",
            "vle32.v v0, (s2)",
            "mv t5, t4",
            $($load,)+
            $($widen,)*
            "vfmacc.vv v8, v16, v0",
            "vfmacc.vv v9, v17, v0",
            "vfmacc.vv v10, v18, v0",
            "vfmacc.vv v11, v19, v0",
            "vfmacc.vv v12, v20, v0",
            "vfmacc.vv v13, v21, v0",
            "vfmacc.vv v14, v22, v0",
            "vfmacc.vv v15, v23, v0",
            "slli t2, t0, 2",
            "add s2, s2, t2",
            concat!("slli t2, t0, ", $bytes),
            "add t4, t4, t2",
            "sub t6, t6, t0",
            "bnez t6, 5b",
            halve_and_store!(),
            "add t1, t1, a4",
            "addi s3, s3, -1",
            "bnez s3, 4b",
            "slli t0, a1, 3",
            "add a0, a0, t0",
            "addi a3, a3, 32",
            "addi a6, a6, -1",
            "j 1b",
            "9:",
            ".option pop",
            inout("a0") $args.x => _,
            in("a1") $args.x_stride,
            in("a2") $args.q,
            inout("a3") $args.y => _,
            in("a4") $args.y_stride,
            in("a5") $args.rows,
            inout("a6") $args.groups => _,
            in("a7") $args.width,
            in("s4") $args.ahead,
            in("f10") $args.scale,
            out("s2") _,
            out("s3") _,
            out("s5") _,
            out("s6") _,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`] with at least one query row and column, on a core that meets the needs of its row in the table.
pub unsafe fn f32(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it; a prefetch is a hint.
    unsafe {
        dots!(
            args,
            2,
            [
                "vle32.v v16, (t5)\n add t5, t5, a1",
                "vle32.v v17, (t5)\n add t5, t5, a1",
                "vle32.v v18, (t5)\n add t5, t5, a1",
                "vle32.v v19, (t5)\n add t5, t5, a1",
                "vle32.v v20, (t5)\n add t5, t5, a1",
                "vle32.v v21, (t5)\n add t5, t5, a1",
                "vle32.v v22, (t5)\n add t5, t5, a1",
                "vle32.v v23, (t5)"
            ],
            []
        );
    }
}

/// # Safety
/// That of [`f32`].
pub unsafe fn f16(args: &Args) {
    // SAFETY: as above.
    unsafe {
        dots!(
            args,
            1,
            [
                "vsetvli zero, zero, e16, mf2, tu, ma",
                "vle16.v v24, (t5)\n add t5, t5, a1",
                "vle16.v v25, (t5)\n add t5, t5, a1",
                "vle16.v v26, (t5)\n add t5, t5, a1",
                "vle16.v v27, (t5)\n add t5, t5, a1",
                "vle16.v v28, (t5)\n add t5, t5, a1",
                "vle16.v v29, (t5)\n add t5, t5, a1",
                "vle16.v v30, (t5)\n add t5, t5, a1",
                "vle16.v v31, (t5)"
            ],
            [
                "vfwcvt.f.f.v v16, v24",
                "vfwcvt.f.f.v v17, v25",
                "vfwcvt.f.f.v v18, v26",
                "vfwcvt.f.f.v v19, v27",
                "vfwcvt.f.f.v v20, v28",
                "vfwcvt.f.f.v v21, v29",
                "vfwcvt.f.f.v v22, v30",
                "vfwcvt.f.f.v v23, v31",
                "vsetvli zero, zero, e32, m1, tu, ma"
            ]
        );
    }
}
