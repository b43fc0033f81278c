use super::*;
use crate::testing::Model;

/// `Identity` is claimed, `Unknown` is not.
fn groups(nodes: &[(&str, &[&str], &str)]) -> Vec<Vec<String>> {
    let mut model = Model::new();
    model.input::<f32>("x", &[2]);
    for (op, inputs, output) in nodes {
        model.node(op, inputs, &[output], vec![]);
    }
    model.output(nodes.last().unwrap().2);
    let options = Options { claim: ClaimOption::All, mode: ModeOption::Compile, ..Options::default() };
    let partition = partition(model.graph(), &Target::host(1), &options);
    let name = |id: &NodeId| partition.graph.node(*id).unwrap().name.clone();
    partition.groups.iter().map(|group| group.iter().map(name).collect()).collect()
}

#[test]
fn a_chain_is_one_group() {
    assert_eq!(groups(&[("Identity", &["x"], "a"), ("Identity", &["a"], "b")]), [["a", "b"]]);
}

#[test]
fn a_path_through_a_foreign_node_splits_the_group() {
    let split = groups(&[
        ("Identity", &["x"], "a"),
        ("Unknown", &["a"], "b"),
        ("Identity", &["a"], "c"),
        ("Sum", &["b", "c"], "d"),
        ("Identity", &["b"], "e"),
    ]);
    assert_eq!(split[0], ["a", "c"]);
    assert!(split[1].contains(&"e".to_string()));
}

#[test]
fn independent_branches_share_a_group() {
    let merged = groups(&[("Identity", &["x"], "a"), ("Unknown", &["x"], "b"), ("Identity", &["x"], "c")]);
    assert_eq!(merged, [["a", "c"]]);
}

#[test]
fn disabled_nodes_and_operators_are_declined_by_name() {
    let mut model = Model::new();
    model.input::<f32>("x", &[2]);
    model.node("Identity", &["x"], &["a"], vec![]);
    model.node("Identity", &["a"], &["b"], vec![]);
    model.output("b");
    let count = |options: Options| {
        let options = Options { claim: ClaimOption::All, ..options };
        partition(model.graph(), &Target::host(1), &options).declines.len()
    };
    assert_eq!(count(Options::default()), 0);
    assert_eq!(count(Options { disable_nodes: vec!["b".into()], ..Options::default() }), 1);
    assert_eq!(count(Options { disable_ops: vec!["Identity".into()], ..Options::default() }), 2);
}

#[test]
fn a_processor_without_vectors_takes_nothing_of_itself() {
    let mut model = Model::new();
    model.input::<f32>("x", &[2]).node("Identity", &["x"], &["y"], vec![]).output("y");
    let declined = |target| {
        let options = Options { target, claim: ClaimOption::All, ..Options::default() };
        partition(model.graph(), &Target::scalar(), &options).declines
    };
    let declines = declined(TargetOption::Auto);
    assert_eq!((declines.len(), declines[0].1.code), (1, Code::Processor));
    assert!(declines[0].1.reason.contains("no vector extension"));
    assert!(declined(TargetOption::Scalar).is_empty());
}

#[test]
fn a_small_group_of_glue_is_left_to_other_providers() {
    let mut model = Model::new();
    model.input::<f32>("x", &[2]);
    model.node("Identity", &["x"], &["a"], vec![]);
    model.output("a");
    let partition = partition(model.graph(), &Target::host(1), &Options::default());
    assert!(partition.groups.is_empty());
    assert_eq!(partition.declines[0].1.code, Code::Worth);
}

#[test]
fn a_shape_from_data_is_declined_and_a_shape_from_shapes_is_not() {
    let declined = |rank: usize| {
        let mut model = Model::new();
        model.input::<i64>("x", &vec![1; rank]).input::<f32>("data", &[2]);
        // Each sum reads its input twice: settling the values must not take time exponential in the length.
        for step in 0..60 {
            let (from, to) = (if step == 0 { "x".into() } else { format!("s{}", step - 1) }, format!("s{step}"));
            model.node("Add", &[&from, &from], &[&to], vec![]);
        }
        model.node("Reshape", &["data", "s59"], &["y"], vec![]).output("y");
        let options = Options { claim: ClaimOption::All, ..Options::default() };
        let partition = partition(model.graph(), &Target::host(1), &options);
        partition.declines.iter().map(|(_, decline)| decline.code).collect::<Vec<_>>()
    };
    assert_eq!(declined(1), []);
    assert_eq!(declined(2), [Code::Dependency]);
}

#[test]
fn no_more_groups_are_made_than_onnx_runtime_starts_in_good_time() {
    let mut model = Model::new();
    model.input::<f32>("v0", &[2, 2]).constant("w", &[2, 2], &[1f32; 4]);
    for step in 0..GROUP_LIMIT + 20 {
        let [from, product, to] = [format!("v{step}"), format!("p{step}"), format!("v{}", step + 1)];
        match step {
            0..30 => model.node("Identity", &[&from], &[&product], vec![]),
            _ => model.node("MatMul", &[&from, "w"], &[&product], vec![]),
        };
        model.node("Unknown", &[&product], &[&to], vec![]);
    }
    model.output("v1");
    let options = Options { claim: ClaimOption::All, mode: ModeOption::Compile, ..Options::default() };
    let partition = partition(model.graph(), &Target::host(1), &options);
    assert_eq!(partition.groups.len(), GROUP_LIMIT);
    let left: Vec<_> = partition.declines.iter().filter(|(_, decline)| decline.code == Code::Worth).collect();
    assert_eq!(left.len(), 20);
    let op = |id: &NodeId| partition.graph.node(*id).unwrap().op_type.clone();
    assert!(left.iter().all(|(id, _)| op(id) == "Identity"), "those with the least work are left");
}
