use half::f16;

use crate::ir::Attr;
use crate::testing::{Model, Value};

/// Small whole numbers, whose products and sums are exact in f32.
pub(in crate::ops) fn whole(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7 + seed * 13 + i / 5) % 9) as f32 - 4.0).collect()
}

/// ONNX's MatMul of ranks 2 and more, by its definition.
fn matmul(a: (&[usize], &[f32]), b: (&[usize], &[f32])) -> (Vec<usize>, Vec<f32>) {
    let (ra, rb) = (a.0.len(), b.0.len());
    let rank = ra.max(rb);
    let at = |dims: &[usize], axis: usize| if axis + dims.len() < rank { 1 } else { dims[axis + dims.len() - rank] };
    let mut dims: Vec<usize> =
        (0..rank - 2).map(|axis| if at(a.0, axis) == 1 { at(b.0, axis) } else { at(a.0, axis) }).collect();
    let (m, k, n) = (a.0[ra - 2], a.0[ra - 1], b.0[rb - 1]);
    let batch: usize = dims.iter().product();
    let first = |dims: &[usize], full: &[usize], index: usize| {
        let (mut offset, mut rest) = (0, index);
        let mut stride = dims[dims.len() - 2] * dims[dims.len() - 1];
        for axis in (0..rank - 2).rev() {
            let position = rest % full[axis];
            rest /= full[axis];
            if at(dims, axis) != 1 {
                offset += position * stride;
            }
            stride *= at(dims, axis);
        }
        offset
    };
    let mut y = Vec::new();
    for index in 0..batch {
        let (a0, b0) = (first(a.0, &dims, index), first(b.0, &dims, index));
        for row in 0..m {
            for column in 0..n {
                y.push((0..k).fold(0.0, |sum, d| sum + a.1[a0 + row * k + d] * b.1[b0 + d * n + column]));
            }
        }
    }
    dims.extend([m, n]);
    (dims, y)
}

