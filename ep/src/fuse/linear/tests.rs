use crate::fuse::tests::{assert_close, check, fused, noise};
use crate::ir::Attr;
use crate::testing::{Model, Value};

const ROWS: [usize; 2] = [3, 7];
const K: usize = 16;
const N: usize = 24;

/// Sums of 17 products below 4.
pub const TOLERANCE: f32 = 1e-5;

pub fn start() -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &[ROWS[0], ROWS[1], K]).input::<f32>("residual", &[ROWS[0], ROWS[1], N]);
    model.constant("weight", &[K, N], &noise(2, &[K, N])).constant("bias", &[N], &noise(3, &[N]));
    model
}

pub fn inputs() -> [Value; 2] {
    let value = |seed, dims: &[usize]| Value::new(dims, &noise(seed, dims));
    [value(1, &[ROWS[0], ROWS[1], K]), value(4, &[ROWS[0], ROWS[1], N])]
}

/// `gelu(x * weight + bias) + residual`
fn layer() -> Model {
    let mut model = start();
    model.node("MatMul", &["x", "weight"], &["product"], vec![]).node("Add", &["bias", "product"], &["sum"], vec![]);
    model.node("Gelu", &["sum"], &["active"], vec![]);
    model.node("Add", &["active", "residual"], &["y"], vec![]).output("y");
    model
}

#[test]
fn bias_activation_and_residual_are_one_operator() {
    for inner in ["product", "sum", "active"] {
        check(&layer(), &["spacemit.Linear"], inner, &inputs(), TOLERANCE);
    }
}

#[test]
fn a_linear_layer_is_what_the_formula_says() {
    let [x, residual] = inputs();
    let (weight, bias) = (noise(2, &[K, N]), noise(3, &[N]));
    let mut model = start();
    model.node("MatMul", &["x", "weight"], &["product"], vec![]).node("Add", &["product", "bias"], &["sum"], vec![]);
    model.node("Relu", &["sum"], &["active"], vec![]);
    model.node("Add", &["residual", "active"], &["y"], vec![]).output("y");
    assert_eq!(fused(&model), ["spacemit.Linear"]);
    let mut expected = Vec::new();
    for (row, residual) in x.values::<f32>().chunks(K).zip(residual.values::<f32>().chunks(N)) {
        for (column, residual) in residual.iter().enumerate() {
            let products = row.iter().zip(weight[column..].iter().step_by(N));
            let sum: f64 = products.map(|(&x, &w)| f64::from(x) * f64::from(w)).sum();
            expected.push(((sum + f64::from(bias[column])).max(0.0) + f64::from(*residual)) as f32);
        }
    }
    let y = model.run(&[x, Value::new(&[ROWS[0], ROWS[1], N], residual.values::<f32>())]).unwrap();
    assert_close(y[0].values(), &expected, TOLERANCE);
}

#[test]
fn reshapes_around_gemm_go() {
    let rows = (ROWS[0] * ROWS[1]) as i64;
    let model = |flat: [i64; 2], back: [i64; 3]| {
        let mut model = start();
        model.constant("transposed", &[N, K], &noise(5, &[N, K]));
        model.constant("flat", &[2], &flat).constant("back", &[3], &back);
        model.node("Reshape", &["x", "flat"], &["matrix"], vec![]);
        let attrs = vec![("alpha", Attr::Float(0.5)), ("transB", Attr::Int(1))];
        model.node("Gemm", &["matrix", "transposed", "bias"], &["product"], attrs);
        model.node("Reshape", &["product", "back"], &["tensor"], vec![]);
        model.node("Add", &["tensor", "residual"], &["y"], vec![]).output("y");
        model
    };
    let [a, b, n] = [ROWS[0] as i64, ROWS[1] as i64, N as i64];
    for (flat, back) in [([-1, K as i64], [a, b, n]), ([rows, K as i64], [a, -1, n])] {
        for inner in ["matrix", "product", "tensor"] {
            check(&model(flat, back), &["spacemit.Linear"], inner, &inputs(), TOLERANCE);
        }
    }
    assert!(fused(&model([-1, K as i64], [b, a, n])).contains(&"Reshape".to_owned()), "swapped dimensions");
}

#[test]
fn near_misses_stay() {
    let with = |bias: &[usize], second: &str| {
        let mut model = start();
        model.constant("other", bias, &noise(6, bias));
        model.node("MatMul", &["x", "weight"], &["product"], vec![]);
        model.node(second, &["product", "other"], &["y"], vec![]).output("y");
        fused(&model)
    };
    assert_eq!(with(&[ROWS[1], N], "Mul"), ["spacemit.Linear", "Mul"]);
    assert_eq!(with(&[N], "Sub"), ["spacemit.Linear", "Sub"]);

    let mut variable = Model::new();
    variable.input::<f32>("a", &[2, 3]).input::<f32>("b", &[3, 4]);
    variable.node("MatMul", &["a", "b"], &["product"], vec![]).node("Relu", &["product"], &["y"], vec![]).output("y");
    assert_eq!(fused(&variable), ["MatMul", "Relu"]);

    let mut wider = Model::new();
    wider.input::<f32>("a", &[1, K]).input::<f32>("b", &[5, N]).constant("weight", &[K, N], &noise(2, &[K, N]));
    wider.typed("product", kernels::tensor::DType::F32, [1, N].map(crate::ir::Dim::Known).to_vec());
    wider.node("MatMul", &["a", "weight"], &["product"], vec![]);
    wider.node("Add", &["product", "b"], &["y"], vec![]).output("y");
    assert_eq!(fused(&wider), ["spacemit.Linear", "Add"]);
}
