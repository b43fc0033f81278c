//! Groups of eight registers in 32 bits: v8-v15 are the largest numbers and then what is stored, v16-v23 numbers on their
//! way, v4 the sum. Numbers without their sign are ordered as their bits are, and those that are not finite come last.

use super::{Args, LEAST, rounds};
use crate::ukr::rounds::register_bytes;

/// Whole rounds of groups that fill registers, then what is left.
///
/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn run(args: &Args) {
    let lanes = register_bytes() / size_of::<f32>();
    let (groups, quantize): (usize, unsafe fn(&Args, usize)) = match args.group {
        group if group == lanes => (4, rounds::four_of_one),
        group if group == 2 * lanes => (2, rounds::two_of_two),
        group if group == 4 * lanes => (2, rounds::two_of_four),
        // SAFETY: the caller's promise.
        _ => return unsafe { rest(args) },
    };
    let round = groups * args.group;
    let count = args.len / round;
    // SAFETY: so many rounds, and the numbers behind them, are what `args` lends.
    unsafe {
        if count > 0 {
            quantize(args, count);
        }
        rest(&Args {
            x: args.x.add(count * round),
            y: args.y.add(count * round),
            scales: args.scales.add(count * groups),
            sums: args.sums.add(count * groups),
            len: args.len - count * round,
            group: args.group,
        });
    }
}

/// Groups one after the other.
///
/// # Safety
/// That of [`run`].
unsafe fn rest(args: &Args) {
    // SAFETY: the assembly touches only the numbers that `Args` lends it.
    unsafe {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 6f",
            "1:",
            "mv t4, a5",
            "bgeu a2, a5, 2f",
            "mv t4, a2",
            "2:",
            "sub a2, a2, t4",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vmv.v.i v8, 0",
            "mv t1, t4",
            "mv t2, a0",
            "3:",
            "vsetvli t0, t1, e32, m8, tu, ma",
            "vle32.v v16, (t2)",
            "vand.vx v16, v16, a6",
            "vmaxu.vv v8, v8, v16",
            "sub t1, t1, t0",
            "slli t3, t0, 2",
            "add t2, t2, t3",
            "bnez t1, 3b",
            "vsetvli t0, zero, e32, m8, ta, ma",
            "vmv.s.x v16, zero",
            "vredmaxu.vs v16, v8, v16",
            "vmv.x.s t3, v16",
            "fmv.w.x f1, t3",
            "fmv.w.x f3, zero",
            "fmv.w.x f2, zero",
            "bltu t3, a7, 4f",
            "fdiv.s f2, f1, f10",
            "fdiv.s f3, f10, f1",
            "bltu t3, t5, 4f",
            // A number that is not finite: infinity less itself.
            "fmv.w.x f2, t5",
            "fsub.s f2, f2, f2",
            "4:",
            "vsetvli t0, zero, e16, m1, ta, ma",
            "vmv.s.x v4, zero",
            "5:",
            "vsetvli t0, t4, e32, m8, ta, ma",
            "vle32.v v8, (a0)",
            "vfmul.vf v8, v8, f3",
            "vfcvt.x.f.v v8, v8",
            "vsetvli zero, zero, e16, m4, ta, ma",
            "vnsrl.wi v16, v8, 0",
            "vsetvli zero, zero, e8, m2, ta, ma",
            "vnsrl.wi v20, v16, 0",
            "vse8.v v20, (a1)",
            "vwredsum.vs v4, v20, v4",
            "sub t4, t4, t0",
            "add a1, a1, t0",
            "slli t3, t0, 2",
            "add a0, a0, t3",
            "bnez t4, 5b",
            "vsetvli t0, zero, e16, m1, ta, ma",
            "vmv.x.s t3, v4",
            "fcvt.s.w f4, t3",
            "fsw f2, 0(a3)",
            "fsw f4, 0(a4)",
            "addi a3, a3, 4",
            "addi a4, a4, 4",
            "bnez a2, 1b",
            "6:",
            ".option pop",
            inout("a0") args.x => _,
            inout("a1") args.y => _,
            inout("a2") args.len => _,
            inout("a3") args.scales => _,
            inout("a4") args.sums => _,
            in("a5") args.group,
            in("a6") 0x7fff_ffffusize,
            in("a7") LEAST.to_bits() as usize,
            in("t5") f32::INFINITY.to_bits() as usize,
            in("f10") 127f32,
            clobber_abi("C"),
            options(nostack),
        );
    }
}
