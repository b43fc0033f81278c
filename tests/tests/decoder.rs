//! Two layers of a language model with their KV caches, read token by token.
//!
//! `SPACEMIT_EP_MODELS` is the folder with the models that `python -m models.zoo smollm2-cut-fp32 smollm2-cut-q4
//! smollm2-cut-q8` builds.

use std::path::Path;

use e2e::{reference, required, session};
use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;

const LAYERS: usize = 2;
const HEADS: usize = 3;
const HEAD: usize = 64;
const VOCABULARY: usize = 2048;
/// A prompt, then single tokens.
const RUNS: [&[i64]; 4] = [&[900, 31, 77, 1200, 5], &[1500], &[17], &[2047]];

/// The caches of one layer after another, key before value: [1, HEADS, length, HEAD] each.
type Caches = Vec<Vec<f32>>;

fn cache_names(start: &str) -> Vec<String> {
    let layers = (0..LAYERS).flat_map(|layer| ["key", "value"].map(|part| format!("{start}.{layer}.{part}")));
    layers.collect()
}

/// Reads `tokens` behind `past` of them: the logits of the last, and the longer caches.
fn read(session: &mut Session, tokens: &[i64], past: usize, caches: &Caches) -> (Vec<f32>, Caches) {
    let length = past + tokens.len();
    let mut inputs: Vec<(String, SessionInputValue)> = vec![
        ("input_ids".into(), Tensor::from_array(([1, tokens.len()], tokens.to_vec())).unwrap().into()),
        ("attention_mask".into(), Tensor::from_array(([1, length], vec![1i64; length])).unwrap().into()),
    ];
    for (name, cache) in cache_names("past_key_values").into_iter().zip(caches) {
        inputs.push((name, Tensor::from_array(([1, HEADS, past, HEAD], cache.clone())).unwrap().into()));
    }
    let outputs = session.run(inputs).unwrap();
    let floats = |name: &str| outputs[name].try_extract_tensor::<f32>().unwrap().1.to_vec();
    let logits = floats("logits").split_off((tokens.len() - 1) * VOCABULARY);
    (logits, cache_names("present").iter().map(|name| floats(name)).collect())
}

/// The logits after each of `RUNS`.
fn logits(mut session: Session) -> Vec<Vec<f32>> {
    let (mut caches, mut past) = (vec![Vec::new(); 2 * LAYERS], 0);
    let mut all = Vec::new();
    for tokens in RUNS {
        let (logits, longer) = read(&mut session, tokens, past, &caches);
        past += tokens.len();
        assert!(longer.iter().all(|cache| cache.len() == HEADS * past * HEAD));
        caches = longer;
        all.push(logits);
    }
    all
}

/// Largest difference to the CPU provider, as a part of the largest logit.
fn difference(name: &str) -> f32 {
    let path = Path::new(&required("SPACEMIT_EP_MODELS")).join(format!("{name}.onnx"));
    let model = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (ours, cpu) = (logits(session(&model).unwrap()), logits(reference(&model).unwrap()));
    let largest = cpu.iter().flatten().fold(0.0, |largest: f32, x| largest.max(x.abs()));
    let pairs = ours.iter().flatten().zip(cpu.iter().flatten());
    pairs.fold(0.0, |worst: f32, (a, b)| worst.max((a - b).abs())) / largest
}

#[test]
fn float_weights() {
    // the longest sums have 1536 terms, each of which may be off by half a unit in the last place on either side
    assert!(difference("smollm2-cut-fp32") <= 1536.0 * f32::EPSILON);
}

#[test]
fn weights_of_four_bits() {
    // accuracy_level 4 lets both round activations to 1/127 of the largest of their block, in nine products in a row
    assert!(difference("smollm2-cut-q4") <= 9.0 / 254.0);
}

#[test]
fn weights_of_eight_bits() {
    // as above
    assert!(difference("smollm2-cut-q8") <= 9.0 / 254.0);
}
