/// Bytes of a cache's line.
const LINE: usize = 64;

/// Asks for `data` to come to the first cache, by `prefetch.r` of Zicbop: a hint, which cores without that extension pass over.
#[inline(always)]
pub(crate) fn prefetch<T>(data: &[T]) {
    #[cfg(target_arch = "riscv64")]
    for at in (0..size_of_val(data)).step_by(LINE) {
        let line = data.as_ptr().wrapping_byte_add(at);
        // SAFETY: a hint changes nothing and never faults. This is `prefetch.r 0(line)`, which the base ISA spells `ori`.
        unsafe {
            std::arch::asm!(".insn i 0x13, 6, x0, {}, 1", in(reg) line, options(nostack, readonly, preserves_flags))
        }
    }
    #[cfg(not(target_arch = "riscv64"))]
    let _ = (data, LINE);
}
