//! What the end-to-end tests share: small ONNX models, and stock ONNX Runtime with the plugin registered.
//!
//! `ORT_DYLIB_PATH` names ONNX Runtime's library and `SPACEMIT_EP_LIBRARY` the plugin's.

pub mod onnx;

use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::OnceLock;

use ort::AsPointer;
use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::sys::OrtValue;
use ort::value::{DynValue, Tensor};

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

/// An empty directory for the files of one test.
pub fn scratch(test: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("spacemit-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory for test files");
    directory
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
    builder(&[("claim", "all")])?.with_disable_cpu_fallback()?.commit_from_memory(model)
}

/// A session on ONNX Runtime's own CPU provider, unoptimised: the reference.
pub fn reference(model: &[u8]) -> ort::Result<Session> {
    Session::builder(environment())?.with_optimization_level(GraphOptimizationLevel::Disable)?.commit_from_memory(model)
}

/// A float tensor: dimensions and elements.
pub type Floats = (Vec<i64>, Vec<f32>);

/// Runs `session` on float inputs and returns its float outputs, in the order of the model.
pub fn run(session: &mut Session, inputs: &[(&str, &[i64], &[f32])]) -> ort::Result<Vec<Floats>> {
    let mut values = Vec::new();
    for &(name, dims, data) in inputs {
        values.push((name, Tensor::from_array((dims, data.to_vec()))?));
    }
    let outputs = session.run(values)?;
    let float = |index: usize| {
        let (shape, data) = outputs[index].try_extract_tensor::<f32>()?;
        Ok((shape.to_vec(), data.to_vec()))
    };
    (0..outputs.len()).map(float).collect()
}

/// Runs a session that other threads may be running too, from input `x` to output `y`.
///
/// ONNX Runtime allows this; the safe interface of `ort` does not.
pub fn run_shared(session: &Session, dims: &[i64], data: &[f32]) -> ort::Result<Floats> {
    let x = Tensor::from_array((dims, data.to_vec()))?;
    let mut y = std::ptr::null_mut();
    // SAFETY: the input is a live tensor, and there is no output yet.
    unsafe { run_raw(session, x.ptr(), &mut y)? };
    // SAFETY: the run succeeded, so it made an output, which is ours.
    let value = unsafe { DynValue::from_ptr(NonNull::new(y).expect("an output"), Some(session.allocator())) };
    let (shape, data) = value.try_extract_tensor::<f32>()?;
    Ok((shape.to_vec(), data.to_vec()))
}

/// Runs a session from input `x` to output `y`, which is filled if it is not null, else made.
///
/// # Safety
/// `x` is a live value, `y` is null or a live value that nobody else uses.
pub unsafe fn run_raw(session: &Session, x: *const OrtValue, y: &mut *mut OrtValue) -> ort::Result<()> {
    let (x_names, y_names) = ([c"x".as_ptr()], [c"y".as_ptr()]);
    // SAFETY: the session is live and may be shared; the arrays have one element each.
    unsafe {
        let session = session.ptr().cast_mut();
        let status = (ort::api().Run)(session, std::ptr::null(), x_names.as_ptr(), &x, 1, y_names.as_ptr(), 1, y);
        ort::Error::result_from_status(status)
    }
}

/// The Rust code of the README, which has to compile.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
