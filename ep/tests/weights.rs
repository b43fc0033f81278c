//! Packed weights of a process. One test, for the store is the process's.

use ep::ir::{Dim, Graph, GraphBuilder, NodeSpec, Tensor};
use ep::plan::WeightStore;
use ep::{DType, Options, Provider};

const K: usize = 64;
const N: usize = 32;

/// y = x w, with a weight that lives elsewhere, as ONNX Runtime lends it.
fn graph(w: &[f32]) -> Graph<'_> {
    let mut builder = GraphBuilder::new("shared");
    let x = builder.value("x", Some(DType::F32), Some(vec![Dim::Unknown, Dim::Known(K)]));
    let weight = builder.value("w", None, None);
    let y = builder.value("y", Some(DType::F32), None);
    builder.input(x);
    builder.constant(weight, Tensor::borrowed(DType::F32, &[K, N], bytemuck::cast_slice(w)));
    builder.output(y);
    builder.node(NodeSpec {
        name: "product".into(),
        domain: String::new(),
        op_type: "MatMul".into(),
        since_version: 13,
        inputs: vec![Some(x), Some(weight)],
        outputs: vec![Some(y)],
        attrs: Vec::new(),
        origin: 0,
    });
    builder.finish().unwrap()
}

#[test]
fn sessions_share_equal_weights_until_the_last_one_goes() {
    let (w, copy, other) = (vec![0.5; K * N], vec![0.5; K * N], vec![0.25; K * N]);
    let compile = |w: &[f32]| {
        let provider = Provider::new(Options::parse([("threads", "1")]).unwrap()).unwrap();
        provider.compile(&graph(w)).unwrap()
    };
    let store = WeightStore::global();
    let (first, second) = (compile(&w), compile(&copy));
    assert_eq!(store.len(), 1, "one packed copy, and none of the original");
    let third = compile(&other);
    assert_eq!(store.len(), 2);
    drop(first);
    assert_eq!(store.len(), 2, "the second session still holds the weight");
    drop((second, third));
    assert!(store.is_empty());
}
