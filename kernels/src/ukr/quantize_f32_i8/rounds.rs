//! Groups that fill one, two or four registers in 32 bits, several in a round. While the codes of a round are summed up, the largest
//! numbers of the next round are looked for by another unit, and divided by in a third; the numbers after these are on their way.
//!
//! v0 and v8 on are the numbers of rounds by turns, v16 on magnitudes, v24 on codes, v28 on sums.

use super::{Args, LEAST};

/// Goes to label 3 where the largest number of a group, whose bits are `$bits`, has a reciprocal. Changes t1.
macro_rules! if_scaled {
    ($bits:literal) => {
        concat!("sub t1, ", $bits, ", a7\nbltu t1, t5, 3f\n")
    };
}

/// The codes of a group as floats that are not rounded yet: numbers times the factor, which is 0 without a scale.
macro_rules! multiply {
    ([$x:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!(if_scaled!($bits), "fmv.w.x ", $factor, ", zero\n", "3:vfmul.vf ", $x, ", ", $x, ", ", $factor, "\n",)
    };
}

/// Stores the scale of a group, `max / 127`: the product with a reciprocal corrected by its remainder, which is the rounded quotient
/// for every number from [`LEAST`] on; 0 below, and NaN where a number is not finite.
macro_rules! scale {
    ([$x:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!(
            "fmul.s ",
            $scale,
            ", ",
            $largest,
            ", f11\n",
            "fnmsub.s ",
            $largest,
            ", ",
            $scale,
            ", f10, ",
            $largest,
            "\n",
            "fmadd.s ",
            $scale,
            ", ",
            $largest,
            ", f11, ",
            $scale,
            "\n",
            if_scaled!($bits),
            "fmv.w.x ",
            $scale,
            ", zero\n",
            "bltu ",
            $bits,
            ", a7, 3f\n",
            // Infinity less itself.
            "fsub.s ",
            $scale,
            ", f12, f12\n",
            "3:fsw ",
            $scale,
            ", ",
            $at,
            "(a3)\n",
        )
    };
}

/// Sums the codes of a group up and looks for the largest number of the next one.
macro_rules! reduce {
    ([$x:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!(
            "vredmaxu.vs ",
            $magnitude,
            ", ",
            $magnitude,
            ", ",
            $magnitude,
            "\n",
            "vmv.s.x ",
            $sum,
            ", zero\n",
            "vfredusum.vs ",
            $sum,
            ", ",
            $x,
            ", ",
            $sum,
            "\n",
        )
    };
}

/// The factor of a group, 127 over its largest number.
macro_rules! divide {
    ([$x:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!(
            "vmv.x.s ", $bits, ", ", $magnitude, "\n", "fmv.w.x ", $largest, ", ", $bits, "\n", "fdiv.s ", $factor,
            ", f10, ", $largest, "\n",
        )
    };
}

/// Stores the sum of a group, which is exact in f32.
macro_rules! sum {
    ([$x:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!("vfmv.f.s ", $scale, ", ", $sum, "\nfsw ", $scale, ", ", $at, "(a4)\n")
    };
}

/// [`reduce`] for every group, and [`divide`] as soon as that of the next group has begun.
macro_rules! reduce_and_divide {
    (behind $last:tt) => {
        divide!($last)
    };
    (behind $group:tt $next:tt $($rest:tt)*) => {
        concat!(reduce!($next), divide!($group), reduce_and_divide!(behind $next $($rest)*))
    };
    ($first:tt $($rest:tt)*) => {
        concat!(reduce!($first), reduce_and_divide!(behind $first $($rest)*))
    };
}

/// Quantises the numbers in `$x`, whose factors are known, and finds those of the numbers in `$next`; then what comes after these
/// goes to where `$x` were.
macro_rules! round {
    ($x:literal, $next:literal, $group:literal, [$all:literal, $half:literal, $quarter:literal], $bytes:literal, $($of:tt)+) => {
        concat!(
            "vsetvli t1, zero, e32, ", $group, ", ta, ma\n",
            $(multiply!($of),)+
            "vsetvli t0, zero, e32, ", $all, ", ta, ma\n",
            "vfcvt.x.f.v v24, ", $x, "\n",
            "vfcvt.f.x.v ", $x, ", v24\n",
            "vsetvli t1, zero, e16, ", $half, ", ta, ma\n",
            "vnsrl.wi v24, v24, 0\n",
            "vsetvli t1, zero, e8, ", $quarter, ", ta, ma\n",
            "vnsrl.wi v24, v24, 0\n",
            $(scale!($of),)+
            "vse8.v v24, (a1)\n",
            "vsetvli t0, zero, e32, ", $all, ", ta, ma\n",
            "vand.vx v16, ", $next, ", a6\n",
            "vsetvli t1, zero, e32, ", $group, ", ta, ma\n",
            reduce_and_divide!($($of)+),
            "addi a2, a2, -1\n",
            "add a0, a0, t2\n",
            "vsetvli t0, zero, e32, ", $all, ", ta, ma\n",
            // None behind the last two rounds.
            "slti t1, a2, 2\n",
            "bnez t1, 4f\n",
            "vle32.v ", $x, ", (a0)\n",
            // Hints for lines of later rounds: `prefetch.r`, which the base ISA spells `ori`.
            ".insn i 0x13, 6, x0, a0, 513\n.insn i 0x13, 6, x0, a0, 577\n",
            ".insn i 0x13, 6, x0, a0, 641\n.insn i 0x13, 6, x0, a0, 705\n",
            ".insn i 0x13, 6, x0, a0, 769\n.insn i 0x13, 6, x0, a0, 833\n",
            ".insn i 0x13, 6, x0, a0, 897\n.insn i 0x13, 6, x0, a0, 961\n",
            "4:\n",
            $(sum!($of),)+
            "add a1, a1, t0\n",
            "addi a3, a3, ", $bytes, "\n",
            "addi a4, a4, ", $bytes,
        )
    };
}

/// A function for groups that fill registers as `$group` says; those of a round fill `$all`, with 16 and 8 bits for a number
/// `$half` and `$quarter`. Each group has numbers in even and odd rounds, magnitudes, sums, the bits of its largest number, this
/// number, the factor, the scale, and the place of what is stored in a3 and a4.
macro_rules! rounds {
    (
        $name:ident, $group:literal, $all:literal, $widths:tt, $bytes:literal,
        $([$even:literal, $odd:literal, $magnitude:literal, $($rest:literal),+]),+
    ) => {
        /// Quantises `rounds` rounds, at least one.
        ///
        /// # Safety
        /// The contract of [`Args`] for so many rounds, on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args, rounds: usize) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it; hints may be for any line.
            unsafe {
                std::arch::asm!(
                    ".option push",
                    ".option arch, +v",
                    concat!("vsetvli t0, zero, e32, ", $all, ", ta, ma"),
                    "slli t2, t0, 2",
                    "vle32.v v8, (a0)",
                    "vand.vx v16, v8, a6",
                    "addi t1, a2, -1",
                    "add a0, a0, t2",
                    "beqz t1, 1f",
                    "vle32.v v0, (a0)",
                    "1:",
                    concat!("vsetvli t1, zero, e32, ", $group, ", ta, ma"),
                    $(concat!("vredmaxu.vs ", $magnitude, ", ", $magnitude, ", ", $magnitude),)+
                    $(divide!([$even, $magnitude, $($rest),+]),)+
                    "2:",
                    round!("v8", "v0", $group, $widths, $bytes, $([$even, $magnitude, $($rest),+])+),
                    "beqz a2, 5f",
                    round!("v0", "v8", $group, $widths, $bytes, $([$odd, $magnitude, $($rest),+])+),
                    "bnez a2, 2b",
                    "5:",
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
    "m4",
    ["m4", "m2", "m1"],
    "16",
    ["v8", "v0", "v16", "v28", "t3", "f0", "f4", "f14", "0"],
    ["v9", "v1", "v17", "v29", "t4", "f1", "f5", "f15", "4"],
    ["v10", "v2", "v18", "v30", "t6", "f2", "f6", "f16", "8"],
    ["v11", "v3", "v19", "v31", "a5", "f3", "f7", "f17", "12"]
);
rounds!(
    two_of_two,
    "m2",
    "m4",
    ["m4", "m2", "m1"],
    "8",
    ["v8", "v0", "v16", "v28", "t3", "f0", "f4", "f14", "0"],
    ["v10", "v2", "v18", "v30", "t4", "f1", "f5", "f15", "4"]
);
rounds!(
    two_of_four,
    "m4",
    "m8",
    ["m8", "m4", "m2"],
    "8",
    ["v8", "v0", "v16", "v28", "t3", "f0", "f4", "f14", "0"],
    ["v12", "v4", "v20", "v30", "t4", "f1", "f5", "f15", "4"]
);
