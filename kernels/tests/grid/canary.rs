/// Calls `run` and asserts that it leaves the registers alone that the calling convention gives to the caller.
///
/// # Safety
/// The contract of `run`.
#[cfg(not(target_arch = "riscv64"))]
pub unsafe fn call<A>(run: unsafe fn(&A), args: &A) {
    // SAFETY: the caller's promise.
    unsafe { run(args) }
}

/// Calls `run` and asserts that it leaves the registers alone that the calling convention gives to the caller.
///
/// # Safety
/// The contract of `run`.
#[cfg(target_arch = "riscv64")]
pub unsafe fn call<A>(run: unsafe fn(&A), args: &A) {
    macro_rules! saved {
        ($($number:literal)+) => {{
            let changed: usize;
            std::arch::asm!(
                "addi sp, sp, -192",
                $(concat!("sd s", $number, ", 8 * ", $number, "(sp)"),)+
                $(concat!("fsd fs", $number, ", 96 + 8 * ", $number, "(sp)"),)+
                $(concat!("li s", $number, ", 0x5a5a00 + ", $number),)+
                $(concat!("fmv.d.x fs", $number, ", s", $number),)+
                "jalr t0",
                "li a1, 0",
                $(
                    concat!("li t0, 0x5a5a00 + ", $number),
                    concat!("xor t1, t0, s", $number),
                    "or a1, a1, t1",
                    concat!("fmv.x.d t1, fs", $number),
                    "xor t1, t0, t1",
                    "or a1, a1, t1",
                )+
                $(concat!("ld s", $number, ", 8 * ", $number, "(sp)"),)+
                $(concat!("fld fs", $number, ", 96 + 8 * ", $number, "(sp)"),)+
                "addi sp, sp, 192",
                in("a0") args,
                in("t0") run,
                lateout("a1") changed,
                clobber_abi("C"),
            );
            changed
        }};
    }
    // SAFETY: the callee is a Rust function of one pointer, which takes it where C does; the caller answers for `args`. The
    // registers that the assembly changes are saved by it or named.
    let changed = unsafe { saved!(0 1 2 3 4 5 6 7 8 9 10 11) };
    assert_eq!(changed, 0, "bits of the caller's registers that changed");
}
