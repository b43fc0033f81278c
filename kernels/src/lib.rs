//! Kernels, packing, threads and memory of the SpacemiT execution provider.
//!
//! The crate knows nothing of ONNX: `ep` decides what runs, this crate runs it. All `unsafe` of the
//! compute path lives here. A [`tape::Tape`] is a checked list of steps; each step is a
//! [`driver::Driver`] that every worker of a [`rt::Team`] enters together.

pub mod driver;
pub mod host;
pub mod isa;
pub mod mem;
pub mod ops;
pub mod pack;
pub mod profile;
pub mod reference;
pub mod rt;
pub mod select;
pub mod sys;
pub mod table;
pub mod tape;
pub mod tcm;
pub mod tensor;
pub mod ukr;
mod vector;

#[cfg(test)]
pub(crate) mod testing;
