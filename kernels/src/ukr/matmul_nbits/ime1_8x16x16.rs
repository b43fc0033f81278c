//! Eight rows by 16 columns, eight of them at a time: two by two tiles of 4x4x8.
//!
//! | registers | |
//! |---|---|
//! | v0-v7 | sums of a group, a pair of registers a tile: rows 0, 1 and rows 2, 3 |
//! | v8-v15 | `C` in the same order |
//! | v16-v17, v18-v19 | an even step of `A` and of `B`, a register a tile |
//! | v20-v21, v22-v23 | an odd step |
//! | v24-v27, v28-v29 | scales of the rows and of the columns |
//! | v20-v21, v22-v23 | in between: sums of four rows and zero points of the columns |
//! | v30-v31 | `O` |
//!
//! Sums begin at `O = 1.5 * 2^23` in the bits of a float. Up to 2^22 they then are `O + d` as floats without a conversion, and
//! an exact subtraction leaves `d`.
//!
//! Products and floats take turns on one unit, while another loads what comes next: two steps of the next group during the
//! floats, their scales as soon as those of the last group are used. A tile whose sums are in `C` begins its next group while the
//! others are not there yet.

use super::{Args, ime1_four_rows};
use crate::ukr::dot::dot;

const ROWS: usize = 8;
/// Bytes from `C` to that of the next block where 32 columns are multiplied.
const NEXT: usize = ROWS * 32 * size_of::<f32>();

/// Loads a step of eight rows, and asks for the line as far ahead as an instruction can: almost the 256 numbers that a block of the
/// driver has.
macro_rules! rows {
    ($to:literal) => {
        concat!("vl2re8.v v", $to, ", (a1)\n prefetch.r 1984(a1)\n addi a1, a1, 64\n")
    };
}

/// Loads a step of eight columns.
macro_rules! columns {
    ($to:literal) => {
        concat!("vl2re8.v v", $to, ", (a2)\n addi a2, a2, 128\n")
    };
}

/// The products of an odd step, and of the even one that is loaded meanwhile with the next odd one.
macro_rules! two_steps {
    () => {
        concat!(
            rows!(16),
            dot!(6, 21, 23),
            dot!(4, 21, 22),
            dot!(0, 20, 22),
            columns!(18),
            dot!(2, 20, 23),
            rows!(20),
            dot!(4, 17, 18),
            columns!(22),
            dot!(6, 17, 19),
            dot!(2, 16, 19),
            dot!(0, 16, 18),
        )
    };
}

/// `x = d - zero_point * sum` for the sums, which are floats.
macro_rules! zero_points {
    () => {
        concat!(
            "vsetvli t0, zero, e32, m1, ta, ma\n",
            "vl2re32.v v22, (a6)\n addi a6, a6, 128\n",
            "vl2re32.v v20, (a4)\n addi a4, a4, 64\n",
            "vfnmsac.vv v0, v22, v20\n vfnmsac.vv v1, v22, v21\n vfnmsac.vv v2, v23, v20\n vfnmsac.vv v3, v23, v21\n",
            "vl2re32.v v20, (a4)\n addi a4, a4, 64\n",
            "vfnmsac.vv v4, v22, v20\n vfnmsac.vv v5, v22, v21\n vfnmsac.vv v6, v23, v20\n vfnmsac.vv v7, v23, v21\n",
            "vsetvli t0, zero, e32, m2, ta, ma\n",
        )
    };
}

