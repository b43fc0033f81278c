//! SpacemiT's matrix instructions in plain Rust: IME1 (LLVM's `xsmtvdot`, cores A60 and X100) and IME2
//! (`xsmtvdotii`, core A100), decoded and executed on register bytes.
//!
//! The source is SpacemiT's "AI Matrix Extension Instruction Set", version 0.6. Where its text leaves room, the
//! reading taken is told at the function concerned. A tool of development: the plugin contains none of it.
//!
//! ```
//! use ime::{Control, Core, VRegs, decode, execute};
//!
//! let mut registers = vec![0; 32 * Core::A60.vlenb()];
//! registers[..64].fill(1); // v0: 4 rows of A, v1: 4 columns of B, eight elements each
//! let vmadot = decode(0xe210_382b)?; // smt.vmadot v16, v0, v1, i8
//! execute(Core::A60, Control::default(), vmadot, &mut VRegs::new(Core::A60, &mut registers))?;
//! assert_eq!(registers[16 * 32..16 * 32 + 4], 8i32.to_le_bytes());
//! # Ok::<(), ime::Trap>(())
//! ```

mod control;
mod core;
mod decode;
mod encode;
mod exec;
mod float16;
mod insn;
mod legal;
mod regs;
mod trap;

#[cfg(all(target_arch = "riscv64", target_os = "linux"))]
pub mod emulator;

pub use self::core::Core;
pub use control::{Control, VType};
pub use decode::decode;
pub use exec::execute;
pub use float16::Float16;
pub use insn::{Element, Instruction, MNEMONICS, Operation, PackKind, Signs};
pub use regs::VRegs;
pub use trap::Trap;
