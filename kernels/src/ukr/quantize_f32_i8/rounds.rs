//! Groups that fill one, two or four registers in 32 bits, several in a round: the waits for the largest number of one and for the
//! division by it are spent on the others, and the next round's numbers are on their way.
//!
//! v8 on are numbers, v0 on those of the next round, v16 on magnitudes and later sums, v24 on products and codes in 32 bits.

use super::{Args, LEAST};

/// Makes the factor of a group 0 and its scale 0 or NaN where the largest number, whose bits are `$bits`, is too small or not
/// finite. Changes t1.
macro_rules! without_scale {
    ($bits:literal, $factor:literal, $scale:literal) => {
        concat!(
            "sub t1, ",
            $bits,
            ", a7\n",
            "bltu t1, t5, 3f\n",
            "fmv.w.x ",
            $factor,
            ", zero\n",
            "fmv.w.x ",
            $scale,
            ", zero\n",
            "bltu ",
            $bits,
            ", a7, 3f\n",
            // A number that is not finite: infinity less itself.
            "fsub.s ",
            $scale,
            ", f12, f12\n",
            "3:",
        )
    };
}

/// A function for groups that fill registers as `$group` says; those of a round fill `$all`, with 16 and 8 bits for a number
/// `$half` and `$quarter`. Each group has numbers, magnitudes, products, the bits of its largest number, this number, the factor,
/// the scale, and the place of what is stored in a3 and a4.
///
/// The scale, `max / 127`, is the product with a reciprocal corrected by its remainder, which is the rounded quotient for every
/// number from [`LEAST`] on.
macro_rules! rounds {
    (
        $name:ident, $group:literal, [$all:literal, $half:literal, $quarter:literal], $bytes:literal,
        $([
            $x:literal, $magnitude:literal, $product:literal,
            $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal
        ]),+
    ) => {
        /// Quantises `rounds` rounds, at least one.
        ///
        /// # Safety
        /// The contract of [`Args`] for so many rounds, on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args, rounds: usize) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    concat!("vsetvli t0, zero, e32, ", $all, ", ta, ma"),
                    "vle32.v v8, (a0)",
                    "1:",
                    "addi a2, a2, -1",
                    "slli t2, t0, 2",
                    "add a0, a0, t2",
                    "beqz a2, 2f",
                    "vle32.v v0, (a0)",
                    "2:",
                    "vand.vx v16, v8, a6",
                    concat!("vsetvli t1, zero, e32, ", $group, ", ta, ma"),
                    $(concat!("vredmaxu.vs ", $magnitude, ", ", $magnitude, ", ", $magnitude),)+
                    $(concat!("vmv.x.s ", $bits, ", ", $magnitude),)+
                    $(concat!("fmv.w.x ", $largest, ", ", $bits),)+
                    $(concat!("fdiv.s ", $factor, ", f10, ", $largest),)+
                    $(concat!("fmul.s ", $scale, ", ", $largest, ", f11"),)+
                    $(concat!("fnmsub.s ", $largest, ", ", $scale, ", f10, ", $largest),)+
                    $(concat!("fmadd.s ", $scale, ", ", $largest, ", f11, ", $scale),)+
                    $(without_scale!($bits, $factor, $scale),)+
                    $(concat!("vfmul.vf ", $product, ", ", $x, ", ", $factor),)+
                    concat!("vsetvli t1, zero, e32, ", $all, ", ta, ma"),
                    "vfcvt.x.f.v v24, v24",
                    concat!("vsetvli t1, zero, e32, ", $group, ", ta, ma"),
                    $(concat!("vmv.s.x ", $magnitude, ", zero"),)+
                    $(concat!("vredsum.vs ", $magnitude, ", ", $product, ", ", $magnitude),)+
                    concat!("vsetvli t1, zero, e16, ", $half, ", ta, ma"),
                    "vnsrl.wi v8, v24, 0",
                    concat!("vsetvli t1, zero, e8, ", $quarter, ", ta, ma"),
                    "vnsrl.wi v12, v8, 0",
                    "vse8.v v12, (a1)",
                    concat!("vsetvli t0, zero, e32, ", $all, ", ta, ma"),
                    "vmv.v.v v8, v0",
                    $(concat!("fsw ", $scale, ", ", $at, "(a3)"),)+
                    $(concat!("vmv.x.s ", $bits, ", ", $magnitude),)+
                    $(concat!("fcvt.s.w ", $largest, ", ", $bits),)+
                    $(concat!("fsw ", $largest, ", ", $at, "(a4)"),)+
                    "add a1, a1, t0",
                    concat!("addi a3, a3, ", $bytes),
                    concat!("addi a4, a4, ", $bytes),
                    "bnez a2, 1b",
                    ".option pop",
                    inout("a0") args.x => _,
                    inout("a1") args.y => _,
                    inout("a2") rounds => _,
                    inout("a3") args.scales => _,
                    inout("a4") args.sums => _,
                    in("a6") 0x7fff_ffffusize,
                    in("a7") LEAST.to_bits() as usize,
                    in("t5") (f32::INFINITY.to_bits() - LEAST.to_bits()) as usize,
                    in("f10") 127f32,
                    in("f11") 1.0 / 127f32,
                    in("f12") f32::INFINITY,
                    clobber_abi("C"),
                    options(nostack),
                );
            }
        }
    };
}

rounds!(
    four_of_one,
    "m1",
    ["m4", "m2", "m1"],
    "16",
    ["v8", "v16", "v24", "t3", "f0", "f4", "f14", "0"],
    ["v9", "v17", "v25", "t4", "f1", "f5", "f15", "4"],
    ["v10", "v18", "v26", "t6", "f2", "f6", "f16", "8"],
    ["v11", "v19", "v27", "a5", "f3", "f7", "f17", "12"]
);
rounds!(
    two_of_two,
    "m2",
    ["m4", "m2", "m1"],
    "8",
    ["v8", "v16", "v24", "t3", "f0", "f4", "f14", "0"],
    ["v10", "v18", "v26", "t4", "f1", "f5", "f15", "4"]
);
rounds!(
    two_of_four,
    "m4",
    ["m8", "m4", "m2"],
    "8",
    ["v8", "v16", "v24", "t3", "f0", "f4", "f14", "0"],
    ["v12", "v20", "v28", "t4", "f1", "f5", "f15", "4"]
);
