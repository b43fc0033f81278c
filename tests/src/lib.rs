//! What the end-to-end tests share: small ONNX models, and stock ONNX Runtime with the plugin registered.
//!
//! `ORT_DYLIB_PATH` names ONNX Runtime's library and `SPACEMIT_EP_LIBRARY` the plugin's.

pub mod onnx;

use std::sync::OnceLock;

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};

/// Name of the provider.
pub const EP_NAME: &str = "Spacemit";

/// The value of an environment variable that the tests cannot do without.
pub fn required(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set; `cargo xtask test` sets it"))
}

/// Path of the plugin library.
pub fn library() -> String {
    required("SPACEMIT_EP_LIBRARY")
}

/// The process's ONNX Runtime, with the plugin registered as `Spacemit`.
pub fn environment() -> &'static Environment {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| {
        let loaded = ort::init_from(required("ORT_DYLIB_PATH")).expect("ONNX Runtime loads");
        let environment = loaded.build().expect("an environment");
        environment.register_ep_library(EP_NAME, library()).expect("the plugin registers");
        environment
    })
}

/// A session builder on our device, with options of the provider.
pub fn builder(options: &[(&str, &str)]) -> ort::Result<SessionBuilder> {
    let environment = environment();
    let devices = environment.devices().filter(|device| device.ep().is_ok_and(|name| name == EP_NAME)).take(1);
    let options: Vec<_> = options.iter().map(|(key, value)| (format!("{EP_NAME}.{key}"), value.to_string())).collect();
    Ok(Session::builder(environment)?.with_devices(devices, Some(&options))?)
}

/// A session all of whose nodes run on our provider; creation fails if one does not.
pub fn session(model: &[u8]) -> ort::Result<Session> {
    builder(&[])?.with_disable_cpu_fallback()?.commit_from_memory(model)
}

/// A session on ONNX Runtime's own CPU provider, unoptimised: the reference.
pub fn reference(model: &[u8]) -> ort::Result<Session> {
    Session::builder(environment())?.with_optimization_level(GraphOptimizationLevel::Disable)?.commit_from_memory(model)
}

/// The Rust code of the README, which has to compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
