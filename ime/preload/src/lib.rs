//! Emulates the matrix instructions in any riscv64 Linux process: `LD_PRELOAD=libime_preload.so`, or
//! `qemu-riscv64 -E LD_PRELOAD=... program`. With IME_COUNTS=FILE, how often each instruction was executed is
//! written to the file, one `mnemonic count` a line, when the process exits.
#![cfg(all(target_arch = "riscv64", target_os = "linux"))]

use std::fmt::Write;

#[used]
// SAFETY: the loader calls the functions in this section once, before the program's own.
#[unsafe(link_section = ".init_array")]
static INITIALISE: extern "C" fn() = initialise;

extern "C" fn initialise() {
    if let Err(error) = ime::emulator::install() {
        eprintln!("ime-preload: {error}");
        return;
    }
    if std::env::var_os("IME_COUNTS").is_some() {
        // SAFETY: the function stays loaded as long as the process.
        unsafe { libc::atexit(write_counts) };
    }
}

extern "C" fn write_counts() {
    let Some(path) = std::env::var_os("IME_COUNTS") else { return };
    let mut lines = String::new();
    for (mnemonic, count) in ime::emulator::counts().filter(|one| one.1 > 0) {
        // Writing to a string does not fail.
        let _ = writeln!(lines, "{mnemonic} {count}");
    }
    if let Err(error) = std::fs::write(&path, lines) {
        eprintln!("ime-preload: cannot write {}: {error}", path.display());
    }
}
