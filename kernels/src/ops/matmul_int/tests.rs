use std::sync::Arc;

use super::*;
use crate::isa::{CoreKind, Target};
use crate::ops::epilogue::{Activation, Epilogue, Position, Residual};
use crate::pack::{PackedWeights, WeightData, WeightSource};
use crate::reference::matmul::matmul_int;
use crate::select;
use crate::testing::{floats, run_one};

/// Bytes that hit both ends of the range often.
fn bytes(len: usize, seed: u32) -> Vec<u8> {
    let extreme = |x: f32| {
        if x < -0.5 {
            0
        } else if x > 0.5 {
            255
        } else {
            ((x + 0.5) * 255.0) as u8
        }
    };
    floats(len, seed).into_iter().map(extreme).collect()
}

fn values(bytes: &[u8], signed: bool) -> Vec<i32> {
    bytes.iter().map(|&x| if signed { i32::from(x as i8) } else { i32::from(x) }).collect()
}

fn pack(target: &Target, b: &[u8], signed: bool, k: usize, n: usize) -> Arc<PackedWeights> {
    let data = if signed { WeightData::I8(bytemuck::cast_slice(b)) } else { WeightData::U8(b) };
    Arc::new(PackedWeights::pack(select::i8_layout(target), WeightSource { data, k, n, transposed: false }).unwrap())
}

/// One target for each layout.
const TARGETS: [Target; 4] =
    [Target::host(1), Target::k1(), Target::k3(), Target { core: CoreKind::X60, ..Target::k1() }];

/// One product, and everything to compare it with.
struct Case {
    shape: [usize; 3],
    signed: (bool, bool),
    zero_point: ZeroPoint,
    a: Vec<u8>,
    b: Vec<u8>,
    a_zero_points: Vec<u8>,
    b_zero_points: Vec<u8>,
}

impl Case {
    fn new(shape: [usize; 3], signed: (bool, bool), zero_point: ZeroPoint, b_zero_points: usize) -> Self {
        let [m, k, n] = shape;
        let count = match zero_point {
            ZeroPoint::Absent => 0,
            ZeroPoint::Tensor => 1,
            ZeroPoint::Rows => m,
        };
        let (a, b) = (bytes(m * k, 1), bytes(k * n, 2));
        Self { shape, signed, zero_point, a, b, a_zero_points: bytes(count, 3), b_zero_points: bytes(b_zero_points, 4) }
    }

    fn expected(&self) -> Vec<i64> {
        let a_zero_points = values(&self.a_zero_points, self.signed.0);
        let b_zero_points = values(&self.b_zero_points, self.signed.1);
        let pick = |values: &[i32], index: usize| values.get(index).or(values.first()).copied().unwrap_or(0);
        matmul_int(
            &values(&self.a, self.signed.0),
            &values(&self.b, self.signed.1),
            self.shape,
            |row| pick(&a_zero_points, row),
            |column| pick(&b_zero_points, column),
        )
    }

    fn driver(&self, target: &Target, output: IntOutput) -> MatMulInt {
        let [m, k, n] = self.shape;
        let left = LeftSide { signed: self.signed.0, zero_point: self.zero_point };
        let weights = pack(target, &self.b, self.signed.1, k, n);
        MatMulInt::new(target, m, left, weights, &values(&self.b_zero_points, self.signed.1), output)
    }

    fn inputs(&self) -> Vec<&[u8]> {
        let zero_points = (!matches!(self.zero_point, ZeroPoint::Absent)).then_some(&self.a_zero_points[..]);
        std::iter::once(&self.a[..]).chain(zero_points).collect()
    }
}

