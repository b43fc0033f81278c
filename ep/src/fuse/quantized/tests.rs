use kernels::tensor::DType;

use crate::fuse::tests::{fused, noise};
use crate::ir::Attr;
use crate::testing::{Model, Value};

const ROWS: usize = 5;
const K: usize = 20;
const N: usize = 12;

/// Dynamically quantised products of one `x` with the weights `names`, each with a bias.
fn model(names: &[&str]) -> Model {
    model_of(names, |model, name, dtype| {
        model.typed(name, dtype, vec![]);
    })
}

/// [`model`] where `declare` declares the scalars that the quantisation makes.
fn model_of(names: &[&str], declare: impl Fn(&mut Model, &str, DType)) -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &[ROWS, K]).input::<f32>("residual", &[ROWS, N]);
    model.typed("quantized", DType::U8, vec![]);
    declare(&mut model, "scale", DType::F32);
    declare(&mut model, "zero", DType::U8);
    model.node("DynamicQuantizeLinear", &["x"], &["quantized", "scale", "zero"], vec![]);
    for (seed, name) in names.iter().enumerate() {
        let of = |part: &str| format!("{name}_{part}");
        let weight: Vec<i8> = noise(seed as u64, &[K, N]).iter().map(|x| (x * 60.0) as i8).collect();
        model.constant(&of("weight"), &[K, N], &weight).constant(&of("weight_zero"), &[], &[0i8]);
        model.constant(&of("weight_scale"), &[], &[0.01f32]).constant(&of("bias"), &[N], &noise(9, &[N]));
        model.typed(&of("sums"), DType::I32, vec![]).typed(&of("floats"), DType::F32, vec![]);
        let inputs = ["quantized", &of("weight"), "zero", &of("weight_zero")];
        model.node("MatMulInteger", &inputs, &[&of("sums")], vec![]);
        model.node("Cast", &[&of("sums")], &[&of("floats")], vec![("to", Attr::Int(1))]);
        model.node("Mul", &["scale", &of("weight_scale")], &[&of("scales")], vec![]);
        model.node("Mul", &[&of("floats"), &of("scales")], &[&of("product")], vec![]);
        model.node("Add", &[&of("bias"), &of("product")], &[name], vec![]);
    }
    model
}

fn inputs() -> [Value; 2] {
    [Value::new(&[ROWS, K], &noise(7, &[ROWS, K])), Value::new(&[ROWS, N], &noise(8, &[ROWS, N]))]
}

#[test]
fn one_quantisation_serves_all_products() {
    let mut model = model(&["q", "k", "v"]);
    model.output("q").output("k").output("v");
    assert_eq!(fused(&model), ["DynamicQuantizeLinear", "spacemit.QLinear", "spacemit.QLinear", "spacemit.QLinear"]);
    let mut apart = model.clone();
    ["q_sums", "k_sums", "v_sums"].iter().for_each(|sums| {
        apart.output(sums);
    });
    assert!(!fused(&apart).contains(&"spacemit.QLinear".to_owned()));
    let (fused, unfused) = (model.run(&inputs()).unwrap(), apart.run(&inputs()).unwrap());
    // The sums are exact; scale and bias round in the same order, but a multiply-add may round once.
    for (fused, unfused) in fused.iter().zip(&unfused) {
        crate::fuse::tests::assert_close(fused.values(), unfused.values(), 2.0 * f32::EPSILON);
    }
}

#[test]
fn scalars_of_the_quantisation_need_no_known_rank() {
    let run = |mut model: Model| {
        model.output("q");
        assert_eq!(fused(&model), ["DynamicQuantizeLinear", "spacemit.QLinear"]);
        model.run(&inputs()).unwrap()
    };
    let unknown = model_of(&["q"], |model, name, dtype| {
        model.typed_only(name, dtype);
    });
    assert_eq!(run(unknown), run(model(&["q"])));
}

#[test]
fn activation_and_residual_follow() {
    let mut model = model(&["dense"]);
    model.node("Gelu", &["dense"], &["active"], vec![]);
    model.node("Add", &["residual", "active"], &["y"], vec![]).output("y");
    let expected = ["DynamicQuantizeLinear", "spacemit.QLinear"];
    crate::fuse::tests::check(&model, &expected, "dense", &inputs(), 1e-6);
}

#[test]
fn scales_that_vary_stay() {
    let mut model = Model::new();
    model.input::<u8>("x", &[ROWS, K]).input::<f32>("scale", &[]).input::<f32>("other", &[]);
    model.constant("weight", &[K, N], &[1i8; K * N]);
    model.typed("sums", DType::I32, vec![]).typed("floats", DType::F32, vec![]);
    model.node("MatMulInteger", &["x", "weight"], &["sums"], vec![]);
    model.node("Cast", &["sums"], &["floats"], vec![("to", Attr::Int(1))]);
    model.node("Mul", &["scale", "other"], &["scales"], vec![]);
    model.node("Mul", &["floats", "scales"], &["y"], vec![]).output("y");
    assert_eq!(fused(&model), ["MatMulInteger", "Cast", "Mul", "Mul"]);
}
