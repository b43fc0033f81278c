//! Micro-kernels: a folder for each family, named `<op>_<lhs>_<rhs>_<out>`. The contract of a family is written on its
//! `Args`. The innermost loops of the chips live here, and beside them, for each layout, a scalar twin that any machine can
//! run.

pub mod matmul_f32_f32_f32;
pub mod matmul_u8_i8_i32;
