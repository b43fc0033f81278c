//! Drivers: one file per operation. `new()` fixes shapes and strides, `run()` loops.

pub mod attention;
pub mod concat;
pub mod convert;
pub mod copy;
pub mod cum_sum;
pub mod epilogue;
pub mod eye;
pub mod fill;
pub mod gather;
pub mod gather_elements;
pub mod gather_nd;
mod indices;
pub mod matmul;
pub mod matmul_int;
pub mod one_hot;
pub mod pad;
pub mod quantize;
pub mod range;
mod ranks;
pub mod scatter_elements;
pub mod scatter_nd;
pub mod split;
pub mod strided_copy;
pub mod trilu;
mod walk;
mod width;
