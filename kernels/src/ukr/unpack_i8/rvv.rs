//! Groups of four registers: v8-v11 are codes, v16-v19 and v24-v27 their low and high halves.

use super::Args;

/// Bytes ahead of those in use that memory is asked for.
const AHEAD: usize = 1024;

/// Asks for memory, a line of 64 bytes after the other, and leaves codes to `$store`, which writes bytes of `y`. A step of
/// `y` is so many bytes longer than one of `x`.
macro_rules! unpack {
    ($args:expr, longer by $longer:expr, $($store:literal),+) => {
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zicbop",
            "beqz a2, 4f",
            "1:",
            "mv t1, a3",
            "beqz t1, 4f",
            "2:",
            "vsetvli t0, t1, e8, m4, ta, ma",
            "vle8.v v8, (a0)",
            "add t2, a0, a5",
            "add a0, a0, t0",
            "add t3, a0, a5",
            "3:",
            "prefetch.r 0(t2)",
            "addi t2, t2, 64",
            "bltu t2, t3, 3b",
            $($store,)+
            "add a1, a1, t0",
            "sub t1, t1, t0",
            "bnez t1, 2b",
            "add a1, a1, a6",
            "addi a2, a2, -1",
            "bnez a2, 1b",
            "4:",
            ".option pop",
            inout("a0") $args.x => _,
            inout("a1") $args.y => _,
            inout("a2") $args.steps => _,
            in("a3") $args.step,
            in("a4") 0xf0usize,
            in("a5") AHEAD,
            in("a6") $longer,
            clobber_abi("C"),
            options(nostack),
        )
    };
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn bits_4(args: &Args) {
    // SAFETY: the assembly touches only what `Args` lends it; asking for memory is a hint.
    unsafe {
        unpack!(
            args,
            longer by args.step,
            "vsll.vi v16, v8, 4",
            "vand.vx v24, v8, a4",
            "add t3, a1, a3",
            "vse8.v v16, (a1)",
            "vse8.v v24, (t3)"
        );
    }
}

/// # Safety
/// The contract of [`Args`], on a core that meets the needs of its row in the table.
pub unsafe fn bits_8(args: &Args) {
    // SAFETY: as above.
    unsafe { unpack!(args, longer by 0usize, "vse8.v v8, (a1)") }
}
