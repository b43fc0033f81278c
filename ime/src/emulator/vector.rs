//! The vector state of the running thread.

use std::arch::{asm, global_asm};
use std::mem::MaybeUninit;

use crate::Core;

/// All vector registers and CSRs, as the assembly below lays them out.
#[repr(C)]
pub struct VectorState {
    pub vstart: u64,
    pub vl: u64,
    pub vtype: u64,
    pub vcsr: u64,
    pub vlenb: usize,
    bytes: [MaybeUninit<u8>; 32 * Core::MAX_VLENB],
}

// Whole-register moves depend on no vtype, and on vstart being 0.
global_asm!(
    r#"
    .option push
    .option arch, +v
ime_save_vector_state:
    csrr t0, vstart
    csrr t1, vl
    csrr t2, vtype
    csrr t3, vcsr
    csrr t4, vlenb
    csrw vstart, zero
    sd   t0, 0(a0)
    sd   t1, 8(a0)
    sd   t2, 16(a0)
    sd   t3, 24(a0)
    sd   t4, 32(a0)
    addi a0, a0, 40
    slli t4, t4, 3
    vs8r.v v0, (a0)
    add  a0, a0, t4
    vs8r.v v8, (a0)
    add  a0, a0, t4
    vs8r.v v16, (a0)
    add  a0, a0, t4
    vs8r.v v24, (a0)
    ret
ime_restore_vector_state:
    ld   t0, 0(a0)
    ld   t1, 8(a0)
    ld   t2, 16(a0)
    ld   t3, 24(a0)
    ld   t4, 32(a0)
    addi a0, a0, 40
    slli t4, t4, 3
    csrw vstart, zero
    vl8re8.v v0, (a0)
    add  a0, a0, t4
    vl8re8.v v8, (a0)
    add  a0, a0, t4
    vl8re8.v v16, (a0)
    add  a0, a0, t4
    vl8re8.v v24, (a0)
    vsetvl zero, t1, t2
    csrw vcsr, t3
    csrw vstart, t0
    ret
    .option pop
"#
);

unsafe extern "C" {
    fn ime_save_vector_state(state: *mut VectorState);
    fn ime_restore_vector_state(state: *const VectorState);
}

/// Bytes of a vector register of this thread. The core has the vector extension, or this is an illegal instruction.
pub fn vlenb() -> usize {
    let bytes;
    // SAFETY: reads a CSR.
    unsafe {
        asm!(".option push", ".option arch, +v", "csrr {0}, vlenb", ".option pop", out(reg) bytes, options(nomem, nostack))
    };
    bytes
}

impl VectorState {
    /// Saves the thread's state into `slot`.
    ///
    /// # Safety
    /// The core has the vector extension, with registers of at most `Core::MAX_VLENB` bytes.
    pub unsafe fn save(slot: &mut MaybeUninit<VectorState>) -> &mut VectorState {
        // SAFETY: the routine writes the five numbers and 32 * vlenb bytes, which the slot has room for; what it
        // leaves is `MaybeUninit`.
        unsafe {
            ime_save_vector_state(slot.as_mut_ptr());
            slot.assume_init_mut()
        }
    }

    /// The bytes of v0 to v31.
    pub fn registers(&mut self) -> &mut [u8] {
        // SAFETY: `save` filled the first 32 * vlenb bytes, at most all.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_mut_ptr().cast(), 32 * self.vlenb) }
    }

    /// Makes the state the thread's own again.
    ///
    /// # Safety
    /// The state was saved on a core with registers of the same length, in this thread.
    pub unsafe fn restore(&self) {
        // SAFETY: the routine reads what `save` wrote.
        unsafe { ime_restore_vector_state(self) }
    }
}
