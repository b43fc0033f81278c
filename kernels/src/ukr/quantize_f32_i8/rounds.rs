//! Groups that fill one, two or four registers in 32 bits, several in a round. While the codes of a round are summed up, the largest
//! numbers of the next round are looked for by another unit, and divided by in a third; the numbers after these are on their way.
//! Each step is made for all groups before the next one, so that none waits for its own result.
//!
//! v0 and v8 on are the numbers of rounds by turns, v16 on magnitudes and sums, v24 on codes.

use super::{Args, LEAST};

/// One of the steps for a group, by its registers and its place in a3 and a4: numbers, codes, magnitudes, sum, the bits of the
/// largest number, this number, the factor, the scale. Changes t1.
macro_rules! step {
    // To label 3 where the largest number has a reciprocal.
    (if scaled $bits:literal) => {
        concat!("sub t1, ", $bits, ", a7\nbltu t1, t5, 3f\n")
    };
    // The codes as floats that are not rounded yet: numbers times the factor, which is 0 without a scale. The scale is `max / 127`:
    // the product with a reciprocal, which the next two steps correct by its remainder.
    (multiply [$x:literal, $codes:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!(
            step!(if scaled $bits),
            "fmv.w.x ", $factor, ", zero\n3:vfmul.vf ", $x, ", ", $x, ", ", $factor, "\n",
            "fmul.s ", $scale, ", ", $largest, ", f11\n",
        )
    };
    // The codes, and the next numbers without their signs.
    (round [$x:literal, $codes:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal], $next:literal) => {
        concat!(
            "vfcvt.x.f.v ", $codes, ", ", $x, "\nvand.vx ", $magnitude, ", ", $next, ", a6\n",
            "fnmsub.s ", $largest, ", ", $scale, ", f10, ", $largest, "\n",
        )
    };
    (largest [$x:literal, $codes:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!("vredmaxu.vs ", $magnitude, ", ", $magnitude, ", ", $magnitude, "\n")
    };
    // The codes as floats. The scale becomes the rounded quotient for every largest number from [`LEAST`] on.
    (float [$x:literal, $codes:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!(
            "vfcvt.f.x.v ", $x, ", ", $codes, "\n",
            "fmadd.s ", $scale, ", ", $largest, ", f11, ", $scale, "\n",
        )
    };
    // Stores the scale: 0 below [`LEAST`], and NaN, infinity less itself, where a number is not finite.
    (scale [$x:literal, $codes:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!(
            step!(if scaled $bits),
            "fmv.w.x ", $scale, ", zero\nbltu ", $bits, ", a7, 3f\nfsub.s ", $scale, ", f12, f12\n",
            "3:fsw ", $scale, ", ", $at, "(a3)\n",
        )
    };
    // The bits of the next largest number.
    (bits [$x:literal, $codes:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!("vmv.s.x ", $sum, ", zero\nvmv.x.s ", $bits, ", ", $magnitude, "\n")
    };
    (sum [$x:literal, $codes:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!("vfredusum.vs ", $sum, ", ", $x, ", ", $sum, "\n")
    };
    // The next factor, 127 over the largest number.
    (divide [$x:literal, $codes:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!("fmv.w.x ", $largest, ", ", $bits, "\nfdiv.s ", $factor, ", f10, ", $largest, "\n")
    };
    // Stores the sum, which is exact in f32.
    (store [$x:literal, $codes:literal, $magnitude:literal, $sum:literal, $bits:literal, $largest:literal, $factor:literal, $scale:literal, $at:literal]) => {
        concat!("vfmv.f.s ", $scale, ", ", $sum, "\nfsw ", $scale, ", ", $at, "(a4)\n")
    };
}

/// The scales and sums of all groups, and the bits of the next largest numbers; each is divided by while the next one is looked
/// for. That of the last group is not divided by yet.
macro_rules! reduce {
    ($only:tt) => {
        concat!(step!(scale $only), step!(bits $only), step!(sum $only))
    };
    ($group:tt $next:tt $($rest:tt)*) => {
        concat!(
            step!(scale $group), step!(bits $group), step!(largest $next), step!(sum $group), step!(divide $group),
            reduce!($next $($rest)*)
        )
    };
}

/// [`step!`] for the first group, or the last one.
macro_rules! one {
    (first $step:ident $first:tt $($rest:tt)*) => {
        step!($step $first)
    };
    (last $step:ident $last:tt) => {
        step!($step $last)
    };
    (last $step:ident $first:tt $($rest:tt)+) => {
        one!(last $step $($rest)+)
    };
}

/// Quantises the numbers in `$x`, whose factors are known, and finds those of the next ones; then what comes after these is loaded
/// by `$load` to where `$x` were. `$of` are the groups with their next numbers.
macro_rules! round {
    ($x:literal, $load:literal, $group:literal, [$half:literal, $quarter:literal], $bytes:literal, $([$of:tt $next:literal])+) => {
        concat!(
            $(step!(multiply $of),)+
            $(step!(round $of, $next),)+
            one!(first largest $($of)+),
            $(step!(float $of),)+
            reduce!($($of)+),
            "addi a2, a2, -1\n",
            "add a0, a0, t2\n",
            // None behind the last two rounds.
            "slti t1, a2, 2\n",
            "bnez t1, 4f\n",
            $load, " ", $x, ", (a0)\n",
            // Hints for lines of later rounds: `prefetch.r`, which the base ISA spells `ori`.
            ".insn i 0x13, 6, x0, a0, 513\n.insn i 0x13, 6, x0, a0, 577\n",
            ".insn i 0x13, 6, x0, a0, 641\n.insn i 0x13, 6, x0, a0, 705\n",
            ".insn i 0x13, 6, x0, a0, 769\n.insn i 0x13, 6, x0, a0, 833\n",
            ".insn i 0x13, 6, x0, a0, 897\n.insn i 0x13, 6, x0, a0, 961\n",
            "4:\n",
            "vsetvli t1, zero, e16, ", $half, ", ta, ma\n",
            "vnsrl.wi v24, v24, 0\n",
            one!(last divide $($of)+),
            "vsetvli t1, zero, e8, ", $quarter, ", ta, ma\n",
            "vnsrl.wi v24, v24, 0\n",
            "vse8.v v24, (a1)\n",
            "vsetvli t1, zero, e32, ", $group, ", ta, ma\n",
            $(step!(store $of),)+
            "add a1, a1, t0\n",
            "addi a3, a3, ", $bytes, "\n",
            "addi a4, a4, ", $bytes,
        )
    };
}

/// A function for groups that fill registers as `$group` says; those of a round fill `$all`, with 16 and 8 bits for a number
/// as `$widths` say, and are loaded by `$load`. Each group has numbers in even and odd rounds and what [`step!`] says.
macro_rules! rounds {
    (
        $name:ident, $group:literal, $all:literal, $widths:tt, $load:literal, $bytes:literal,
        $([$even:literal, $odd:literal, $codes:literal, $magnitude:literal, $($rest:literal),+]),+
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
                    $(step!(largest [$even, $codes, $magnitude, $($rest),+]),)+
                    $(step!(bits [$even, $codes, $magnitude, $($rest),+]),)+
                    $(step!(divide [$even, $codes, $magnitude, $($rest),+]),)+
                    "2:",
                    round!("v8", $load, $group, $widths, $bytes, $([[$even, $codes, $magnitude, $($rest),+] $odd])+),
                    "beqz a2, 5f",
                    round!("v0", $load, $group, $widths, $bytes, $([[$odd, $codes, $magnitude, $($rest),+] $even])+),
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
    ["m2", "m1"],
    "vl4re32.v",
    "16",
    ["v8", "v0", "v24", "v16", "v20", "t3", "f0", "f4", "f14", "0"],
    ["v9", "v1", "v25", "v17", "v21", "t4", "f1", "f5", "f15", "4"],
    ["v10", "v2", "v26", "v18", "v22", "t6", "f2", "f6", "f16", "8"],
    ["v11", "v3", "v27", "v19", "v23", "a5", "f3", "f7", "f17", "12"]
);
rounds!(
    two_of_two,
    "m2",
    "m4",
    ["m2", "m1"],
    "vl4re32.v",
    "8",
    ["v8", "v0", "v24", "v16", "v20", "t3", "f0", "f4", "f14", "0"],
    ["v10", "v2", "v26", "v18", "v22", "t4", "f1", "f5", "f15", "4"]
);
rounds!(
    two_of_four,
    "m4",
    "m8",
    ["m4", "m2"],
    "vl8re32.v",
    "8",
    ["v8", "v0", "v24", "v16", "v17", "t3", "f0", "f4", "f14", "0"],
    ["v12", "v4", "v28", "v20", "v21", "t4", "f1", "f5", "f15", "4"]
);
