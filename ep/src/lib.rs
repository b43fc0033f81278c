//! The thinking part of the SpacemiT execution provider: what to claim, how to fuse it, how to run it.
//!
//! [`Provider::claim`] decides which nodes of a graph run here, [`Provider::compile`] turns a claimed group into a
//! [`CompiledGroup`], and [`CompiledGroup::begin`] plans and runs it for concrete shapes. A plan is a pure function of
//! graph, shapes and [`Target`]; the crate knows neither ONNX Runtime nor the machine and has no `unsafe`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod claim;
mod dump;
mod error;
mod exec;
pub mod fuse;
pub mod ir;
pub mod onnx;
pub mod ops;
mod options;
pub mod plan;
mod profile;
mod provider;
mod report;
mod target;
#[cfg(test)]
mod testing;
mod workers;

pub use error::Error;
pub use exec::{CompiledGroup, Run};
pub use kernels::isa::Target;
pub use kernels::tape::Argument;
pub use kernels::tensor::{DType, TensorView};
pub use options::{Accuracy, OPTIONS, OptionRow, Options};
pub use profile::{Slice, Slices};
pub use provider::{Claims, Provider};
