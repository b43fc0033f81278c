//! A model of SpacemiT's in-order cores that estimates how long they take for a program.
//!
//! QEMU executes, and the crate `cycles-plugin` tells what: each instruction is [decoded](decode), [expanded](compressed) before where it is
//! compressed, and [issued](scoreboard) on a [core](core) whose registers, units and [memory](memory) keep it waiting. What is
//! between two marks of the program is a [region](report), of which a line is written in the end. `cargo xtask riscv cycles`
//! runs it; `docs/cycles.md` tells how far it is from what was measured on chips.
//!
//! The model knows no instruction fetch and no address translation: loops and their data are small.

#![forbid(unsafe_code)]

pub mod a100;
pub mod branch;
pub mod cache;
pub mod compressed;
pub mod core;
pub mod decode;
pub mod hotspots;
pub mod insn;
pub mod machine;
pub mod memory;
pub mod report;
pub mod scoreboard;
pub mod x60;
