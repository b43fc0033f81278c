use crate::fuse::tests::{assert_close, check, fused, noise};
use crate::fuse::transpose::tests::transposed_keys;
use crate::ir::Attr;
use crate::testing::{Model, Value};

const BATCH: usize = 2;
const QUERIES: usize = 5;
const KEYS: usize = 7;
const HEADS: usize = 3;
const WIDTH: usize = 4;

/// Scores are sums of 4 products below 4, halved, and weigh values below 2.
const TOLERANCE: f32 = 1e-5;

fn perm(axes: [i64; 4]) -> Vec<(&'static str, Attr<'static>)> {
    vec![("perm", Attr::Ints(axes.to_vec()))]
}

fn start() -> Model {
    let mut model = Model::new();
    model.input::<f32>("q", &[BATCH, QUERIES, HEADS, WIDTH]).input::<f32>("k", &[BATCH, KEYS, HEADS, WIDTH]);
    model.input::<f32>("v", &[BATCH, KEYS, HEADS, WIDTH]).input::<f32>("mask", &[BATCH, 1, 1, KEYS]);
    model.constant("two", &[], &[2f32]).constant("half", &[], &[0.5f32]).constant("zero", &[], &[0f32]);
    model
}

fn inputs() -> [Value; 4] {
    let value = |seed, dims: &[usize]| Value::new(dims, &noise(seed, dims));
    let mut hidden = vec![0f32; BATCH * KEYS];
    hidden[KEYS - 1] = f32::MIN;
    [
        value(1, &[BATCH, QUERIES, HEADS, WIDTH]),
        value(2, &[BATCH, KEYS, HEADS, WIDTH]),
        value(3, &[BATCH, KEYS, HEADS, WIDTH]),
        Value::new(&[BATCH, 1, 1, KEYS], &hidden),
    ]
}

/// `y = transposed(softmax(scores) x v)`
fn finish(model: &mut Model, scores: &str) {
    model.node("Softmax", &[scores], &["weights"], vec![("axis", Attr::Int(-1))]);
    attend(model, "weights");
}

fn attend(model: &mut Model, weights: &str) {
    model.node("Transpose", &["v"], &["values"], perm([0, 2, 1, 3]));
    model.node("MatMul", &[weights, "values"], &["context"], vec![]);
    model.node("Transpose", &["context"], &["y"], perm([0, 2, 1, 3])).output("y");
}

/// The form of torch's TorchScript exporter.
fn torchscript() -> Model {
    let mut model = start();
    model.node("Transpose", &["k"], &["keys"], perm([0, 2, 3, 1]));
    model.node("Transpose", &["q"], &["queries"], perm([0, 2, 1, 3]));
    model.node("MatMul", &["queries", "keys"], &["product"], vec![]);
    model.node("Div", &["product", "two"], &["scaled"], vec![]);
    model.node("Add", &["scaled", "mask"], &["scores"], vec![]);
    finish(&mut model, "scores");
    model
}

#[test]
fn the_torchscript_form_is_one_operator() {
    check(&torchscript(), &["spacemit.Sdpa"], "weights", &inputs(), TOLERANCE);
}

#[test]
fn the_dynamo_form_is_one_operator() {
    let mut model = start();
    model.constant("unit", &[], &[1f32]).node("Mul", &["k", "unit"], &["view"], vec![]);
    transposed_keys(&mut model, "outer");
    model.node("Mul", &["keys", "half"], &["scaled_keys"], vec![]);
    model.node("Transpose", &["q"], &["queries"], perm([0, 2, 1, 3]));
    model.node("Mul", &["half", "queries"], &["scaled_queries"], vec![]);
    model.node("MatMul", &["scaled_queries", "scaled_keys"], &["product"], vec![]);
    model.node("Add", &["mask", "product"], &["scores"], vec![]);
    model.node("Softmax", &["scores"], &["plain"], vec![("axis", Attr::Int(-1))]);
    model.typed("undefined", kernels::tensor::DType::Bool, vec![]);
    model.node("IsNaN", &["plain"], &["undefined"], vec![]);
    model.typed("weights", kernels::tensor::DType::F32, vec![]);
    model.node("Where", &["undefined", "zero", "plain"], &["weights"], vec![]);
    attend(&mut model, "weights");
    check(&model, &["spacemit.Sdpa"], "plain", &inputs(), TOLERANCE);

    // All keys hidden by -inf: the softmax is NaN, which this form takes for zero.
    let mut inputs = inputs();
    let mut mask = inputs[3].values::<f32>().to_vec();
    mask[..KEYS].fill(f32::NEG_INFINITY);
    inputs[3] = Value::new(&[BATCH, 1, 1, KEYS], &mask);
    let y = model.run(&inputs).unwrap().remove(0);
    let (first, second) = y.values::<f32>().split_at(QUERIES * HEADS * WIDTH);
    assert!(first.iter().all(|&x| x == 0.0) && second.iter().all(|&x| x.is_finite() && x != 0.0));
}

/// torch's concatenation of new keys and values with a past that the first step has not.
#[test]
fn concatenations_of_one_operand_vanish() {
    let mut model = start();
    model.node("Transpose", &["k"], &["heads"], perm([0, 2, 1, 3]));
    model.node("Concat", &["heads"], &["all"], vec![("axis", Attr::Int(-2))]);
    model.node("Transpose", &["all"], &["keys"], perm([0, 1, 3, 2]));
    model.node("Transpose", &["q"], &["queries"], perm([0, 2, 1, 3]));
    model.node("MatMul", &["queries", "keys"], &["product"], vec![]);
    model.node("Div", &["product", "two"], &["scaled"], vec![]);
    model.node("Add", &["scaled", "mask"], &["scores"], vec![]);
    finish(&mut model, "scores");
    check(&model, &["spacemit.Sdpa"], "weights", &inputs(), TOLERANCE);
}

