use crate::claim::{Partition, partition};
use crate::ir::{Attr, Dim, Graph, GraphBuilder, NodeSpec, Tensor};
use crate::ops::Code;
use crate::options::{ClaimOption, ModeOption};
use crate::testing::Model;
use crate::{DType, Options, Target};

fn claims(graph: Graph<'static>, claim: ClaimOption, mode: ModeOption) -> Partition<'static> {
    partition(graph, &Target::host(1), &Options { claim, mode, ..Options::default() })
}

fn kernels(partition: &Partition<'_>) -> Vec<String> {
    partition.kernels.iter().map(|&id| partition.graph.node(id).unwrap().name.clone()).collect()
}

/// MatMul, a foreign operator, MatMul, Relu.
fn interrupted() -> Graph<'static> {
    let mut model = Model::new();
    model.input::<f32>("x", &[2, 2]).constant("w", &[2, 2], &[1f32, 2.0, 3.0, 4.0]);
    model.node("MatMul", &["x", "w"], &["a"], vec![]);
    model.node("Unknown", &["a"], &["b"], vec![]);
    model.node("MatMul", &["b", "w"], &["c"], vec![]);
    model.node("Relu", &["c"], &["y"], vec![]).output("y");
    model.graph()
}

#[test]
fn a_lone_node_runs_as_a_kernel_and_a_group_is_compiled() {
    let partition = claims(interrupted(), ClaimOption::Auto, ModeOption::Auto);
    assert_eq!(kernels(&partition), ["a"]);
    assert_eq!(partition.groups.len(), 1);
    let compiled = claims(interrupted(), ClaimOption::Auto, ModeOption::Compile);
    assert_eq!((compiled.kernels.len(), compiled.groups.len()), (0, 2));
    let single = claims(interrupted(), ClaimOption::Auto, ModeOption::Kernels);
    assert_eq!((kernels(&single), single.groups.len()), (vec!["a".into(), "c".into(), "y".into()], 0));
}

#[test]
fn kernels_that_only_move_data_are_left_unless_all_is_claimed() {
    let mut model = Model::new();
    model.input::<f32>("x", &[2]).node("Identity", &["x"], &["y"], vec![]).output("y");
    let left = claims(model.graph(), ClaimOption::Auto, ModeOption::Kernels);
    assert_eq!((left.kernels.len(), left.declines[0].1.code), (0, Code::Worth));
    assert_eq!(kernels(&claims(model.graph(), ClaimOption::All, ModeOption::Kernels)), ["y"]);
}

#[test]
fn attributes_that_kernels_cannot_read_are_declined() {
    let mut model = Model::new();
    model.input::<f32>("x", &[2]).node("LeakyRelu", &["x"], &["y"], vec![("alpha", Attr::Other)]).output("y");
    assert!(claims(model.graph(), ClaimOption::All, ModeOption::Kernels).kernels.is_empty());
    let mut model = Model::new();
    model.input_of("x", DType::F32, vec![Dim::Known(2)]).input::<i64>("shape", &[1, 2]);
    model.node("Reshape", &["x", "shape"], &["y"], vec![]).output("y");
    let partition = claims(model.graph(), ClaimOption::All, ModeOption::Kernels);
    assert_eq!(partition.declines[0].1.code, Code::Dependency);
}

/// A body with a product whose weight belongs to the graph around it.
fn body() -> Graph<'static> {
    let mut builder = GraphBuilder::new("body");
    let x = builder.value("x", Some(DType::F32), Some(vec![Dim::Known(2), Dim::Known(2)]));
    let w = builder.value("w", None, None);
    let y = builder.value("y", Some(DType::F32), None);
    builder.input(x);
    builder.constant(w, Tensor::owned(&[2, 2], &[1f32, 2.0, 3.0, 4.0]));
    builder.outer(w);
    builder.output(y);
    builder.node(NodeSpec {
        name: "product".into(),
        domain: String::new(),
        op_type: "MatMul".into(),
        since_version: 13,
        inputs: vec![Some(x), Some(w)],
        outputs: vec![Some(y)],
        attrs: Vec::new(),
        origin: 0,
    });
    builder.finish().unwrap()
}

#[test]
fn only_compiled_nodes_see_constants_of_an_outer_graph() {
    let auto = claims(body(), ClaimOption::Auto, ModeOption::Auto);
    assert_eq!((auto.kernels.len(), auto.groups.len()), (0, 1));
    let single = claims(body(), ClaimOption::Auto, ModeOption::Kernels);
    assert_eq!(kernels(&single), ["product"]);
    assert!(single.graph.nodes().all(|(_, node)| single.graph.value(node.input(1).unwrap()).constant.is_none()));
}
