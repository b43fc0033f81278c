use crate::fuse::tests::{fused, noise};
use crate::ir::Attr;
use crate::testing::{Model, Value};

/// The keys `view` of `[batch, sequence, head, element]` as torch's dynamo exporter transposes them to
/// `[batch, head, element, sequence]` in `keys`. `batch` is what the restoring shape takes for the batch.
pub fn transposed_keys(model: &mut Model, batch: &str) {
    let index = |model: &mut Model, name: &str, values: &[i64]| {
        model.constant(name, &[values.len()], values);
    };
    index(model, "minus_two", &[-2]);
    index(model, "minus_one", &[-1]);
    index(model, "first", &[i64::MIN]);
    index(model, "last", &[i64::MAX]);
    index(model, "one", &[1]);
    index(model, "order", &[0, 2, 1, 3]);
    let perm = |axes: &[i64]| vec![("perm", Attr::Ints(axes.to_vec()))];
    let axis = || vec![("axis", Attr::Int(0))];
    model.node("Transpose", &["view"], &["by_head"], perm(&[0, 2, 1, 3]));
    model.typed("shape", kernels::tensor::DType::I64, vec![crate::ir::Dim::Known(4)]);
    model.node("Shape", &["view"], &["shape"], vec![]);
    model.node("Gather", &["shape", "order"], &["sizes"], axis());
    model.node("Slice", &["sizes", "first", "minus_two"], &["outer"], vec![]);
    model.node("Slice", &["sizes", "minus_two", "minus_one"], &["rows"], vec![]);
    model.node("Slice", &["sizes", "minus_one", "last"], &["columns"], vec![]);
    model.node("Concat", &["minus_one", "rows", "columns"], &["flat"], axis());
    match batch {
        "outer" => model.node("Concat", &["outer", "columns", "rows"], &["back"], axis()),
        other => {
            model.node("Slice", &["sizes", "one", "minus_two"], &["heads"], vec![]);
            model.node("Concat", &[other, "heads", "columns", "rows"], &["back"], axis())
        }
    };
    model.node("Reshape", &["by_head", "flat"], &["matrices"], vec![]);
    model.node("Transpose", &["matrices"], &["swapped"], perm(&[0, 2, 1]));
    model.node("Reshape", &["swapped", "back"], &["keys"], vec![]);
}

fn model(batch: &str) -> Model {
    let mut model = Model::new();
    model.input::<f32>("view", &[2, 3, 4, 5]);
    transposed_keys(&mut model, batch);
    model.output("keys");
    model
}

#[test]
fn one_transposition_remains() {
    let x = Value::new(&[2, 3, 4, 5], &noise(1, &[2, 3, 4, 5]));
    let model = model("outer");
    assert_eq!(fused(&model), ["Transpose"]);
    let mut apart = model.clone();
    apart.output("swapped");
    assert!(fused(&apart).contains(&"Reshape".to_owned()));
    let (fused, unfused) = (model.run(std::slice::from_ref(&x)).unwrap(), apart.run(&[x]).unwrap());
    assert_eq!(fused[0], unfused[0]);
}

#[test]
fn shapes_that_do_not_come_back_stay() {
    assert!(fused(&model("minus_one")).contains(&"Reshape".to_owned()));
}
