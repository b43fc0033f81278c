//! Instructions on lines of the caches.

use crate::isa::Isa;

/// Bytes of a cache's line.
pub(crate) const LINE: usize = 64;

/// Asks for `data` to come to the first cache, by `prefetch.r` of Zicbop: a hint, which cores without that extension pass over.
#[inline(always)]
pub(crate) fn prefetch<T>(data: &[T]) {
    /// `prefetch.r` of a line and of those behind it, which the base ISA spells `ori`.
    macro_rules! lines {
        ($line:expr, $($immediate:literal),+) => {
            #[cfg(target_arch = "riscv64")]
            // SAFETY: a hint changes nothing and never faults.
            unsafe {
                std::arch::asm!(
                    $(concat!(".insn i 0x13, 6, x0, {line}, ", $immediate),)+
                    line = in(reg) $line,
                    options(nostack, readonly, preserves_flags)
                )
            }
            #[cfg(not(target_arch = "riscv64"))]
            let _ = $line;
        };
    }
    let (mut line, mut bytes) = (data.as_ptr(), size_of_val(data));
    while bytes >= 4 * LINE {
        lines!(line, 1, 65, 129, 193);
        (line, bytes) = (line.wrapping_byte_add(4 * LINE), bytes - 4 * LINE);
    }
    while bytes > 0 {
        lines!(line, 1);
        (line, bytes) = (line.wrapping_byte_add(LINE), bytes.saturating_sub(LINE));
    }
}

/// Lines that a kernel asks for while it computes, so that they are in the first cache when their turn comes: with each group of
/// the depth the one at `from`, and the next one where it has time to, whereupon `from` moves on by `step` bytes. They are hints,
/// for which any address will do.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ahead {
    pub from: *const u8,
    pub step: usize,
}

impl Ahead {
    /// Asks for nothing that is of use.
    pub const NONE: Self = Self { from: std::ptr::null(), step: 0 };

    /// Asks for all of `data` evenly in so many groups, at most a line with each.
    pub(crate) fn evenly<T>(data: &[T], groups: usize) -> Self {
        Self { from: data.as_ptr().cast(), step: size_of_val(data).div_ceil(groups.max(1)) }
    }
}

/// Asks for the line behind the register `$from`, an [`Ahead`]'s, or for two lines, and moves on by the bytes in `$step`.
#[cfg(target_arch = "riscv64")]
macro_rules! ask {
    (two $from:literal by $step:literal) => {
        concat!(".insn i 0x13, 6, x0, ", $from, ", 65\n", ask!($from by $step))
    };
    ($from:literal by $step:literal) => {
        concat!(".insn i 0x13, 6, x0, ", $from, ", 1\n add ", $from, ", ", $from, ", ", $step, "\n")
    };
}

#[cfg(target_arch = "riscv64")]
pub(super) use ask;

/// Makes `rows` rows of `columns` numbers, `stride` numbers apart, zero by `cbo.zero`, which spares their lines being read from
/// memory before all of them is written; does nothing where the core, which has `isa`, cannot, or the rows are not whole lines.
///
/// # Safety
/// The caller may write the columns of each row, and zero bytes are a number. The memory is main memory: others, as
/// scratchpads, need not know the instruction.
pub(crate) unsafe fn zero<T>(isa: Isa, y: *mut T, [rows, columns]: [usize; 2], stride: usize) {
    let (bytes, distance) = (columns * size_of::<T>(), stride * size_of::<T>());
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
