//! Instructions on lines of the caches.

use crate::isa::Isa;

/// Bytes of a cache's line.
pub(crate) const LINE: usize = 64;

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

/// Makes `rows` rows of `columns` numbers, `stride` numbers apart, zero by `cbo.zero`, which spares their lines being read from
/// memory before all of them is written; does nothing where the core, which has `isa`, cannot, or the rows are not whole lines.
///
/// # Safety
/// The caller may write the columns of each row.
pub(crate) unsafe fn zero(isa: Isa, y: *mut f32, [rows, columns]: [usize; 2], stride: usize) {
    let (bytes, distance) = (columns * size_of::<f32>(), stride * size_of::<f32>());
    let are_lines = [y.addr(), bytes, distance].iter().all(|at| at.is_multiple_of(LINE));
    if !(isa.zeroes_lines && are_lines) || columns == 0 {
        return;
    }
    for row in 0..rows {
        let y = y.wrapping_byte_add(row * distance);
        // SAFETY: the lines are those of the row, which the caller lends, and the core has the instruction for such lines.
        #[cfg(target_arch = "riscv64")]
        unsafe {
            std::arch::asm!(
                ".option push",
                ".option arch, +zicboz",
                "1:",
                "cbo.zero ({line})",
                "addi {line}, {line}, 64",
                "bltu {line}, {end}, 1b",
                ".option pop",
                line = inout(reg) y => _,
                end = in(reg) y.wrapping_byte_add(bytes),
                options(nostack)
            )
        }
        #[cfg(not(target_arch = "riscv64"))]
        let _ = y;
    }
}