#[test]
fn operands_by_head_with_two_masks_are_one_operator() {
    let mut model = Model::new();
    let dims = |length| [BATCH, HEADS, length, WIDTH];
    model.input::<f32>("q", &dims(QUERIES)).input::<f32>("k", &dims(KEYS)).input::<f32>("v", &dims(KEYS));
    model.input::<f32>("position", &[1, HEADS, QUERIES, KEYS]).input::<f32>("mask", &[BATCH, 1, 1, KEYS]);
    model.constant("scale", &[], &[0.3f32]);
    model.node("Mul", &["q", "scale"], &["queries"], vec![]);
    model.node("Transpose", &["k"], &["keys"], perm([0, 1, 3, 2]));
    model.node("MatMul", &["queries", "keys"], &["product"], vec![]);
    model.node("Add", &["product", "position"], &["biased"], vec![]);
    model.node("Add", &["biased", "mask"], &["scores"], vec![]);
    model.node("Softmax", &["scores"], &["weights"], vec![("axis", Attr::Int(3))]);
    model.node("MatMul", &["weights", "v"], &["y"], vec![]).output("y");
    let value = |seed, dims: &[usize]| Value::new(dims, &noise(seed, dims));
    let inputs = [
        value(1, &dims(QUERIES)),
        value(2, &dims(KEYS)),
        value(3, &dims(KEYS)),
        value(4, &[1, HEADS, QUERIES, KEYS]),
        value(5, &[BATCH, 1, 1, KEYS]),
    ];
    check(&model, &["spacemit.Sdpa"], "scores", &inputs, TOLERANCE);
}

/// T5 of Optimum: one bias of positions and mask for all layers, casts, no scale.
#[test]
fn the_t5_form_is_one_operator() {
    let mut model = start();
    model.input::<f32>("position", &[1, HEADS, QUERIES, KEYS]);
    model.node("Add", &["position", "mask"], &["bias"], vec![]).output("bias");
    model.node("Transpose", &["k"], &["keys"], perm([0, 2, 3, 1]));
    model.node("Transpose", &["q"], &["queries"], perm([0, 2, 1, 3]));
    model.node("MatMul", &["queries", "keys"], &["product"], vec![]);
    model.node("Add", &["product", "bias"], &["scores"], vec![]);
    model.node("Cast", &["scores"], &["wide"], vec![("to", Attr::Int(1))]);
    finish(&mut model, "wide");
    let inputs: Vec<Value> = inputs()
        .into_iter()
        .chain([Value::new(&[1, HEADS, QUERIES, KEYS], &noise(5, &[1, HEADS, QUERIES, KEYS]))])
        .collect();
    check(&model, &["Add", "spacemit.Sdpa"], "scores", &inputs, TOLERANCE);
}

#[test]
fn attention_is_what_the_formula_says() {
    let inputs = inputs();
    let [q, k, v, mask] = [0, 1, 2, 3].map(|index: usize| inputs[index].values::<f32>());
    let at = |x: &[f32], length: usize, b: usize, s: usize, h: usize, d: usize| {
        f64::from(x[((b * length + s) * HEADS + h) * WIDTH + d])
    };
    let mut expected = Vec::new();
    for (b, s, h) in (0..BATCH * QUERIES * HEADS).map(|i| (i / HEADS / QUERIES, i / HEADS % QUERIES, i % HEADS)) {
        let score = |t: usize| {
            let dot: f64 = (0..WIDTH).map(|d| at(q, QUERIES, b, s, h, d) * at(k, KEYS, b, t, h, d)).sum();
            (dot / 2.0 + f64::from(mask[b * KEYS + t])).exp()
        };
        let total: f64 = (0..KEYS).map(score).sum();
        let mean = |d: usize| (0..KEYS).map(|t| score(t) / total * at(v, KEYS, b, t, h, d)).sum::<f64>();
        expected.extend((0..WIDTH).map(|d| mean(d) as f32));
    }
    assert_close(torchscript().run(&inputs).unwrap()[0].values(), &expected, TOLERANCE);
}

#[test]
fn near_misses_stay() {
    let keeps = |model: &Model| fused(model).contains(&"Softmax".to_owned());
    let mut over_queries = start();
    over_queries.node("Transpose", &["k"], &["keys"], perm([0, 2, 3, 1]));
    over_queries.node("Transpose", &["q"], &["queries"], perm([0, 2, 1, 3]));
    over_queries.node("MatMul", &["queries", "keys"], &["scores"], vec![]);
    over_queries.node("Softmax", &["scores"], &["weights"], vec![("axis", Attr::Int(-2))]);
    attend(&mut over_queries, "weights");
    assert!(keeps(&over_queries));

    let mut no_product = start();
    no_product.input::<f32>("scores", &[BATCH, HEADS, QUERIES, KEYS]);
    finish(&mut no_product, "scores");
    assert!(keeps(&no_product));

    let mut by_element = start();
    by_element.node("Transpose", &["k"], &["keys"], perm([0, 3, 2, 1]));
    by_element.node("Transpose", &["q"], &["queries"], perm([0, 3, 1, 2]));
    by_element.node("MatMul", &["queries", "keys"], &["scores"], vec![]);
    finish(&mut by_element, "scores");
    assert!(keeps(&by_element));
}
