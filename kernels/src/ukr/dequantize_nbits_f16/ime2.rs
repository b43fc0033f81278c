//! Rows come eight at a time: of 32 columns they are four registers in f16.
//!
//! | registers | |
//! |---|---|
//! | v8-v11, v12-v15 | a step: 16 bytes of each column; the first eight bytes of all columns and the last eight. Of half bytes, low and high ones |
//! | v16-v23, v0-v7 | eight rows twice in f16, of bytes or low halves and of high halves |
//! | v24-v27, v28-v31 | scale and scaled zero point of each column, eight times each |
//! | v16, v17 | scales and zero points of the next group on their way |
//!
//! A byte `b` below the byte 0x64 is `1024 + b` in f16. Codes are 128 larger there, so that 1152 is subtracted. While one half of the
//! rows is scaled, the other half, and then the next step, is put in order by another unit.

use super::Args;
use crate::ukr::ime2_transpose::join;

/// Bytes ahead of those in use that memory is asked for: the way of more than four steps.
const AHEAD: usize = 3072;

/// `smt.vupack.vv vd, vs1, vs2`: the elements of both sources, those at even places in `vd`, the others behind it.
macro_rules! separate {
    ($d:literal, $first:literal, $second:literal) => {
        concat!(".insn r 0x2b, 4, 0x33, x", $d, ", x", $first, ", x", $second, "\n")
    };
}

/// Scales in v16 and zero points in v17 as v24-v31.
macro_rules! parameters {
    () => {
        concat!(
            "vsetvli t0, zero, e32, m1, ta, ma\n vfmul.vf v16, v16, f1\n vfmul.vv v17, v17, v16\n",
            "vsetvli t0, zero, e16, m1, ta, ma\n vfncvt.f.f.w v18, v16\n",
            join!(0 20 = 18 18),
            "vsetvli t0, zero, e32, m1, ta, ma\n",
            join!(0 16 = 20 20),
            join!(0 18 = 21 21),
            "vsetvli t0, zero, e64, m1, ta, ma\n",
            join!(0 24 = 16 16),
            join!(0 26 = 17 17),
            join!(0 28 = 18 18),
            join!(0 30 = 19 19),
        )
    };
}

/// Bytes in v8-v11 without their sign, the first eight of all columns in v12-v13 and the last eight in v14-v15.
macro_rules! columns {
    () => {
        concat!(
            "vsetvli t0, zero, e8, m4, ta, ma\n vxor.vx v8, v8, a7\n",
            "vsetvli t0, zero, e64, m1, ta, ma\n",
            separate!(12, 8, 9),
            separate!(14, 10, 11),
        )
    };
}

/// Bytes as rows of f16, apart from the 1152. `$high` becomes the high bytes.
macro_rules! widen {
    ($high:literal $($to:literal $from:literal),+) => {
        concat!("vsetvli t0, zero, e8, m1, ta, ma\n vmv.v.x v", $high, ", a6\n", $(join!(0 $to = $from $high),)+)
    };
    (halves) => {
        widen!(0 16 8, 18 10, 20 9, 22 11)
    };
    (bytes) => {
        widen!(0 16 12, 18 14, 20 13, 22 15)
    };
}

/// What half bytes take besides.
macro_rules! of_halves {
    (halves $($text:expr),+) => {
        concat!($($text),+)
    };
    (bytes $($text:expr),+) => {
        ""
    };
}

/// The kernel for `$args` with codes in `$codes`, which are `$flip` apart from unsigned ones.
macro_rules! kernel {
    ($args:expr, $codes:ident, $flip:literal) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh, +zicbop",
            "fmv.w.x f0, t4",
            "vsetvli t0, zero, e32, m1, ta, ma",
            "vl4re8.v v8, (a0)",
            "vl1re32.v v16, (a2)",
            "vmv.v.i v17, 0",
            "beqz a3, 1f",
            "vl1re32.v v17, (a3)",
            "1:",
            parameters!(),
            columns!(),
            of_halves!($codes "vsetvli t0, zero, e8, m4, ta, ma\n vsll.vi v8, v12, 4\n vand.vx v12, v12, t6\n"),
            "addi a4, a4, -1",
            "mv t1, a5",
            "2:",
            "addi t1, t1, -1",
            "add t2, a0, t5",
            "prefetch.r 0(t2)\n prefetch.r 64(t2)\n prefetch.r 128(t2)\n prefetch.r 192(t2)",
            "prefetch.r 256(t2)\n prefetch.r 320(t2)\n prefetch.r 384(t2)\n prefetch.r 448(t2)",
            widen!($codes),
            "vsetvli t0, zero, e16, m4, ta, ma\n vfsub.vf v16, v16, f0\n vfsub.vf v20, v20, f0",
            of_halves!($codes widen!(8 0 12, 2 14, 4 13, 6 15)),
            "or t2, t1, a4",
            "beqz t2, 3f",
            "addi a0, a0, 512",
            "vl4re8.v v8, (a0)",
            "3:",
            "vsetvli t0, zero, e16, m4, ta, ma\n vfmsub.vv v16, v24, v28\n vfmsub.vv v20, v24, v28",
            of_halves!($codes "vfsub.vf v0, v0, f0\n vfsub.vf v4, v4, f0\n"),
            "vs8r.v v16, (a1)",
            "addi a1, a1, 1024",
            "bnez t1, 4f",
            "beqz a4, 4f",
            "addi a2, a2, 128",
            "vl1re32.v v16, (a2)",
            "prefetch.r 1024(a2)\n prefetch.r 1088(a2)",
            "vsetvli t0, zero, e32, m1, ta, ma",
            "vmv.v.i v17, 0",
            "beqz a3, 4f",
            "addi a3, a3, 128",
            "vl1re32.v v17, (a3)",
            "prefetch.r 1024(a3)\n prefetch.r 1088(a3)",
            "4:",
            columns!(),
            of_halves!(
                $codes
                "vsetvli t0, zero, e16, m4, ta, ma\n vfmsub.vv v0, v24, v28\n vfmsub.vv v4, v24, v28\n",
                "vsetvli t0, zero, e8, m4, ta, ma\n vsll.vi v8, v12, 4\n vand.vx v12, v12, t6\n",
                "vs8r.v v0, (a1)\n addi a1, a1, 1024\n"
            ),
            "bnez t1, 2b",
            "beqz a4, 5f",
            parameters!(),
            "addi a4, a4, -1",
            "mv t1, a5",
            "j 2b",
            "5:",
            ".option pop",
            inout("a0") $args.x => _,
            inout("a1") $args.y => _,
            inout("a2") $args.scales => _,
            inout("a3") $args.zero_points => _,
            inout("a4") $args.groups => _,
            in("a5") $args.steps,
            in("a6") 0x64usize,
            in("a7") $flip as usize,
            in("f1") $args.factor,
            // 1152, boxed.
            in("t4") 0xffff_6480usize,
            in("t5") AHEAD,
            in("t6") 0xf0usize,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn bits_4(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it; asking for memory is a hint.
    unsafe { kernel!(args, halves, 0x88) }
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn bits_8(args: &Args) {
    // SAFETY: as above.
    unsafe { kernel!(args, bytes, 0x80) }
}
