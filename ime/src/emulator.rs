//! Executes the matrix instructions in a process on a riscv64 Linux without them, from the SIGILL handler.
//!
//! [`install`] at the start of a test program, or preload the library of the crate `ime-preload` into any
//! process. Works under QEMU's user mode and on kernels that save the vector registers in the signal frame.
//! What is no matrix instruction goes to the handler installed before; an illegal one is told on stderr and then
//! kills the process by SIGILL, as the core would. The bit MCPM.BF16 has no published CSR: [`set_bf16`] sets it.

mod frame;
mod vector;

use std::fmt;
use std::io::{Error, Write};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libc::{SIGILL, c_int, c_void, siginfo_t, ucontext_t};

use crate::decode::{OPCODE, decode};
use crate::{Control, Core, MNEMONICS, Trap, VRegs, VType, execute};
use vector::VectorState;

/// Why the emulator cannot work here.
#[derive(Debug)]
pub enum InstallError {
    /// The core or the system has no vector extension.
    NoVector,
    /// The vector registers are longer than those of any core with matrix instructions.
    LongRegisters { vlenb: usize },
    /// Setting the handler failed.
    System(Error),
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InstallError::NoVector => write!(f, "this machine has no vector extension"),
            InstallError::LongRegisters { vlenb } => write!(f, "vector registers of {vlenb} bytes are too long"),
            InstallError::System(error) => write!(f, "cannot handle SIGILL: {error}"),
        }
    }
}

impl std::error::Error for InstallError {}

static COUNTS: [AtomicU64; MNEMONICS.len()] = [const { AtomicU64::new(0) }; MNEMONICS.len()];
static BF16: AtomicBool = AtomicBool::new(false);
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler for all threads of the process. More than once does no harm.
pub fn install() -> Result<(), InstallError> {
    // SAFETY: getauxval only reads the process's auxiliary vector.
    let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP) };
    if capabilities & 1 << (b'v' - b'a') == 0 {
        return Err(InstallError::NoVector);
    }
    let vlenb = vector::vlenb();
    if vlenb > Core::MAX_VLENB {
        return Err(InstallError::LongRegisters { vlenb });
    }
    // SAFETY: all-zero bytes are a valid sigaction.
    let mut previous: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    // On the thread's own stack: an alternate one may be too small for two tiles.
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the first call only reads, both pointers are valid for the call, and `PREVIOUS` is set before the
    // handler can run.
    unsafe {
        if libc::sigaction(SIGILL, std::ptr::null(), &mut previous) != 0 {
            return Err(InstallError::System(Error::last_os_error()));
        }
        if previous.sa_sigaction == action.sa_sigaction {
            return Ok(());
        }
        let _ = PREVIOUS.set(previous);
        if libc::sigaction(SIGILL, &action, std::ptr::null_mut()) != 0 {
            return Err(InstallError::System(Error::last_os_error()));
        }
    }
    Ok(())
}

/// How often each instruction was executed so far, in the order of [`MNEMONICS`].
pub fn counts() -> impl Iterator<Item = (&'static str, u64)> {
    MNEMONICS.into_iter().zip(&COUNTS).map(|(mnemonic, count)| (mnemonic, count.load(Ordering::Relaxed)))
}

/// Sets the bit MCPM.BF16 for all threads: 16-bit floats are bfloat16.
pub fn set_bf16(bf16: bool) {
    BF16.store(bf16, Ordering::Relaxed);
}

/// The SIGILL handler. It allocates nothing and takes no lock (but stderr's, before the process ends), and calls
/// nothing that could use vector registers before they are saved.
extern "C" fn handler(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
    let mut live = MaybeUninit::<VectorState>::uninit();
    // SAFETY: `install` checked that the vector extension is there and its registers are not too long.
    let live = unsafe { VectorState::save(&mut live) };
    // SAFETY: with SA_SIGINFO the third argument points to the interrupted thread's context, ours to change.
    let context = unsafe { &mut *context.cast::<ucontext_t>() };
    let pc = context.uc_mcontext.__gregs[0];
    // SAFETY: the signal came from the instruction at pc, so that its first half is readable; the second half of
    // a word is too when the first says that the instruction has four bytes.
    let word = unsafe {
        let halves = pc as *const u16;
        let low = u32::from(halves.read());
        if low & 3 == 3 { low | u32::from(halves.add(1).read()) << 16 } else { low }
    };
    // SAFETY: `context` is the one the kernel passed.
    let state = unsafe { frame::vector_state(context, live.vlenb) };
    let outcome = match state {
        Some(saved) => step(word, saved.vtype, live.vlenb, saved.registers),
        None => step(word, live.vtype, live.vlenb, live.registers()),
    };
    match outcome {
        Ok(()) => context.uc_mcontext.__gregs[0] = pc + 4,
        Err(trap) => {
            if word & 0x7f == OPCODE {
                // A failing stderr leaves nobody to tell.
                let _ = writeln!(std::io::stderr(), "ime: illegal instruction {word:08x} at {pc:#x}: {trap}");
            }
            let previous = PREVIOUS.get().map_or(std::ptr::null(), std::ptr::from_ref);
            // Returning repeats the instruction, now for the handler before.
            // SAFETY: the action was read from the system at installation.
            unsafe { libc::sigaction(SIGILL, previous, std::ptr::null_mut()) };
        }
    }
    // SAFETY: the state was saved in this thread from a core with registers of this length.
    unsafe { live.restore() };
}

/// Executes the instruction `word` on `registers` and counts it.
fn step(word: u32, vtype: u64, vlenb: usize, registers: &mut [u8]) -> Result<(), Trap> {
    let instruction = decode(word)?;
    let mnemonic = instruction.operation.mnemonic();
    let core = Core::with_vlenb(vlenb).ok_or(Trap::Unsupported { mnemonic })?;
    let control = Control { vtype: VType(vtype), bf16: BF16.load(Ordering::Relaxed) };
    execute(core, control, instruction, &mut VRegs::new(core, registers))?;
    COUNTS[instruction.operation.index()].fetch_add(1, Ordering::Relaxed);
    Ok(())
}
