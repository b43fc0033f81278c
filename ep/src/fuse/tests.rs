//! Runs a model fused and unfused.

use super::{RULES, run};
use crate::ir::Graph;
use crate::testing::{Model, Value};
use crate::{Options, Target};

/// Operators of the model after fusion, in order.
pub fn fused(model: &Model) -> Vec<String> {
    let mut graph = model.graph();
    run(&mut graph, &Target::host(1), &Options::default());
    operators(&graph)
}

fn operators(graph: &Graph<'_>) -> Vec<String> {
    graph.nodes().map(|(_, node)| node.qualified_op()).collect()
}

/// Checks that fusion leaves the operators `expected`, and that they compute what the model computes when its
/// intermediate result `inner` is an output too, so that the pattern has to stay apart.
///
/// Values may differ by `tolerance`, relative to the largest one.
pub fn check(model: &Model, expected: &[&str], inner: &str, inputs: &[Value], tolerance: f32) {
    assert_eq!(fused(model), expected);
    let mut apart = model.clone();
    apart.output(inner);
    assert_ne!(fused(&apart), expected, "a value that somebody else reads must not vanish");
    let (fused, unfused) = (model.run(inputs).unwrap(), apart.run(inputs).unwrap());
    for (fused, unfused) in fused.iter().zip(&unfused) {
        assert_eq!(fused.dims, unfused.dims);
        assert_close(fused.values(), unfused.values(), tolerance);
    }
}

pub fn assert_close(actual: &[f32], expected: &[f32], tolerance: f32) {
    let largest = expected.iter().fold(0f32, |largest, x| largest.max(x.abs()));
    assert!(expected.iter().any(|x| *x != 0.0), "the test must compute something");
    for (index, (a, b)) in actual.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * largest, "element {index}: {a} is not {b}");
    }
}

/// Values from -2 to 2 that look random.
pub fn noise(seed: u64, dims: &[usize]) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u32 << 22) as f32 - 2.0
    };
    (0..dims.iter().product()).map(|_| next()).collect()
}

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/fusions.md");

/// The rules as the documentation lists them.
fn document() -> String {
    let mut text = String::from(
        "# Fusions\n\nApplied in this order. Intermediate results must not be read elsewhere or be outputs of the model. In f16 \
         a fused operator rounds once, where the pattern rounds after each step.\n\n\
         | rule | pattern |\n|---|---|\n",
    );
    for rule in RULES {
        text += &format!("| {} | `{}` |\n", rule.name, rule.pattern.replace('|', "\\|"));
    }
    text += "\nWhat follows from constants and shapes alone is computed when a program is planned, up to 16 MiB a result. So are \
             masks and position biases, however an exporter builds them: attention reads them as constants, and visits no key \
             that such a mask hides behind the position of each query. A mask of nothing else is not read at all. \
             Where a mask is hidden by -inf, the part of its condition that is known bounds attention as well: \
             `Where(And(causal, padding), 0, -inf)`.\n";
    text
}

/// Rewrites the document when the environment has `UPDATE_DOCS`.
#[test]
fn the_document_lists_the_rules() {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(DOCUMENT, document()).unwrap();
    }
    let text =
        std::fs::read_to_string(DOCUMENT).expect("docs/fusions.md: write it with UPDATE_DOCS=1 cargo test -p ep");
    assert_eq!(text, document(), "write it again with UPDATE_DOCS=1 cargo test -p ep");
}

#[test]
fn a_disabled_operator_is_neither_taken_nor_made() {
    let mut model = Model::new();
    model.input::<f32>("x", &[2]).node("Sigmoid", &["x"], &["gate"], vec![]);
    model.node("Mul", &["x", "gate"], &["y"], vec![]).output("y");
    for disabled in ["QuickGelu", "Sigmoid"] {
        let options = Options { disable_ops: vec![disabled.into()], ..Options::default() };
        let mut graph = model.graph();
        run(&mut graph, &Target::host(1), &options);
        assert_eq!(operators(&graph), ["Sigmoid", "Mul"]);
    }
}

#[test]
fn rule_names_are_distinct() {
    let names: std::collections::HashSet<_> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.len(), RULES.len());
}

/// Operators of a model of the test graphs after fusion, and how many there are of each.
fn census(bytes: &[u8]) -> std::collections::BTreeMap<String, usize> {
    use prost::Message;
    let model = crate::onnx::ModelProto::decode(bytes).unwrap();
    let mut graph = crate::onnx::graph_of(&model).unwrap();
    run(&mut graph, &Target::host(1), &Options::default());
    let mut census = std::collections::BTreeMap::new();
    operators(&graph).into_iter().for_each(|operator| *census.entry(operator).or_default() += 1);
    census
}

/// The graphs of MiniLM as ONNX Runtime offers them: six layers of attention and a perceptron.
#[test]
fn every_layer_of_real_graphs_is_fused() {
    let graphs: [(&str, &[u8], &str); 4] = [
        ("torchscript", include_bytes!("../../tests/graphs/minilm-fp32.onnx"), "spacemit.Linear"),
        ("dynamic int8", include_bytes!("../../tests/graphs/minilm-dq8.onnx"), "spacemit.QLinear"),
        ("opset 13", include_bytes!("../../tests/graphs/minilm-opset13.onnx"), "spacemit.Linear"),
        ("dynamo", include_bytes!("../../tests/graphs/minilm-dynamo-int8.onnx"), "spacemit.Linear"),
    ];
    for (name, bytes, linear) in graphs {
        let census = census(bytes);
        let count = |operator: &str| census.get(operator).copied().unwrap_or(0);
        assert_eq!((count(linear), count("spacemit.Sdpa")), (36, 6), "{name}: {census:?}");
        let norms = count("LayerNormalization") + count("com.microsoft.SkipLayerNormalization");
        assert_eq!(norms, 13, "{name}: {census:?}");
        for taken in ["MatMul", "MatMulInteger", "Softmax", "Erf", "Transpose", "Div", "Pow", "ReduceMean", "IsNaN"] {
            assert_eq!(count(taken), 0, "{name}: {taken} remains");
        }
    }
}

#[test]
fn a_long_chain_of_products_costs_neither_stack_nor_time() {
    let mut model = Model::new();
    model.input::<f32>("x", &[2]).constant("half", &[], &[0.5f32]);
    for step in 0..5_000 {
        let (from, to) = (if step == 0 { "x".into() } else { format!("s{}", step - 1) }, format!("s{step}"));
        model.node("Mul", &[&from, "half"], &[&to], vec![]);
    }
    let mut graph = model.output("s4999").graph();
    // A small stack: the search must not go as deep as the chain.
    let fuse = move || {
        crate::fuse::run(&mut graph, &crate::Target::host(1), &crate::Options::default());
        graph.nodes().count()
    };
    let nodes = std::thread::Builder::new().stack_size(256 << 10).spawn(fuse).unwrap().join().unwrap();
    assert_eq!(nodes, 5_000);
}
