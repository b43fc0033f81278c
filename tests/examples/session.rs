//! A model on the Spacemit provider: `cargo run -p e2e --example session -- model.onnx`.
//!
//! `ORT_DYLIB_PATH` names ONNX Runtime's library and `SPACEMIT_EP_LIBRARY` the plugin's.

use std::env::{args, var};
use std::error::Error;

use ort::session::Session;

fn main() -> Result<(), Box<dyn Error>> {
    let environment = ort::init_from(var("ORT_DYLIB_PATH")?)?.build()?;
    environment.register_ep_library("Spacemit", var("SPACEMIT_EP_LIBRARY")?)?;
    let device = environment.devices().find(|device| device.ep().is_ok_and(|name| name == "Spacemit"));
    let options = [("Spacemit.threads".to_owned(), "2".to_owned())];
    let session = Session::builder(&environment)?
        .with_devices(device, Some(&options))?
        .commit_from_file(args().nth(1).ok_or("usage: session MODEL.onnx")?)?;
    for input in session.inputs() {
        println!("input {}: {}", input.name(), input.dtype());
    }
    for output in session.outputs() {
        println!("output {}: {}", output.name(), output.dtype());
    }
    Ok(())
}
