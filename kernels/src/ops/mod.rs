//! Drivers: one file per operation. `new()` fixes shapes and strides, `run()` loops.

pub mod strided_copy;
mod walk;
mod width;
