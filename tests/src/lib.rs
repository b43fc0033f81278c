//! End-to-end tests through stock ONNX Runtime.

/// The Rust code of the README, which has to compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
