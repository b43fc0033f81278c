use kernels::ops::matmul_int::{BatchedMatMulInt, IntBatchShape, LeftSide, MAX_K, RightSide, ZeroPoint};
use kernels::ops::quantize::Requantize;
use kernels::tensor::{DType, elements};

use super::matmul::{Form, Product};
use super::{Code, Decline, Lower, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: "",
    name: "QLinearMatMul",
    versions: 10..=28,
    inputs: 8..=8,
    outputs: 1..=1,
    attrs: &[],
    work: Work::Heavy,
    lower,
}];

/// Inputs: a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point.
struct QLinearMatMul {
    /// Whether a, b and y are i8 instead of u8.
    signed: [bool; 3],
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let mut signed = [false; 3];
    for (signed, (value, zero_point)) in signed.iter_mut().zip([(0, 2), (3, 5), (7, 7)]) {
        let dtype = cx.dtype_in(value, &[DType::U8, DType::I8])?;
        cx.dtype_in(zero_point, &[dtype])?;
        *signed = dtype == DType::I8;
    }
    for scale in [1, 4, 6] {
        cx.dtype_in(scale, &[DType::F32])?;
    }
    for index in [1, 2, 6, 7] {
        if cx.static_dims(index).is_none_or(|dims| elements(&dims) != 1) {
            return Err(Decline::new(Code::Input, format!("input {index} is not known to be one number")));
        }
    }
    for index in [4, 5] {
        if cx.rank(index).is_none_or(|rank| rank > 1) {
            return Err(Decline::new(Code::Rank, format!("input {index} is not known to be a number or a vector")));
        }
    }
    Ok(Box::new(QLinearMatMul { signed }))
}

impl Op for QLinearMatMul {
    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let product = Product::new(&b.dims(0)?, &b.dims(3)?, [Form::default(); 2])?;
        let (m, k, n) = (product.a.rows, product.a.columns, product.b.columns);
        if k > MAX_K {
            return Err(BindError::new(format!("sums over {k} products may exceed 32 bits")));
        }
        for index in [4, 5] {
            let dims = b.dims(index)?;
            if ![1, n].contains(&elements(&dims)) {
                let shape = dims.as_slice();
                return Err(BindError::new(format!("input {index} of shape {shape:?} does not fit {n} columns")));
            }
        }
        let [a_signed, b_signed, y_signed] = self.signed;
        let left = LeftSide { signed: a_signed, zero_point: ZeroPoint::Tensor };
        let right = RightSide { signed: b_signed, zero_point: true };
        let len = elements(&product.out);
        let sums = b.temp(DType::I32, len)?;
        let operands = [b.input(0)?, b.input(3)?, b.input(2)?, b.input(5)?];
        let shape = IntBatchShape { m, k, n, offsets: product.offsets };
        b.step(BatchedMatMulInt::new(b.target(), shape, left, right), &operands, &[sums]);
        let y = b.output(0, if y_signed { DType::I8 } else { DType::U8 }, &product.out)?;
        let operands = [sums, b.input(1)?, b.input(4)?, b.input(6)?, b.input(7)?];
        b.step(Requantize { len, n, inner: 1, signed: y_signed }, &operands, &[y]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kernels::tensor::DType;

    use crate::testing::{Model, Value};

    #[test]
    fn rescales_and_saturates() {
        let (a, b) = ([3u8, 250, 128, 7, 0, 255], [1u8, 200, 128, 9, 255, 0]);
        for b_scales in [&[0.005f32][..], &[0.005, 0.5]] {
            let mut model = Model::new();
            model.input::<u8>("a", &[2, 3]).input::<u8>("b", &[3, 2]).constant("as", &[], &[0.05f32]);
            model.constant("az", &[], &[100u8]).constant("bs", &[b_scales.len()], b_scales);
            model.constant("bz", &[], &[120u8]).constant("ys", &[], &[0.1f32]).constant("yz", &[1], &[118u8]);
            model.node("QLinearMatMul", &["a", "as", "az", "b", "bs", "bz", "ys", "yz"], &["y"], vec![]).output("y");
            let mut expected = Vec::new();
            for (row, column) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let term = |d: usize| (i32::from(a[row * 3 + d]) - 100) * (i32::from(b[d * 2 + column]) - 120);
                let sum: i32 = (0..3).map(term).sum();
                let scaled = sum as f32 * (0.05f32 * b_scales[column % b_scales.len()] / 0.1);
                expected.push((scaled.round_ties_even() + 118.0).clamp(0.0, 255.0) as u8);
            }
            let y = model.run(&[Value::new(&[2, 3], &a), Value::new(&[3, 2], &b)]).unwrap();
            assert_eq!(y[0], Value::new(&[2, 2], &expected));
            assert_eq!(expected.contains(&0), b_scales.len() == 2, "the larger scale saturates");
        }
    }

    #[test]
    fn large_sums_are_scaled_in_f32() {
        // 4608 products of 255 and -128 make a sum of -1.5e8, beyond 16 bits, f16 and the integers exact in f32.
        const K: usize = 4608;
        for (ratio, expected) in [(1e-9f32, [0i8, 0]), (1e-6, [-128, 127]), (4e-7, [-60, 60]), (1e3, [-128, 127])] {
            let b: Vec<i8> = (0..2 * K).map(|i| if i % 2 == 0 { -128 } else { 127 }).collect();
            let mut model = Model::new();
            model.input::<u8>("a", &[1, K]).constant("as", &[], &[ratio]).constant("az", &[], &[0u8]);
            model.constant("b", &[K, 2], &b).constant("bs", &[], &[1f32]).constant("bz", &[], &[0i8]);
            model.constant("ys", &[], &[1f32]).constant("yz", &[], &[0i8]).typed("y", DType::I8, vec![]);
            model.node("QLinearMatMul", &["a", "as", "az", "b", "bs", "bz", "ys", "yz"], &["y"], vec![]).output("y");
            let y = model.run(&[Value::new(&[1, K], &[255u8; K])]).unwrap();
            assert_eq!(y[0], Value::new(&[1, 2], &expected), "{ratio}");
        }
    }
}