#[test]
fn sums_are_exact_for_all_signs_and_zero_points() {
    for shape in
        [[1, 1, 1], [1, 37, 65], [7, 3, 64], [9, 130, 63], [2, 1025, 17], [129, 67, 70], [260, 5, 3], [3, 0, 5]]
    {
        for signed in [(false, true), (false, false), (true, true), (true, false)] {
            for zero_point in [ZeroPoint::Absent, ZeroPoint::Tensor, ZeroPoint::Rows] {
                for b_zero_points in [0, 1, shape[2]] {
                    let case = Case::new(shape, signed, zero_point, b_zero_points);
                    let len = shape[0] * shape[2];
                    let expected = case.expected();
                    for (ranks, target) in [(1, TARGETS[0]), (3, TARGETS[0]), (2, TARGETS[1]), (3, TARGETS[2])] {
                        let driver = case.driver(&target, IntOutput::I32);
                        let what = format!("{driver} {signed:?} {zero_point:?} {b_zero_points}");
                        let y = run_one::<i32>(driver, ranks, &case.inputs(), len).unwrap();
                        assert_eq!(y.into_iter().map(i64::from).collect::<Vec<_>>(), expected, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn depths_that_are_summed_in_parts_are_exact() {
    let case = Case::new([61, 1000, 50], (true, false), ZeroPoint::Rows, 50);
    for (ranks, target) in TARGETS.into_iter().enumerate() {
        let driver = case.driver(&target, IntOutput::I32);
        let what = driver.to_string();
        let y = run_one::<i32>(driver, ranks + 1, &case.inputs(), 61 * 50).unwrap();
        assert_eq!(y.into_iter().map(i64::from).collect::<Vec<_>>(), case.expected(), "{what}");
    }
}

#[test]
fn the_largest_sums_do_not_saturate() {
    let (m, k, n) = (2, MAX_K, 3);
    let (a, b) = (vec![255u8; m * k], vec![0x80u8; k * n]);
    let left = LeftSide { signed: false, zero_point: ZeroPoint::Absent };
    for target in TARGETS {
        let driver = MatMulInt::new(&target, m, left, pack(&target, &b, true, k, n), &[], IntOutput::I32);
        let y = run_one::<i32>(driver, 1, &[&a], m * n).unwrap();
        assert_eq!(y, vec![-(255 * 128 * MAX_K as i64) as i32; m * n]);
    }
}

#[test]
fn scaled_sums_go_through_the_epilogue() {
    let shape @ [m, _, n] = [37, 40, 163];
    let (bias, residual, a_scale) = (floats(n, 5), floats(m * n, 6), [3e-4f32]);
    let b_scales: Vec<f32> = floats(n, 7);
    for (zero_point, b_zero_points) in [
        (ZeroPoint::Absent, 0),
        (ZeroPoint::Tensor, 0),
        (ZeroPoint::Tensor, n),
        (ZeroPoint::Rows, 0),
        (ZeroPoint::Rows, n),
    ] {
        let case = Case::new(shape, (false, true), zero_point, b_zero_points);
        for (has_bias, activation, factor) in [
            (false, Activation::Identity, 0.0),
            (true, Activation::Identity, 0.0),
            (false, Activation::Relu, 1.0),
            (true, Activation::Relu, 1.0),
            (true, Activation::Identity, 0.5),
        ] {
            let residual_of = Residual { position: Position::AfterActivation, factor, strides: [n, 1] };
            let epilogue = Epilogue { bias: has_bias, activation, residual: (factor != 0.0).then_some(residual_of) };
            let operands = [(true, &a_scale[..]), (has_bias, &bias), (factor != 0.0, &residual)];
            let operands = operands.into_iter().filter(|(is_there, _)| *is_there).map(|(_, operand)| operand);
            let inputs: Vec<&[u8]> =
                case.inputs().into_iter().chain(operands.map(bytemuck::cast_slice::<f32, u8>)).collect();
            for target in TARGETS {
                let driver = case.driver(&target, IntOutput::F32 { b_scales: b_scales.clone(), epilogue });
                let what = format!("{driver} {zero_point:?} {b_zero_points}");
                let y = run_one::<f32>(driver, 2, &inputs, m * n).unwrap();
                for (index, (&y, &sum)) in y.iter().zip(&case.expected()).enumerate() {
                    let column = index % n;
                    // Each operation is rounded once, in this order.
                    let scaled = sum as f32 * (a_scale[0] * b_scales[column]);
                    let biased = if has_bias { scaled + bias[column] } else { scaled };
                    let active = if activation == Activation::Relu { biased.max(0.0) } else { biased };
                    assert_eq!(y, active + factor * residual[index], "{what}: element {index}");
                }
            }
        }
    }
}

#[test]
fn batches_known_at_run_time_are_exact() {
    for shape @ [m, k, n] in [[1, 1, 1], [3, 37, 65], [130, 9, 64], [3, 0, 5], [8, 20, 200]] {
        for signed in [(false, true), (false, false), (true, true), (true, false)] {
            for (zero_point, b_zero_points) in [(ZeroPoint::Absent, 0), (ZeroPoint::Tensor, 1), (ZeroPoint::Rows, n)] {
                // Two products with the same B; zero points of rows count on.
                let case = Case::new([2 * m, k, n], signed, zero_point, b_zero_points);
                let shape_of = IntBatchShape { m, k, n, offsets: vec![[0, 0], [m * k, 0]] };
                let left = LeftSide { signed: signed.0, zero_point };
                let right = RightSide { signed: signed.1, zero_point: b_zero_points > 0 };
                let mut inputs = case.inputs();
                inputs.insert(1, &case.b);
                if b_zero_points > 0 {
                    inputs.push(&case.b_zero_points);
                }
                for (ranks, target) in TARGETS.into_iter().enumerate() {
                    let driver = BatchedMatMulInt::new(&target, shape_of.clone(), left, right);
                    let y = run_one::<i32>(driver, ranks + 1, &inputs, 2 * m * n).unwrap();
                    let y: Vec<i64> = y.into_iter().map(i64::from).collect();
                    assert_eq!(y, case.expected(), "{shape:?} {signed:?} {zero_point:?} {b_zero_points}");
                }
            }
        }
    }
}