/// Adds the sums of a group to `C`, and begins the next group where there is one, which `next` in front of its parts says.
macro_rules! rescale {
    (next $zero_points:expr) => {
        rescale!(
            $zero_points,
            columns!(18),
            rows!(16),
            columns!(22),
            rows!(20),
            "vmv2r.v v6, v30\n",
            "vmv2r.v v4, v30\n",
            "vl4re32.v v24, (a3)\n prefetch.r 1024(a3)\n prefetch.r 1088(a3)\n addi a3, a3, 128\n",
            "vmv2r.v v2, v30\n",
            dot!(4, 17, 18),
            concat!(
                dot!(6, 17, 19),
                "vmv2r.v v0, v30\n vl2re32.v v28, (a5)\n addi a5, a5, 128\n",
                dot!(2, 16, 19),
                dot!(0, 16, 18),
            )
        )
    };
    (last $zero_points:expr) => {
        rescale!($zero_points, "", "", "", "", "", "", "", "", "", "")
    };
    (
        $zero_points:expr, $b_even:expr, $a_even:expr, $b_odd:expr, $a_odd:expr, $begin_3:expr, $begin_2:expr, $scales:expr,
        $begin_1:expr, $dot:expr, $dots:expr
    ) => {
        concat!(
            "vsetvli t0, zero, e32, m2, ta, ma\n vfsub.vf v6, v6, f0\n",
            $b_even,
            "vfsub.vf v2, v2, f0\n vfsub.vf v4, v4, f0\n",
            $a_even,
            "vfsub.vf v0, v0, f0\n",
            $zero_points,
            "vfmul.vv v6, v6, v26\n vfmul.vv v2, v2, v24\n",
            $b_odd,
            "vfmul.vv v4, v4, v26\n vfmul.vv v0, v0, v24\n vsetvli t0, zero, e32, m1, ta, ma\n",
            $a_odd,
            "vfmacc.vv v15, v7, v29\n vfmacc.vv v14, v6, v29\n",
            $begin_3,
            "vfmacc.vv v13, v5, v28\n vfmacc.vv v12, v4, v28\n vfmacc.vv v10, v2, v29\n",
            $begin_2,
            "vfmacc.vv v11, v3, v29\n",
            $scales,
            "vfmacc.vv v9, v1, v28\n",
            $begin_1,
            $dot,
            "vfmacc.vv v8, v0, v28\n",
            $dots,
        )
    };
}

/// The kernel for eight columns, with the code of `$zero_points`.
macro_rules! kernel {
    ($half:expr, $zero_points:expr) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zicbop",
            "beqz a0, 7f",
            "vsetvli t0, zero, e32, m2, ta, ma",
            "vmv.v.x v30, t6",
            "vmv2r.v v6, v30\n vmv2r.v v4, v30\n vmv2r.v v2, v30\n vmv2r.v v0, v30",
            "fmv.w.x f0, t6",
            concat!(rows!(16), columns!(18), rows!(20), columns!(22)),
            "vsetvli t0, zero, e32, m1, ta, ma",
            concat!(dot!(0, 16, 18), dot!(2, 16, 19), dot!(4, 17, 18), dot!(6, 17, 19)),
            "vl4re32.v v24, (a3)",
            "addi a3, a3, 128",
            "vl2re32.v v28, (a5)",
            "addi a5, a5, 128",
            "addi t3, a7, 256",
            "vl4re32.v v8, (a7)",
            "vl4re32.v v12, (t3)",
            "add t4, a7, t5",
            "prefetch.r 0(t4)\n prefetch.r 64(t4)\n prefetch.r 256(t4)\n prefetch.r 320(t4)",
            "1:",
            "mv t1, t2",
            "beqz t1, 3f",
            "2:",
            two_steps!(),
            "addi t1, t1, -1",
            "bnez t1, 2b",
            "3:",
            "addi a0, a0, -1",
            concat!(dot!(4, 21, 22), dot!(6, 21, 23), dot!(2, 20, 23), dot!(0, 20, 22)),
            "beqz a0, 4f",
            rescale!(next $zero_points),
            "j 1b",
            "4:",
            rescale!(last $zero_points),
            "vs4r.v v8, (a7)",
            "vs4r.v v12, (t3)",
            "7:",
            ".option pop",
            inout("a0") $half.groups => _,
            inout("a1") $half.a => _,
            inout("a2") $half.b => _,
            inout("a3") $half.a_scales => _,
            inout("a4") $half.a_sums => _,
            inout("a5") $half.b_scales => _,
            inout("a6") $half.b_zero_points => _,
            in("a7") $half.c,
            in("t2") $half.k_groups / 2 - 1,
            in("t5") NEXT,
            in("t6") 0x4b40_0000usize,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    if args.rows < ROWS {
        // SAFETY: the caller's promise.
        return unsafe { ime1_four_rows::run(args) };
    }
    for columns in [0, 8] {
        let half = Args {
            b: args.b.wrapping_add(columns * 8),
            b_scales: args.b_scales.wrapping_add(columns * 2),
            b_zero_points: args.b_zero_points.wrapping_add(columns * 2),
            c: args.c.wrapping_add(columns * 4),
            ..*args
        };
        // SAFETY: the assembly touches only what `Args` lends it; asking for memory is a hint.
        unsafe {
            match args.b_zero_points.is_null() {
                true => kernel!(half, ""),
                false => kernel!(half, zero_points!()),
            }
        }
    }
}
