//! The boundary to ONNX Runtime: what crosses it, and what happens when something is wrong.

mod bad_models;
mod options;
mod readme;
mod subgraphs;
mod threads;
mod values;
