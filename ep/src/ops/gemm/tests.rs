use crate::ir::Attr;
use crate::ops::matmul::tests::whole;
use crate::testing::{Model, Value};

const M: usize = 5;
const K: usize = 7;
const N: usize = 66;

/// Runs a Gemm with C of shape `c` and compares it with plain loops.
fn check(transposed: [bool; 2], constant: bool, alpha: f32, beta: f32, c: Option<&[usize]>) {
    let (a, b) = (whole(M * K, 1), whole(K * N, 2));
    let c_values = whole(c.unwrap_or(&[]).iter().product(), 3);
    let a_dims = if transposed[0] { [K, M] } else { [M, K] };
    let b_dims = if transposed[1] { [N, K] } else { [K, N] };
    let mut model = Model::new();
    model.input::<f32>("a", &a_dims);
    let mut inputs = vec![Value::new(&a_dims, &a)];
    if constant {
        model.constant("b", &b_dims, &b);
    } else {
        model.input::<f32>("b", &b_dims);
        inputs.push(Value::new(&b_dims, &b));
    }
    let mut names = vec!["a", "b"];
    if let Some(c) = c {
        model.input::<f32>("c", c);
        inputs.push(Value::new(c, &c_values));
        names.push("c");
    }
    let flag = |on: bool| Attr::Int(on.into());
    let attrs = vec![
        ("alpha", Attr::Float(alpha)),
        ("beta", Attr::Float(beta)),
        ("transA", flag(transposed[0])),
        ("transB", flag(transposed[1])),
    ];
    model.node("Gemm", &names, &["y"], attrs).output("y");
    let mut expected = Vec::new();
    for row in 0..M {
        for column in 0..N {
            let product: f32 = (0..K)
                .map(|d| {
                    let a = if transposed[0] { a[d * M + row] } else { a[row * K + d] };
                    a * if transposed[1] { b[column * K + d] } else { b[d * N + column] }
                })
                .sum();
            let added = c.map_or(0.0, |c| {
                let width = c.last().copied().unwrap_or(1);
                let row = if c.len() == 2 && c[0] == M { row } else { 0 };
                c_values[row * width + if width == N { column } else { 0 }]
            });
            expected.push(alpha * product + beta * added);
        }
    }
    let y = model.run(&inputs).unwrap();
    assert_eq!(y[0], Value::new(&[M, N], &expected), "{transposed:?} {constant} {alpha} {beta} {c:?}");
}

#[test]
fn all_forms_agree_with_plain_loops() {
    let shapes: [Option<&[usize]>; 8] =
        [None, Some(&[]), Some(&[1]), Some(&[N]), Some(&[1, N]), Some(&[M, 1]), Some(&[M, N]), Some(&[1, 1])];
    for transposed in [[false, false], [true, false], [false, true], [true, true]] {
        for constant in [false, true] {
            for c in shapes {
                check(transposed, constant, 1.0, 1.0, c);
                check(transposed, constant, 0.5, -2.0, c);
            }
            check(transposed, constant, 1.0, 0.0, Some(&[N]));
        }
    }
}

#[test]
fn nothing_is_read_of_c_when_beta_is_zero() {
    let mut model = Model::new();
    model.input::<f32>("a", &[1, 1]).constant("b", &[1, 1], &[3f32]).input::<f32>("c", &[1]);
    model.node("Gemm", &["a", "b", "c"], &["y"], vec![("beta", Attr::Float(0.0))]).output("y");
    let y = model.run(&[Value::new(&[1, 1], &[2f32]), Value::new(&[1], &[f32::NAN])]).unwrap();
    assert_eq!(y[0], Value::new(&[1, 1], &[6f32]));
}
