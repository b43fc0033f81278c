//! The vector state that Linux saves in the signal frame and restores from there.

use libc::ucontext_t;

/// `RISCV_V_MAGIC` of Linux's asm/sigcontext.h.
const MAGIC: u32 = 0x5346_5457;
/// Bytes before the first extension's header in the union of the floating-point state: `__riscv_extra_ext_header`
/// has 129 words of padding and a reserved one.
const HEADER_OFFSET: usize = 130 * 4;

/// `__riscv_ctx_hdr` and `__riscv_v_ext_state`, one after the other.
#[repr(C)]
struct Extension {
    magic: u32,
    size: u32,
    vstart: u64,
    vl: u64,
    vtype: u64,
    vcsr: u64,
    vlenb: u64,
    data: *mut u8,
}

/// What an instruction needs of the saved state.
pub struct SavedState<'a> {
    pub vtype: u64,
    /// The bytes of v0 to v31.
    pub registers: &'a mut [u8],
}

/// The vector state in the frame, or none when there is none: QEMU leaves these bytes uninitialised, so that
/// only the right magic, the exact size and the right `vlenb` together count, and nothing after is looked at.
///
/// # Safety
/// `context` is what the kernel passed to the running signal handler.
pub unsafe fn vector_state(context: &mut ucontext_t, vlenb: usize) -> Option<SavedState<'_>> {
    let extension =
        (&raw mut context.uc_mcontext.__fpregs).cast::<u8>().wrapping_add(HEADER_OFFSET).cast::<Extension>();
    // SAFETY: magic and size lie inside the floating-point union; the rest is only read when they say that the
    // kernel wrote it there. Reads are through raw pointers, unaligned and volatile, because the bytes may hold
    // anything.
    unsafe {
        let magic = (&raw const (*extension).magic).read_volatile();
        let size = (&raw const (*extension).size).read_volatile();
        if magic != MAGIC || size as usize != size_of::<Extension>() + 32 * vlenb {
            return None;
        }
        let Extension { vtype, vlenb: saved, data, .. } = extension.read_volatile();
        if saved as usize != vlenb || data.is_null() {
            return None;
        }
        Some(SavedState { vtype, registers: std::slice::from_raw_parts_mut(data, 32 * vlenb) })
    }
}
