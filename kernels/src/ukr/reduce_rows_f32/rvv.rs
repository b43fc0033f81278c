//! Groups of four registers, v16 and v20 by turns; v8 and v12 are the lanes of a row's results, v28 and v29 the results of the row
//! before, which are read when this row's numbers are through.

use super::Args;
use crate::ukr::rounds::halve;

/// `$begin` sets v8 and v12 up, `$even` and `$odd` fold the numbers in v16 and v20 into them; `$fold` leaves the results in v28 and v29.
macro_rules! reduction {
    ($name:ident, $begin:literal, $even:literal, $odd:literal, [$($fold:expr),+]) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    "vsetvli t0, zero, e32, m1, ta, ma",
                    "vmv.v.i v24, 0",
                    "vmv.v.i v28, 0",
                    "vmv.v.i v29, 0",
                    // There is no row before the first one, whose results take the place of what is stored for it.
                    "mv t5, a4",
                    "1:",
                    "mv t3, a0",
                    "mv t4, a3",
                    "flw f10, 0(a0)",
                    "vsetvli t0, a3, e32, m4, ta, ma",
                    "vle32.v v16, (t3)",
                    "vsetvli t1, zero, e32, m4, ta, ma",
                    $begin,
                    "2:",
                    "sub t4, t4, t0",
                    "slli t2, t0, 2",
                    "add t3, t3, t2",
                    "vsetvli t1, t4, e32, m4, ta, ma",
                    "vle32.v v20, (t3)",
                    "vsetvli zero, t0, e32, m4, tu, ma",
                    $even,
                    "beqz t1, 3f",
                    "sub t4, t4, t1",
                    "slli t2, t1, 2",
                    "add t3, t3, t2",
                    "vsetvli t0, t4, e32, m4, ta, ma",
                    "vle32.v v16, (t3)",
                    "vsetvli zero, t1, e32, m4, tu, ma",
                    $odd,
                    "bnez t0, 2b",
                    "3:",
                    "vfmv.f.s f0, v28",
                    "vfmv.f.s f1, v29",
                    $($fold,)+
                    "fsw f0, 0(t5)",
                    "fsw f1, 4(t5)",
                    "mv t5, a4",
                    "addi a4, a4, 8",
                    "add a0, a0, a1",
                    "addi a2, a2, -1",
                    "bnez a2, 1b",
                    "vfmv.f.s f0, v28",
                    "vfmv.f.s f1, v29",
                    "fsw f0, 0(t5)",
                    "fsw f1, 4(t5)",
                    ".option pop",
                    inout("a0") args.x => _,
                    in("a1") args.x_stride,
                    inout("a2") args.rows => _,
                    in("a3") args.len,
                    inout("a4") args.results => _,
                    in("f11") f32::NEG_INFINITY,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

reduction!(
    greatest,
    "vfmv.v.f v8, f11",
    "vfmax.vv v8, v8, v16",
    "vfmax.vv v8, v8, v20",
    [halve!("vfmax.vv", "e32", "m2", 8, 10), halve!("vfmax.vv", "e32", "m1", 8, 9), "vfredmax.vs v28, v8, v8"]
);

reduction!(
    moments,
    "vmv.v.i v8, 0\nvmv.v.i v12, 0",
    "vfsub.vf v16, v16, f10\nvfadd.vv v8, v8, v16\nvfmacc.vv v12, v16, v16",
    "vfsub.vf v20, v20, f10\nvfadd.vv v8, v8, v20\nvfmacc.vv v12, v20, v20",
    [
        "vsetvli t0, zero, e32, m2, ta, ma\nvfadd.vv v8, v8, v10\nvfadd.vv v12, v12, v14",
        "vsetvli t0, zero, e32, m1, ta, ma\nvfadd.vv v8, v8, v9\nvfadd.vv v12, v12, v13",
        "vfredusum.vs v28, v8, v24",
        "vfredusum.vs v29, v12, v24"
    ]
);

reduction!(
    squares,
    "vmv.v.i v12, 0",
    "vfmacc.vv v12, v16, v16",
    "vfmacc.vv v12, v20, v20",
    [halve!("vfadd.vv", "e32", "m2", 12, 14), halve!("vfadd.vv", "e32", "m1", 12, 13), "vfredusum.vs v29, v12, v24"]
);
