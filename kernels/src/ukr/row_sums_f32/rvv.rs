//! Strips of two registers, for any VLEN from 128 on.
//!
//! | registers | |
//! |---|---|
//! | v8-v23 | sums of up to eight rows |
//! | v24-v25, v26-v27 | a strip of a row of `x` and of the next one |
//! | v28 | a strip as f16 |
//!
//! A row arrives while the one before is multiplied.

use super::Args;

/// `$even` and `$odd` read the strip at `t2` to its registers. Sums are named for each row of `y`, and the weights of a row of `x` and
/// of the next one.
macro_rules! sums {
    ($args:expr, $bytes:literal, [$even:expr, $odd:expr], $($sum:literal $weight:literal $next:literal),+) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh",
            "slli a7, a6, 2",
            "1:",
            "beqz a6, 9f",
            "vsetvli t0, a6, e32, m2, ta, ma",
            "mv t1, a5",
            $(concat!("vle32.v ", $sum, ", (t1)\n add t1, t1, a7"),)+
            "mv t2, a2",
            "mv t3, a0",
            "mv t4, a4",
            // Whether a strip has more lines than one, and than two.
            concat!("slli t6, t0, ", $bytes),
            "sltiu s3, t6, 65",
            "sltiu s4, t6, 129",
            $even,
            weights!($($weight)+),
            "2:",
            "addi t4, t4, -1",
            "beqz t4, 4f",
            "add t2, t2, a3",
            $odd,
            weights!($($next)+),
            $(concat!("vfmacc.vf ", $sum, ", ", $weight, ", v24"),)+
            prefetch!(),
            "addi t4, t4, -1",
            "beqz t4, 5f",
            "add t2, t2, a3",
            $even,
            weights!($($weight)+),
            $(concat!("vfmacc.vf ", $sum, ", ", $next, ", v26"),)+
            prefetch!(),
            "j 2b",
            "4:",
            $(concat!("vfmacc.vf ", $sum, ", ", $weight, ", v24"),)+
            prefetch!(),
            "j 6f",
            "5:",
            $(concat!("vfmacc.vf ", $sum, ", ", $next, ", v26"),)+
            prefetch!(),
            "6:",
            "mv t1, a5",
            $(concat!("vse32.v ", $sum, ", (t1)\n add t1, t1, a7"),)+
            "add a2, a2, t6",
            "slli t1, t0, 2",
            "add a5, a5, t1",
            "sub a6, a6, t0",
            "j 1b",
            "9:",
            ".option pop",
            in("a0") $args.weights,
            in("a1") $args.weights_stride,
            inout("a2") $args.x => _,
            in("a3") $args.x_stride,
            in("a4") $args.count,
            inout("a5") $args.y => _,
            inout("a6") $args.width => _,
            in("s2") $args.ahead,
            out("s3") _,
            out("s4") _,
            out("a7") _,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// Reads the weights of a row of `x`, one for each row of `y`.
macro_rules! weights {
    ($($weight:literal)+) => {
        concat!("mv t1, t3\n", $("flw ", $weight, ", (t1)\n add t1, t1, a1\n",)+ "addi t3, t3, 4")
    };
}

/// Asks for the lines of the strip of a later row, four at most.
macro_rules! prefetch {
    () => {
        "add t1, t2, s2\n .insn i 0x13, 6, x0, t1, 1\n bnez s3, 7f\n .insn i 0x13, 6, x0, t1, 65\n bnez s4, 7f\n \
         .insn i 0x13, 6, x0, t1, 129\n .insn i 0x13, 6, x0, t1, 193\n 7:"
    };
}

macro_rules! rows {
    ($args:expr, $bytes:literal, $loads:tt) => {
        match $args.rows {
            1 => sums!($args, $bytes, $loads, "v8" "f0" "f10"),
            2 => sums!($args, $bytes, $loads, "v8" "f0" "f10", "v10" "f1" "f11"),
            3 => sums!($args, $bytes, $loads, "v8" "f0" "f10", "v10" "f1" "f11", "v12" "f2" "f12"),
            4 => sums!($args, $bytes, $loads, "v8" "f0" "f10", "v10" "f1" "f11", "v12" "f2" "f12", "v14" "f3" "f13"),
            5 => sums!($args, $bytes, $loads, "v8" "f0" "f10", "v10" "f1" "f11", "v12" "f2" "f12", "v14" "f3" "f13", "v16" "f4" "f14"),
            6 => sums!($args, $bytes, $loads, "v8" "f0" "f10", "v10" "f1" "f11", "v12" "f2" "f12", "v14" "f3" "f13", "v16" "f4" "f14", "v18" "f5" "f15"),
            7 => sums!($args, $bytes, $loads, "v8" "f0" "f10", "v10" "f1" "f11", "v12" "f2" "f12", "v14" "f3" "f13", "v16" "f4" "f14", "v18" "f5" "f15", "v20" "f6" "f16"),
            _ => sums!($args, $bytes, $loads, "v8" "f0" "f10", "v10" "f1" "f11", "v12" "f2" "f12", "v14" "f3" "f13", "v16" "f4" "f14", "v18" "f5" "f15", "v20" "f6" "f16", "v22" "f7" "f28"),
        }
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn f32(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it; a prefetch is a hint.
    unsafe { rows!(args, 2, ["vle32.v v24, (t2)", "vle32.v v26, (t2)"]) }
}

/// Widens the strip to `$to`.
macro_rules! halves {
    ($to:literal) => {
        concat!(
            "vsetvli zero, zero, e16, m1, ta, ma\n vle16.v v28, (t2)\n vfwcvt.f.f.v ",
            $to,
            ", v28\n vsetvli zero, zero, e32, m2, ta, ma"
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn f16(args: &Args) {
    // SAFETY: as above.
    unsafe { rows!(args, 1, [halves!("v24"), halves!("v26")]) }
}
