//! Loops over two operands of f32, of which one may repeat, in groups of eight registers: v8 is `a`, v16 is `b`; a number that
//! repeats is in f10. The next numbers are on their way while those before are worked on.

/// One form. `$load` brings what advances, `$body` leaves the result in v24 or v0, `$store` stores it and advances a1; t0 has the
/// numbers of a round and t2 four times as many.
macro_rules! rows {
    ($args:expr, $first:expr, $second:expr, $repeated:expr, [$($load:literal),+], [$($body:literal),+], [$($store:literal),+]) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v",
            "beqz a2, 2f",
            "vsetvli t0, a2, e32, m8, ta, ma",
            $($load,)+
            "1:",
            $($body,)+
            "sub a2, a2, t0",
            "slli t2, t0, 2",
            "add a0, a0, t2",
            "add a3, a3, t2",
            "vsetvli t1, a2, e32, m8, ta, ma",
            $($load,)+
            "vsetvli zero, t0, e32, m8, ta, ma",
            $($store,)+
            "mv t0, t1",
            "vsetvli zero, t0, e32, m8, ta, ma",
            "bnez t0, 1b",
            "2:",
            ".option pop",
            inout("a0") $first => _,
            inout("a3") $second => _,
            inout("a1") $args.y => _,
            inout("a2") $args.len => _,
            in("f10") $repeated,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// The three forms of a function: both operands advance, `b` repeats, `a` repeats.
macro_rules! function {
    ($name:ident, $store:tt, $both:tt, $b_repeats:tt, $a_repeats:tt) => {
        /// # Safety
        /// The contract of [`Args`], on a core that meets the needs of its row in the table.
        pub unsafe fn $name(args: &Args) {
            // SAFETY: the assembly touches only the numbers that `Args` lends it, one of an operand that repeats.
            unsafe {
                match (args.a_repeats, args.b_repeats) {
                    (false, false) => {
                        rows!(args, args.a, args.b, 0f32, ["vle32.v v8, (a0)", "vle32.v v16, (a3)"], $both, $store)
                    }
                    (false, true) => rows!(args, args.a, args.a, *args.b, ["vle32.v v8, (a0)"], $b_repeats, $store),
                    (true, _) => rows!(args, args.b, args.b, *args.a, ["vle32.v v8, (a0)"], $a_repeats, $store),
                }
            }
        }
    };
}

pub(super) use {function, rows};
