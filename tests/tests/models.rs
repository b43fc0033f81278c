//! Real models in emulation: all of their nodes on our provider, close to ONNX Runtime's CPU provider on the same file.
//!
//! `SPACEMIT_EP_MODELS` names the folder of the model files.

use e2e::{builder, reference, required};
use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;

type Inputs = Vec<(String, SessionInputValue<'static>)>;

fn integers(name: &str, dims: [usize; 2], values: Vec<i64>) -> (String, SessionInputValue<'static>) {
    (name.into(), Tensor::from_array((dims, values)).unwrap().into())
}

/// Two sentences of eight and of five tokens.
fn sentences() -> Inputs {
    let ids = [101, 2023, 2003, 1037, 3231, 6251, 1012, 102, 101, 7592, 2088, 999, 102, 0, 0, 0].to_vec();
    let mask = (0..16).map(|at| i64::from(at < 13)).collect();
    vec![
        integers("input_ids", [2, 8], ids),
        integers("attention_mask", [2, 8], mask),
        integers("token_type_ids", [2, 8], vec![0; 16]),
    ]
}

fn first_output(mut session: Session, inputs: Inputs) -> Vec<f32> {
    let outputs = session.run(inputs).unwrap();
    let (_, values) = outputs[0].try_extract_tensor::<f32>().unwrap();
    values.to_vec()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Runs the model and asserts the least cosine of its first output to the CPU provider's.
fn check(name: &str, inputs: fn() -> Inputs, least: f64) {
    let model = std::fs::read(format!("{}/{name}.onnx", required("SPACEMIT_EP_MODELS"))).expect(name);
    let strict = builder(&[("claim", "all"), ("threads", "2")]).unwrap().with_disable_cpu_fallback().unwrap();
    let ours = first_output({ strict }.commit_from_memory(&model).expect("every node is ours"), inputs());
    let expected = first_output(reference(&model).unwrap(), inputs());
    assert_eq!(ours.len(), expected.len());
    let cosine = cosine(&ours, &expected);
    println!("{name}: cosine {cosine:.7} to the CPU provider");
    assert!(cosine >= least, "{name}: cosine {cosine}");
}

#[test]
#[ignore = "needs model files; `cargo xtask riscv test models-k1 models-k3` has them"]
fn minilm_in_f32() {
    check("minilm-fp32", sentences, 0.99999);
}

// Where activations are quantised on the fly, a difference in the last bit can become a whole step of one in 255, in any
// implementation; the products of each step are exact, which the tests of the kernels hold.
#[test]
#[ignore = "needs model files; `cargo xtask riscv test models-k1 models-k3` has them"]
fn minilm_with_dynamic_quantisation() {
    check("minilm-dq8", sentences, 0.999);
}
