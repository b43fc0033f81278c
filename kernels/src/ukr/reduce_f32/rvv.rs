//! Two groups of registers take turns with the numbers: the next ones are on their way while those before are folded into lanes.

use super::Args;
use crate::ukr::rounds::{fold, halve};

/// A reduction that works in groups `$group`: `$begin` sets the lanes up, `$even` and `$odd` fold the numbers in `$first` and
/// `$second` into them, `$end` leaves the results in f0 and f1 as f64.
macro_rules! reduction {
    (
        $name:ident, $group:literal, [$first:literal, $second:literal], [$($begin:literal),+],
        [$($even:literal),+], [$($odd:literal),+], [$($end:expr),+]
    ) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    $($begin,)+
                    concat!("vsetvli t0, a1, e32, ", $group, ", ta, ma"),
                    concat!("vle32.v ", $first, ", (a0)"),
                    "1:",
                    "beqz t0, 2f",
                    "sub a1, a1, t0",
                    "slli t2, t0, 2",
                    "add a0, a0, t2",
                    concat!("vsetvli t1, a1, e32, ", $group, ", ta, ma"),
                    concat!("vle32.v ", $second, ", (a0)"),
                    concat!("vsetvli zero, t0, e32, ", $group, ", tu, ma"),
                    $($even,)+
                    "beqz t1, 2f",
                    "sub a1, a1, t1",
                    "slli t2, t1, 2",
                    "add a0, a0, t2",
                    concat!("vsetvli t0, a1, e32, ", $group, ", ta, ma"),
                    concat!("vle32.v ", $first, ", (a0)"),
                    concat!("vsetvli zero, t1, e32, ", $group, ", tu, ma"),
                    $($odd,)+
                    "j 1b",
                    "2:",
                    $($end,)+
                    "fsd f0, 0(a2)",
                    "fsd f1, 8(a2)",
                    ".option pop",
                    inout("a0") args.x => _,
                    inout("a1") args.len => _,
                    in("a2") args.result,
                    in("f10") args.shift,
                    in("f11") f32::INFINITY,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

reduction!(
    extremes,
    "m8",
    ["v24", "v0"],
    ["vsetvli t0, zero, e32, m8, ta, ma", "vfmv.v.f v8, f11", "vfneg.v v16, v8"],
    ["vfmin.vv v8, v8, v24", "vfmax.vv v16, v16, v24"],
    ["vfmin.vv v8, v8, v0", "vfmax.vv v16, v16, v0"],
    [
        fold!("vfmin.vv", "e32", 8, 12, 10, 9),
        "vfredmin.vs v8, v8, v8",
        fold!("vfmax.vv", "e32", 16, 20, 18, 17),
        "vfredmax.vs v16, v16, v16",
        "vfmv.f.s f0, v8",
        "vfmv.f.s f1, v16",
        "fcvt.d.s f0, f0",
        "fcvt.d.s f1, f1"
    ]
);

reduction!(
    greatest,
    "m8",
    ["v24", "v0"],
    ["vsetvli t0, zero, e32, m8, ta, ma", "vfmv.v.f v8, f11", "vfneg.v v8, v8"],
    ["vfmax.vv v8, v8, v24"],
    ["vfmax.vv v8, v8, v0"],
    [
        fold!("vfmax.vv", "e32", 8, 12, 10, 9),
        "vfredmax.vs v8, v8, v8",
        "vfmv.f.s f0, v8",
        "fcvt.d.s f0, f0",
        "fmv.d.x f1, zero"
    ]
);

reduction!(
    moments,
    "m8",
    ["v24", "v0"],
    ["vsetvli t0, zero, e32, m8, ta, ma", "vmv.v.i v8, 0", "vmv.v.i v16, 0"],
    ["vfsub.vf v24, v24, f10", "vfadd.vv v8, v8, v24", "vfmacc.vv v16, v24, v24"],
    ["vfsub.vf v0, v0, f10", "vfadd.vv v8, v8, v0", "vfmacc.vv v16, v0, v0"],
    [
        // Both at once: they wait for one another's time.
        "vsetvli t0, zero, e32, m4, ta, ma\nvfadd.vv v8, v8, v12\nvfadd.vv v16, v16, v20",
        "vsetvli t0, zero, e32, m2, ta, ma\nvfadd.vv v8, v8, v10\nvfadd.vv v16, v16, v18",
        "vsetvli t0, zero, e32, m1, ta, ma\nvfadd.vv v8, v8, v9\nvfadd.vv v16, v16, v17",
        "vmv.s.x v24, zero",
        "vfredusum.vs v8, v8, v24",
        "vfredusum.vs v16, v16, v24",
        "vfmv.f.s f0, v8",
        "vfmv.f.s f1, v16",
        "fcvt.d.s f0, f0",
        "fcvt.d.s f1, f1"
    ]
);

reduction!(
    lane_squares,
    "m8",
    ["v24", "v0"],
    ["vsetvli t0, zero, e32, m8, ta, ma", "vmv.v.i v8, 0"],
    ["vfmacc.vv v8, v24, v24"],
    ["vfmacc.vv v8, v0, v0"],
    [
        fold!("vfadd.vv", "e32", 8, 12, 10, 9),
        "vmv.s.x v24, zero",
        "vfredusum.vs v8, v8, v24",
        "vfmv.f.s f0, v8",
        "fcvt.d.s f0, f0",
        "fmv.d.x f1, zero"
    ]
);

reduction!(
    squares,
    "m4",
    ["v0", "v4"],
    ["vsetvli t0, zero, e64, m8, ta, ma", "vmv.v.i v16, 0"],
    ["vfwmacc.vv v16, v0, v0"],
    ["vfwmacc.vv v16, v4, v4"],
    [
        fold!("vfadd.vv", "e64", 16, 20, 18, 17),
        "vmv.s.x v8, zero",
        "vfredusum.vs v8, v16, v8",
        "vfmv.f.s f0, v8",
        "fmv.d.x f1, zero"
    ]
);

reduction!(
    sum,
    "m4",
    ["v0", "v4"],
    ["vsetvli t0, zero, e64, m8, ta, ma", "vmv.v.i v16, 0"],
    ["vfwadd.wv v16, v16, v0"],
    ["vfwadd.wv v16, v16, v4"],
    [
        fold!("vfadd.vv", "e64", 16, 20, 18, 17),
        "vmv.s.x v8, zero",
        "vfredusum.vs v8, v16, v8",
        "vfmv.f.s f0, v8",
        "fmv.d.x f1, zero"
    ]
);
