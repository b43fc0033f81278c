use crate::fuse::tests::{check, fused};
use crate::ir::Attr;
use crate::testing::{Model, Value};

/// transformers' scaled word embedding, `Gather` along `axis`.
fn model(axis: i64, scale: &[f32]) -> Model {
    let mut model = Model::new();
    model.constant("table", &[3, 2], &[1f32, 2.0, 3.0, 4.0, 5.5, 7.0]).input::<i64>("ids", &[2, 2]);
    let dims: &[usize] = if scale.len() == 1 { &[] } else { &[2] };
    model.typed("rows", kernels::tensor::DType::F32, [2, 2, 2].map(crate::ir::Dim::Known).to_vec());
    model.constant("scale", dims, scale).node("Gather", &["table", "ids"], &["rows"], vec![("axis", Attr::Int(axis))]);
    model.node("Mul", &["rows", "scale"], &["y"], vec![]).output("y");
    model
}

#[test]
fn the_table_takes_the_scale() {
    let ids = [Value::new(&[2, 2], &[2i64, 0, 1, -1])];
    // Each element is one product, here and there.
    check(&model(0, &[0.3]), &["spacemit.Embedding"], "rows", &ids, 0.0);
}

#[test]
fn near_misses_stay() {
    for model in [model(1, &[0.3]), model(0, &[0.3, 0.4])] {
        assert_eq!(fused(&model), ["Gather", "Mul"]);
    }
}