fn run(op: &str, a: &[usize], b: &[usize], constant: bool, attrs: Vec<(&str, Attr<'static>)>) -> Value {
    let (x, w) = (whole(a.iter().product(), 1), whole(b.iter().product(), 2));
    let mut model = Model::new();
    if op == "FusedMatMul" {
        model.domain("com.microsoft").version(1);
    }
    model.input::<f32>("a", a);
    let mut inputs = vec![Value::new(a, &x)];
    if constant {
        model.constant("b", b, &w);
    } else {
        model.input::<f32>("b", b);
        inputs.push(Value::new(b, &w));
    }
    model.node(op, &["a", "b"], &["y"], attrs).output("y");
    model.run(&inputs).unwrap().remove(0)
}

#[test]
fn all_ranks_and_broadcasts() {
    let shapes: [(&[usize], &[usize]); 10] = [
        (&[2, 3], &[3, 4]),
        (&[1, 1], &[1, 1]),
        (&[2, 5, 3], &[3, 70]),
        (&[2, 1, 5, 3], &[3, 3, 4]),
        (&[5, 3], &[2, 3, 4]),
        (&[7, 2, 5, 3], &[7, 2, 3, 4]),
        (&[1, 2, 5, 3], &[7, 1, 3, 4]),
        (&[2, 0, 3], &[3, 4]),
        (&[2, 5, 0], &[2, 0, 4]),
        (&[0, 5, 3], &[0, 3, 4]),
    ];
    for (a, b) in shapes {
        let (dims, y) = matmul((a, &whole(a.iter().product(), 1)), (b, &whole(b.iter().product(), 2)));
        for constant in [false, true] {
            assert_eq!(run("MatMul", a, b, constant, vec![]), Value::new(&dims, &y), "{a:?} x {b:?}, {constant}");
        }
    }
}

#[test]
fn vectors_lose_their_axis() {
    for constant in [false, true] {
        let (_, y) = matmul((&[1, 3], &whole(3, 1)), (&[2, 3, 4], &whole(24, 2)));
        assert_eq!(run("MatMul", &[3], &[2, 3, 4], constant, vec![]), Value::new(&[2, 4], &y));
        let (_, y) = matmul((&[1, 3], &whole(3, 1)), (&[3, 4], &whole(12, 2)));
        assert_eq!(run("MatMul", &[3], &[3, 4], constant, vec![]), Value::new(&[4], &y));
        let (_, y) = matmul((&[2, 5, 3], &whole(30, 1)), (&[3, 1], &whole(3, 2)));
        assert_eq!(run("MatMul", &[2, 5, 3], &[3], constant, vec![]), Value::new(&[2, 5], &y));
        let (_, y) = matmul((&[1, 3], &whole(3, 1)), (&[3, 1], &whole(3, 2)));
        assert_eq!(run("MatMul", &[3], &[3], constant, vec![]), Value::new(&[], &y));
    }
}

#[test]
fn sums_of_nothing_are_zero() {
    let attrs = vec![("transA", Attr::Int(1)), ("transBatchA", Attr::Int(1))];
    for constant in [false, true] {
        let y = run("FusedMatMul", &[0, 2, 5], &[2, 0, 4], constant, attrs.clone());
        assert_eq!(y, Value::new(&[2, 5, 4], &[0f32; 40]));
    }
}

/// `x` of shape `dims` with axes in the order `perm`.
fn permute(dims: &[usize], x: &[f32], perm: &[usize]) -> (Vec<usize>, Vec<f32>) {
    let to: Vec<usize> = perm.iter().map(|&axis| dims[axis]).collect();
    let mut y = Vec::new();
    for index in 0..x.len() {
        let mut place = vec![0; dims.len()];
        let mut rest = index;
        for (axis, &size) in to.iter().enumerate().rev() {
            place[perm[axis]] = rest % size;
            rest /= size;
        }
        y.push(x[place.iter().zip(dims).fold(0, |offset, (&position, &size)| offset * size + position)]);
    }
    (to, y)
}

#[test]
fn fused_products_transpose_and_scale() {
    // (dims of A as multiplied, of B as multiplied): rank 4.
    let (a, b) = ([2, 3, 4, 5], [2, 3, 5, 6]);
    let (dims, y) = matmul((&a, &whole(120, 1)), (&b, &whole(180, 2)));
    let y: Vec<f32> = y.iter().map(|y| y * 0.5).collect();
    let perms = |transposed, batch| -> [usize; 4] {
        match (transposed, batch) {
            (false, false) => [0, 1, 2, 3],
            (true, false) => [0, 1, 3, 2],
            // The first axis goes behind the batch: the stored tensor is [rows, batch.., columns].
            (false, true) => [2, 0, 1, 3],
            (true, true) => [3, 0, 1, 2],
        }
    };
    for flags in 0..16 {
        let [ta, tb, ba, bb] = [0, 1, 2, 3].map(|bit| flags >> bit & 1 == 1);
        let stored_a = permute(&a, &whole(120, 1), &perms(ta, ba));
        let stored_b = permute(&b, &whole(180, 2), &perms(tb, bb));
        let flag = |on: bool| Attr::Int(on.into());
        let mut model = Model::new();
        model.domain("com.microsoft").version(1).input::<f32>("a", &stored_a.0).input::<f32>("b", &stored_b.0);
        let attrs = vec![
            ("alpha", Attr::Float(0.5)),
            ("transA", flag(ta)),
            ("transB", flag(tb)),
            ("transBatchA", flag(ba)),
            ("transBatchB", flag(bb)),
        ];
        model.node("FusedMatMul", &["a", "b"], &["y"], attrs).output("y");
        let inputs = [Value::new(&stored_a.0, &stored_a.1), Value::new(&stored_b.0, &stored_b.1)];
        assert_eq!(model.run(&inputs).unwrap()[0], Value::new(&dims, &y), "{ta} {tb} {ba} {bb}");
    }
    let (_, y) = matmul(
        (&[4, 3], &permute(&[3, 4], &whole(12, 1), &[1, 0]).1),
        (&[3, 5], &permute(&[5, 3], &whole(15, 2), &[1, 0]).1),
    );
    let flags = || vec![("transA", Attr::Int(1)), ("transB", Attr::Int(1))];
    assert_eq!(run("FusedMatMul", &[3, 4], &[5, 3], true, flags()), Value::new(&[4, 5], &y));
}

#[test]
fn half_precision_is_rounded_once() {
    let (a, b): (Vec<f16>, Vec<f16>) = (vec![f16::from_f32(256.0); 300], vec![f16::from_f32(1.0 / 1024.0); 300]);
    let mut model = Model::new();
    model
        .input::<f16>("a", &[1, 300])
        .constant("b", &[300, 1], &b)
        .node("MatMul", &["a", "b"], &["y"], vec![])
        .output("y");
    let y = model.run(&[Value::new(&[1, 300], &a)]).unwrap();
    assert_eq!(y[0], Value::new(&[1, 1], &[f16::from_f32(75.0)]));
}

#[test]
fn shapes_without_product_are_errors() {
    let mut model = Model::new();
    model.input::<f32>("a", &[2, 3]).input::<f32>("b", &[4, 5]).node("MatMul", &["a", "b"], &["y"], vec![]).output("y");
    let inputs = [Value::new(&[2, 3], &[0f32; 6]), Value::new(&[4, 5], &[0f32; 20])];
    assert!(model.run(&inputs).unwrap_err().to_string().contains("no product"));
}
