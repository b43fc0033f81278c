//! What the provider makes of real graphs, as text: the fused graph, the claims, and the program for each target.
//!
//! The graphs are the models of `models/manifest.py` as ONNX Runtime offers them to a provider, without large weights
//! (`python -m models.skeleton`). Accept changes with `cargo insta review` or `INSTA_UPDATE=always`.

use std::fmt::Write;
use std::path::Path;

use ep::claim::partition;
use ep::ir::Graph;
use ep::onnx::{ModelProto, graph_of};
use ep::{DType, Options, Provider, TensorView};
use prost::Message;

const BATCH: usize = 2;
const SEQUENCE: usize = 16;

fn graph(name: &str) -> Graph<'static> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs").join(format!("{name}.onnx"));
    let model = ModelProto::decode(std::fs::read(path).unwrap().as_slice()).unwrap();
    graph_of(&model).unwrap()
}

fn options(target: &str) -> Options {
    Options::parse([("target", target), ("threads", "4")]).unwrap()
}

/// The graph after fusion, with what is declined.
fn claims(name: &str) -> String {
    let options = options("host");
    let provider = Provider::new(options.clone()).unwrap();
    let partition = partition(graph(name), provider.target(), &options);
    let mut text = partition.graph.to_string();
    for (index, group) in partition.groups.iter().enumerate() {
        writeln!(text, "group {index}: {} nodes", group.len()).unwrap();
    }
    for id in &partition.kernels {
        writeln!(text, "kernel {}", partition.graph.node(*id).unwrap().name).unwrap();
    }
    for (id, decline) in &partition.declines {
        let node = partition.graph.node(*id).unwrap();
        writeln!(text, "declined {} ({}): {decline}", node.name, node.qualified_op()).unwrap();
    }
    text
}

/// The program for a batch of two sentences of sixteen tokens.
fn program(name: &str, target: &str) -> String {
    let provider = Provider::new(options(target)).unwrap();
    let group = provider.outline(&graph(name)).unwrap();
    let tokens = vec![0u8; BATCH * SEQUENCE * DType::I64.size()];
    let tokens = TensorView { dtype: DType::I64, dims: &[BATCH, SEQUENCE], bytes: &tokens };
    let inputs = vec![tokens; group.input_names().len()];
    group.plan(&inputs).unwrap().to_string()
}

macro_rules! snapshots {
    ($($test:ident: $name:literal),* $(,)?) => { $(
        #[test]
        fn $test() {
            insta::assert_snapshot!(concat!($name, "-claims"), claims($name));
            for target in ["host", "k1", "k3"] {
                insta::assert_snapshot!(format!("{}-{target}", $name), program($name, target));
            }
        }
    )* };
}

snapshots! {
    minilm_fp32: "minilm-fp32",
    minilm_opset13: "minilm-opset13",
    minilm_fused: "minilm-fused",
    minilm_dq8: "minilm-dq8",
    minilm_dynamo_int8: "minilm-dynamo-int8",
}
