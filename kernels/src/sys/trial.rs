//! Whether a core executes a matrix instruction, found out by executing one.
//!
//! Neither `riscv_hwprobe` nor the ISA string tells, and on a core without the instruction it raises SIGILL. The trial
//! runs in a forked child: it inherits the thread's CPU mask and class of core, and the process's signal handlers. No
//! handler is changed, which other threads could see, and one that emulates the instructions is asked like the
//! hardware would be.

use std::io;
use std::time::{Duration, Instant};

/// An instruction that tells which matrix extension a core has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixTrial {
    /// `smt.vmadot v16, v0, v4`
    Ime1,
    /// `smt.vfwmadot v16, v2, v4`, which IME1 lacks.
    Ime2,
}

/// A trial takes microseconds; a child that is still there after this time does not count as having the instruction.
const LIMIT: Duration = Duration::from_secs(5);

/// Whether the core under the calling thread executes the instruction. The calling thread must not move to another
/// kind of core meanwhile, and its core must have the V extension.
///
/// # Errors
/// The system refuses a child.
pub fn executes(trial: MatrixTrial) -> io::Result<bool> {
    match trial {
        MatrixTrial::Ime1 => survives(ime1),
        MatrixTrial::Ime2 => survives(ime2),
    }
}

#[cfg(target_arch = "riscv64")]
macro_rules! matrix_instruction {
    ($name:ident, $word:literal) => {
        fn $name() {
            // SAFETY: runs in a child that only exits afterwards; the registers written are declared.
            unsafe {
                std::arch::asm!(
                    ".option push", ".option arch, +v",
                    "vsetvli {scratch}, zero, e8, m1, ta, ma",
                    concat!(".4byte ", $word),
                    ".option pop",
                    scratch = out(reg) _, out("v16") _, out("v17") _, options(nomem, nostack)
                );
            }
        }
    };
}
#[cfg(target_arch = "riscv64")]
matrix_instruction!(ime1, "0xe240382b");
#[cfg(target_arch = "riscv64")]
matrix_instruction!(ime2, "0x9e41482b");

#[cfg(not(target_arch = "riscv64"))]
use illegal as ime1;
#[cfg(not(target_arch = "riscv64"))]
use illegal as ime2;

/// What a matrix instruction is to other processors.
#[cfg(not(target_arch = "riscv64"))]
fn illegal() {
    // SAFETY: ends the child that runs it, by a signal as an unknown instruction does.
    unsafe { libc::syscall(libc::SYS_kill, libc::syscall(libc::SYS_getpid), libc::SIGILL) };
}

/// Whether `attempt` returns when a child runs it.
fn survives(attempt: fn()) -> io::Result<bool> {
    // Without an exit signal neither a SIGCHLD handler nor a `wait` of the application sees the child. QEMU's user mode
    // knows children with SIGCHLD only.
    let child = fork(0).or_else(|_| fork(libc::SIGCHLD))?;
    if child == 0 {
        // Only system calls from here on: any lock may be held by a thread that the child does not have.
        // SAFETY: the calls take numbers. Not dumpable: SIGILL leaves no core file.
        unsafe {
            libc::syscall(libc::SYS_prctl, libc::PR_SET_DUMPABLE as usize, 0usize, 0usize, 0usize, 0usize);
            attempt();
            libc::syscall(libc::SYS_exit_group, 0usize);
        }
        unreachable!("exit_group does not return");
    }
    wait(child)
}

/// Forks without the handlers of `pthread_atfork`, which may belong to anybody; the child gets 0.
fn fork(exit_signal: i32) -> io::Result<i32> {
    // SAFETY: no flag shares memory, so that the child goes on in a copy; the remaining arguments are unused.
    match unsafe { libc::syscall(libc::SYS_clone, i64::from(exit_signal), 0i64, 0i64, 0i64, 0i64) } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(child as i32),
    }
}

/// Whether the child ends well in time. It is gone afterwards.
fn wait(child: i32) -> io::Result<bool> {
    let deadline = Instant::now() + LIMIT;
    let mut status = 0;
    let mut options = libc::__WALL | libc::WNOHANG;
    loop {
        // SAFETY: `status` is valid for the call, and nobody else knows of the child.
        match unsafe { libc::waitpid(child, &mut status, options) } {
            0 if Instant::now() < deadline => std::thread::sleep(Duration::from_micros(100)),
            0 => {
                // SAFETY: as above; the child was not waited for yet, so the id is still its own.
                unsafe { libc::kill(child, libc::SIGKILL) };
                options = libc::__WALL;
            }
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(io::Error::last_os_error()),
            _ => return Ok(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_returns_survives_and_one_that_traps_does_not() {
        let handler = || {
            // SAFETY: all-zero bytes are a sigaction, and the call only reads the current one into it.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGILL, std::ptr::null(), &mut action);
                action.sa_sigaction
            }
        };
        let before = handler();
        assert!(survives(|| {}).unwrap());
        #[cfg(not(target_arch = "riscv64"))]
        {
            assert!(!survives(illegal).unwrap());
            assert!(!executes(MatrixTrial::Ime1).unwrap() && !executes(MatrixTrial::Ime2).unwrap());
        }
        assert_eq!(handler(), before);
    }
}
