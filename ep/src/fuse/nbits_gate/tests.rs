use crate::fuse::tests::{check, fused, noise};
use crate::ir::Attr;
use crate::testing::{Model, Value};

const K: usize = 64;
const N: usize = 40;

/// The feed-forward network of decoders, up to the product of both halves; `up_input` and `up_columns` are those of the
/// second half.
fn network(up_input: &str, up_columns: usize, level: i64) -> Model {
    let mut model = Model::new();
    model.input::<f32>("x", &[2, 3, K]).input::<f32>("other", &[2, 3, K]);
    for (name, seed, input, columns) in [("gate", 3, "x", N), ("up", 5, up_input, up_columns)] {
        let codes: Vec<u8> = (0..columns * K / 2).map(|i| (i * 37 + i / seed) as u8).collect();
        let scales: Vec<f32> = noise(seed as u64, &[columns, K / 32]).iter().map(|x| x / 64.0).collect();
        let names = [format!("{name}_b"), format!("{name}_scales"), format!("{name}_bias")];
        model.constant(&names[0], &[columns, K / 32, 16], &codes).constant(&names[1], &[columns, K / 32], &scales);
        model.constant(&names[2], &[columns], &noise(7, &[columns]));
        let ints = [("K", K as i64), ("N", columns as i64), ("bits", 4), ("block_size", 32), ("accuracy_level", level)];
        let attrs = ints.map(|(name, value)| (name, Attr::Int(value))).to_vec();
        let inputs = [input, &names[0], &names[1], "", "", &names[2]];
        model.domain("com.microsoft").version(1).node("MatMulNBits", &inputs, &[name], attrs);
    }
    model.domain("").version(21);
    model
}

/// `silu(gate) * up`, as exporters write it.
fn silu(model: &mut Model) {
    model.node("Sigmoid", &["gate"], &["sigmoid"], vec![]).node("Mul", &["gate", "sigmoid"], &["active"], vec![]);
    model.node("Mul", &["active", "up"], &["y"], vec![]).output("y");
}

fn inputs() -> [Value; 2] {
    [5, 6].map(|seed| Value::new(&[2, 3, K], &noise(seed, &[2, 3, K])))
}

#[test]
fn both_halves_are_one_operator() {
    for level in [0, 4] {
        let mut model = network("x", N, level);
        silu(&mut model);
        // Both ways take the same int8 rows; then sums of 64 terms below 2 * 15 / 32, twice.
        for inner in ["active", "up"] {
            check(&model, &["spacemit.NBitsGate"], inner, &inputs(), 2e-5);
        }
    }
}

#[test]
fn many_rows_take_the_same_path_apart() {
    let mut model = network("x", N, 0);
    silu(&mut model);
    let wide = Value::new(&[1, 20, K], &noise(8, &[1, 20, K]));
    let narrow = |row: usize| Value::new(&[1, 1, K], &wide.values::<f32>()[row * K..(row + 1) * K]);
    let many = model.run(&[wide.clone(), wide.clone()]).unwrap();
    for row in 0..20 {
        let one = model.run(&[narrow(row), narrow(row)]).unwrap();
        crate::fuse::tests::assert_close(&many[0].values::<f32>()[row * N..(row + 1) * N], one[0].values(), 2e-5);
    }
}

#[test]
fn near_misses_stay() {
    let mut other = network("other", N, 0);
    silu(&mut other);
    assert_eq!(fused(&other), ["spacemit.NBitsLinear", "spacemit.NBitsLinear", "Mul"]);
    let mut ungated = network("x", N, 0);
    ungated.node("Mul", &["gate", "up"], &["y"], vec![]).output("y");
    assert_eq!(fused(&ungated), ["spacemit.NBitsLinear", "spacemit.NBitsLinear", "Mul"]);
    let mut relu = network("x", N, 0);
    relu.node("Relu", &["gate"], &["active"], vec![]).node("Mul", &["active", "up"], &["y"], vec![]).output("y");
    assert_eq!(fused(&relu), ["spacemit.NBitsLinear", "spacemit.NBitsLinear", "Mul"]);
    let mut single = network("x", 1, 0);
    silu(&mut single);
    assert_eq!(fused(&single), ["spacemit.NBitsLinear", "spacemit.NBitsLinear", "Mul"]);
}
