//! Rows come eight at a time: of 32 columns they are four registers in f16.
//!
//! | registers | |
//! |---|---|
//! | v8-v11, v12-v15 | a step: 16 bytes of each column; the first eight bytes of all columns and the last eight |
//! | v16-v23, v0-v7 | eight rows twice in f16, of bytes or low halves and of high halves |
//! | v24-v27, v28-v31 | scale and scaled zero point of each column, eight times each |
//! | v12, v13 | scales and zero points of the next group on their way |
//!
//! A byte `b` below the byte 0x64 is `1024 + b` in f16. Codes are 128 larger there, so that 1152 is subtracted.

use super::Args;

/// Bytes ahead of those in use that memory is asked for: the way of more than four steps.
const AHEAD: usize = 3072;

/// `smt.vpack.vv vd, vs1, vs2`: elements of both sources in turn, in the pair `vd`.
macro_rules! pack {
    ($d:literal, $first:literal, $second:literal) => {
        concat!(".insn r 0x2b, 0, 0x33, x", $d, ", x", $first, ", x", $second, "\n")
    };
}

/// `smt.vupack.vv vd, vs1, vs2`: the elements of both sources, those at even places in `vd`, the others behind it.
macro_rules! separate {
    ($d:literal, $first:literal, $second:literal) => {
        concat!(".insn r 0x2b, 4, 0x33, x", $d, ", x", $first, ", x", $second, "\n")
    };
}

/// Scales in v12 and zero points in v13 as v24-v31.
macro_rules! parameters {
    () => {
        concat!(
            "vsetvli t0, zero, e32, m1, ta, ma\n vfmul.vf v16, v12, f1\n vfmul.vv v17, v13, v16\n",
            "vsetvli t0, zero, e16, m1, ta, ma\n vfncvt.f.f.w v18, v16\n",
            pack!(20, 18, 18),
            "vsetvli t0, zero, e32, m1, ta, ma\n",
            pack!(16, 20, 20),
            pack!(18, 21, 21),
            "vsetvli t0, zero, e64, m1, ta, ma\n",
            pack!(24, 16, 16),
            pack!(26, 17, 17),
            pack!(28, 18, 18),
            pack!(30, 19, 19),
        )
    };
}

/// Bytes in v12-v15 as rows in v16-v23, apart from the 1152. `$high` becomes the high bytes.
macro_rules! widen {
    ($high:literal $($to:literal $from:literal),+) => {
        concat!("vmv.v.x v", $high, ", a6\n", $(pack!($to, $from, $high),)+)
    };
}

/// Codes in v8-v11 as f16, apart from the 1152.
macro_rules! numbers {
    (halves) => {
        concat!(
            "vsetvli t0, zero, e8, m4, ta, ma\n vxor.vx v8, v8, a7\n",
            "vsetvli t0, zero, e64, m1, ta, ma\n",
            separate!(12, 8, 9),
            separate!(14, 10, 11),
            "vsetvli t0, zero, e8, m4, ta, ma\n vsll.vi v8, v12, 4\n vand.vx v12, v12, t6\n",
            "vsetvli t0, zero, e8, m1, ta, ma\n",
            widen!(0 16 8, 18 10, 20 9, 22 11),
            widen!(8 0 12, 2 14, 4 13, 6 15),
        )
    };
    (bytes) => {
        concat!(
            "vsetvli t0, zero, e8, m4, ta, ma\n vxor.vx v8, v8, a7\n",
            "vsetvli t0, zero, e64, m1, ta, ma\n",
            separate!(12, 8, 9),
            separate!(14, 10, 11),
            "vsetvli t0, zero, e8, m1, ta, ma\n",
            widen!(0 16 12, 18 14, 20 13, 22 15),
        )
    };
}

/// Scales and stores the rows in these registers.
macro_rules! rows {
    ($low:literal $high:literal) => {
        concat!(
            "vsetvli t0, zero, e16, m8, ta, ma\n vfsub.vf v",
            $low,
            ", v",
            $low,
            ", f0\n",
            "vsetvli t0, zero, e16, m4, ta, ma\n",
            "vfmsub.vv v",
            $low,
            ", v24, v28\n vfmsub.vv v",
            $high,
            ", v24, v28\n",
            "vs8r.v v",
            $low,
            ", (a1)\n addi a1, a1, 1024\n",
        )
    };
}

/// The kernel for `$args` with codes in `$codes`, which are `$flip` apart from unsigned ones; `$rows` are registers of rows.
macro_rules! kernel {
    ($args:expr, $codes:ident, $flip:literal, $([$($rows:literal)+])+) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh, +zicbop",
            "fmv.w.x f0, t4",
            "vsetvli t0, zero, e32, m1, ta, ma",
            "vl4re8.v v8, (a0)",
            "vl1re32.v v12, (a2)",
            "vmv.v.i v13, 0",
            "beqz a3, 1f",
            "vl1re32.v v13, (a3)",
            "1:",
            parameters!(),
            "addi a4, a4, -1",
            "mv t1, a5",
            "2:",
            "addi t1, t1, -1",
            "add t2, a0, t5",
            "prefetch.r 0(t2)\n prefetch.r 64(t2)\n prefetch.r 128(t2)\n prefetch.r 192(t2)",
            "prefetch.r 256(t2)\n prefetch.r 320(t2)\n prefetch.r 384(t2)\n prefetch.r 448(t2)",
            numbers!($codes),
            "or t2, t1, a4",
            "beqz t2, 3f",
            "addi a0, a0, 512",
            "vl4re8.v v8, (a0)",
            "bnez t1, 3f",
            "addi a2, a2, 128",
            "vl1re32.v v12, (a2)",
            "prefetch.r 1024(a2)\n prefetch.r 1088(a2)",
            "vmv.v.i v13, 0",
            "beqz a3, 3f",
            "addi a3, a3, 128",
            "vl1re32.v v13, (a3)",
            "prefetch.r 1024(a3)\n prefetch.r 1088(a3)",
            "3:",
            $(rows!($($rows)+),)+
            "bnez t1, 2b",
            "bnez a4, 1b",
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
    unsafe { kernel!(args, halves, 0x88, [16 20] [0 4]) }
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn bits_8(args: &Args) {
    // SAFETY: as above.
    unsafe { kernel!(args, bytes, 0x80, [16 20]) }
}
