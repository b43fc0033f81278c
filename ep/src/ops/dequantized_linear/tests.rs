use kernels::tensor::DType;

use crate::ir::Attr;
use crate::testing::{Model, Value};

const K: usize = 48;
const N: usize = 5;
const BLOCK: usize = 16;

/// Code of `[row, column]` in two's complement, as far as `bits` bits hold it.
fn code(row: usize, column: usize, bits: u32) -> u8 {
    (row * 5 + column * 3 + row * column) as u8 & (u8::MAX >> (8 - bits))
}

/// What a code, or a zero point, stands for.
fn number(code: u8, dtype: DType) -> f64 {
    match dtype {
        DType::I4 => f64::from((code << 4) as i8 >> 4),
        DType::I8 => f64::from(code as i8),
        _ => f64::from(code),
    }
}

/// Codes of a matrix as the tensor has them.
fn stored(codes: &[u8], dtype: DType) -> Vec<u8> {
    match dtype.is_nibble() {
        true => codes.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 4).collect(),
        false => codes.to_vec(),
    }
}

fn rows() -> Vec<f32> {
    (0..2 * K).map(|i| (i * 7 % 11) as f32 / 4.0 - 1.0).collect()
}

/// Checks one form of a weight; the parameters are those of blocks, or of columns.
fn check(dtype: DType, transposed: bool, blocked: bool, zero: bool) {
    let bits = if dtype.is_nibble() { 4 } else { 8 };
    let blocks = if blocked { K / BLOCK } else { 1 };
    let scale = |block: usize, column: usize| (block * N + column + 1) as f32 / 64.0;
    let zero_point = |block: usize, column: usize| code(block + 3, column + 1, bits);
    let grid = |height: usize, width: usize| {
        let (outer, inner) = if transposed { (width, height) } else { (height, width) };
        (0..outer * inner).map(move |i| if transposed { (i % inner, i / inner) } else { (i / inner, i % inner) })
    };
    let codes: Vec<u8> = grid(K, N).map(|(row, column)| code(row, column, bits)).collect();
    let scales: Vec<f32> = grid(blocks, N).map(|(block, column)| scale(block, column)).collect();
    let zero_points: Vec<u8> = grid(blocks, N).map(|(block, column)| zero_point(block, column)).collect();
    let dims = |height: usize| if transposed { vec![N, height] } else { vec![height, N] };
    let parameter_dims = if blocked { dims(blocks) } else { vec![N] };
    let mut model = Model::new();
    model.input::<f32>("a", &[2, K]).nibbles("b", dtype, &dims(K), &stored(&codes, dtype));
    model.constant("scale", &parameter_dims, &scales);
    model.nibbles("zero", dtype, &parameter_dims, &stored(&zero_points, dtype));
    let axis = if blocked == transposed { 1 } else { 0 };
    let mut attrs = vec![("axis", Attr::Int(axis)), ("transB", Attr::Int(transposed.into()))];
    if blocked {
        attrs.push(("block_size", Attr::Int(BLOCK as i64)));
    } else {
        attrs[0] = ("axis", Attr::Int(if transposed { 0 } else { -1 }));
    }
    let inputs = ["a", "b", "scale", if zero { "zero" } else { "" }];
    model.domain("spacemit").version(1).node("DequantizedLinear", &inputs, &["y"], attrs).output("y");
    let y = model.run(&[Value::new(&[2, K], &rows())]).unwrap();
    for (index, y) in y[0].values::<f32>().iter().enumerate() {
        let (row, column) = (index / N, index % N);
        let expected: f64 = (0..K)
            .map(|depth| {
                let block = if blocked { depth / BLOCK } else { 0 };
                let shift = if zero { number(zero_point(block, column), dtype) } else { 0.0 };
                let weight = (number(code(depth, column, bits), dtype) - shift) * f64::from(scale(block, column));
                f64::from(rows()[row * K + depth]) * weight
            })
            .sum();
        // Sums of 48 terms below 2 * 511 / 4.
        assert!((f64::from(*y) - expected).abs() <= 49.0 * 256.0 * f64::from(f32::EPSILON), "{y} is not {expected}");
    }
}

#[test]
fn weights_of_all_types_and_orders_give_the_product() {
    for dtype in [DType::I4, DType::U4, DType::I8, DType::U8] {
        for transposed in [false, true] {
            for blocked in [false, true] {
                check(dtype, transposed, blocked, false);
                check(dtype, transposed, blocked, true);
            }
        }
    }
}
