//! Marks for the plugin of the crate `cycles`, which are hints without effect.

macro_rules! mark {
    ($number:literal) => {
        #[cfg(target_arch = "riscv64")]
        // SAFETY: a hint changes nothing; memory counts as touched, so that work stays on its side of the mark.
        unsafe {
            std::arch::asm!(concat!("xori zero, zero, ", $number), options(nostack))
        }
    };
}

pub fn begin() {
    mark!(1);
}

pub fn end() {
    mark!(2);
}

pub fn empty_l1() {
    mark!(3);
}

pub fn empty_caches() {
    mark!(4);
}

/// Tells where the scratchpad is.
pub fn scratchpad(block: &[u8]) {
    #[cfg(target_arch = "riscv64")]
    // SAFETY: as for `mark`.
    unsafe {
        std::arch::asm!("xori zero, zero, 6", in("a0") block.as_ptr(), in("a1") block.len(), options(nostack));
    }
    #[cfg(not(target_arch = "riscv64"))]
    let _ = block;
}

/// Tells the instructions for which `lui zero, INDEX` stands.
#[cfg(target_arch = "riscv64")]
pub fn stand_ins(words: &[u32]) {
    // SAFETY: as for `mark`.
    unsafe {
        std::arch::asm!("xori zero, zero, 5", in("a0") words.as_ptr(), in("a1") words.len(), options(nostack));
    }
}
