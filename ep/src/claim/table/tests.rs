use super::*;
use crate::claim::{Partition, partition};
use crate::ir::Tensor;
use crate::options::ModeOption;
use crate::testing::{Model, Value};
use crate::{DType, Options, Target};

const ROW: usize = 64;

/// An embedding, a mask made of other inputs, and a product of their sum.
fn model(rows: usize, build: impl Fn(&mut Model)) -> Model {
    let mut model = Model::new();
    model.input::<i64>("ids", &[3]).input::<f32>("mask", &[3, 1]).constant("w", &[ROW, 2], &[0.5f32; 2 * ROW]);
    model.constant("table", &[rows, ROW], &vec![1.0f32; rows * ROW]).typed_only("embedded", DType::F32);
    model.node("Neg", &["mask"], &["negated"], vec![]);
    build(&mut model);
    model.node("Add", &["embedded", "negated"], &["sum"], vec![]);
    model.node("MatMul", &["sum", "w"], &["y"], vec![]).output("y");
    model
}

fn embedded(model: &mut Model) {
    model.node("Gather", &["table", "ids"], &["embedded"], vec![]);
}

fn claims(model: &Model, mode: ModeOption) -> (Vec<Vec<String>>, Option<usize>) {
    let options = Options { mode, ..Options::default() };
    let Partition { graph, groups, kernels, lent, .. } = partition(model.graph(), &Target::host(1), &options);
    assert!(kernels.is_empty());
    let op = |id: &NodeId| graph.node(*id).unwrap().op_type.clone();
    (groups.iter().map(|group| group.iter().map(op).collect()).collect(), lent)
}

const ENOUGH: usize = LARGE / 4 / ROW;

#[test]
fn the_largest_table_is_lent_and_all_else_is_one_group() {
    for mode in [ModeOption::Auto, ModeOption::Compile] {
        let (groups, lent) = claims(&model(ENOUGH, embedded), mode);
        assert_eq!(groups, [vec!["Gather"], vec!["Neg", "Add", "Linear"]]);
        assert_eq!(lent, Some(0));
    }
    let two = model(ENOUGH, |model| {
        model.constant("larger", &[2 * ENOUGH, ROW], &vec![1.0f32; 2 * ENOUGH * ROW]);
        embedded(model);
        model.node("Gather", &["larger", "ids"], &["other"], vec![]).output("other");
    });
    let (groups, lent) = claims(&two, ModeOption::Auto);
    assert_eq!(groups.len(), 2);
    assert_eq!((groups[lent.unwrap()].len(), groups[1 - lent.unwrap()].len()), (1, 4));
}

#[test]
fn other_tables_are_kept() {
    let one_group = |model: Model, why: &str| {
        let (groups, lent) = claims(&model, ModeOption::Auto);
        assert_eq!((groups.len(), lent), (1, None), "{why}");
    };
    one_group(model(ENOUGH - 1, embedded), "small");
    let chosen = |model: &mut Model| {
        model.node("Identity", &["ids"], &["rows"], vec![]).node("Gather", &["table", "rows"], &["embedded"], vec![]);
    };
    one_group(model(ENOUGH, chosen), "a group would end before it");
    let mut tied = model(ENOUGH, embedded);
    tied.constant("column", &[ROW, 1], &[1f32; ROW])
        .node("MatMul", &["table", "column"], &["tied"], vec![])
        .output("tied");
    one_group(tied, "read elsewhere too");
}

#[test]
fn a_table_by_itself_is_not_worth_a_group() {
    let mut model = Model::new();
    model.input::<i64>("ids", &[3]).constant("table", &[ENOUGH, ROW], &vec![1.0f32; ENOUGH * ROW]);
    embedded(model.typed_only("embedded", DType::F32));
    assert_eq!(claims(model.output("embedded"), ModeOption::Auto), (vec![], None));
}

#[test]
fn a_lent_table_is_an_input_of_each_run() {
    let (table, ids) = (Tensor::owned(&[2, 1], &[3f32, 4.0]), Value::new(&[3], &[1i64, 0, -1]));
    let mut model = Model::new();
    model.input::<i64>("ids", &[3]).constant("table", &[2, 1], &[9f32; 2]).typed_only("embedded", DType::F32);
    embedded(&mut model);
    let mut graph = model.output("embedded").graph();
    graph.lend(["table", "not there", "ids"]);
    let provider = crate::Provider::new(Options::default()).unwrap();
    let group = provider.compile(&graph).unwrap();
    assert_eq!(group.input_names(), ["ids", "table"]);
    let table = Value::new(&[2, 1], bytemuck::cast_slice::<u8, f32>(table.bytes()));
    let views = [ids.view(), table.view()];
    let mut y = [0f32; 3];
    group.begin(&views).unwrap().execute(&views, &mut [bytemuck::cast_slice_mut(&mut y)]).unwrap();
    assert_eq!(y, [4.0, 3.0, 4.0]);
}
