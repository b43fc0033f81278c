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

/// Makes matrix instructions do nothing: no time depends on their results. A core that has them keeps them.
#[cfg(target_arch = "riscv64")]
pub fn pass_over_matrix_instructions() {
    extern "C" fn handler(_signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: with SA_SIGINFO the third argument points to the interrupted thread's context, ours to change.
        unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.__gregs[0] += 4 };
    }
    // SAFETY: all-zero bytes are a valid sigaction, and the handler only changes the program counter.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGILL, &action, std::ptr::null_mut());
    }
}

#[cfg(not(target_arch = "riscv64"))]
pub fn pass_over_matrix_instructions() {}
