//! The slow obvious loop of every family, in f64 or i64: the oracle of the tests. It shares no code with the kernels.

pub mod attention;
pub mod conv;
pub mod erf;
pub mod matmul;
pub mod norm;
pub mod softmax;
