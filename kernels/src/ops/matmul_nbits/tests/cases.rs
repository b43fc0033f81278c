//! Weights of few bits, and what products with them are in f64.

use std::sync::Arc;

use crate::ops::matmul_nbits::engine::Engine;
use crate::pack::{Codes, NBitsShape, NBitsWeights};
use crate::testing::floats;

/// A weight as a model holds it, and what it stands for, in f64, `[k, n]`.
pub(super) struct Case {
    pub shape: NBitsShape,
    pub bytes: Vec<u8>,
    pub signed: bool,
    /// Codes from an element to the one below it, and to the one to the right.
    pub strides: [usize; 2],
    pub scales: Vec<f32>,
    pub zero_points: Option<Vec<f32>>,
    pub values: Vec<f64>,
    /// The largest `|code - zero_point| * |scale|`, of which a sum in f32 is exact to a few units.
    pub largest: f64,
}

/// Zero points of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Zero {
    Absent,
    Whole,
    Broken,
}

pub(super) fn case(shape: NBitsShape, zero: Zero, signed: bool, transposed: bool) -> Case {
    let (k, n, bits) = (shape.k(), shape.n(), shape.bits());
    let blocks = shape.blocks();
    let strides @ [row_stride, column_stride] = if transposed { [1, k + 3] } else { [n, 1] };
    let mut bytes = vec![0u8; ((k + 3) * (n + 1) * bits).div_ceil(8)];
    for (row, column) in (0..k).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let code = code(&shape, row, column);
        let stored = if signed { code ^ (1 << (bits - 1)) } else { code };
        let bit = (row * row_stride + column * column_stride) * bits;
        bytes[bit / 8] |= (stored as u8) << (bit % 8);
    }
    let scales: Vec<f32> = floats(n * blocks, 5).iter().map(|x| x * 0.1).collect();
    let zero_points: Option<Vec<f32>> = match zero {
        Zero::Absent => None,
        Zero::Whole => Some((0..n * blocks).map(|i| (i * 5 % (1 << bits)) as f32).collect()),
        Zero::Broken => Some(floats(n * blocks, 6).iter().map(|x| (x + 1.0) * f32::from(1u8 << (bits - 1))).collect()),
    };
    let value = |row: usize, column: usize| {
        let index = column * blocks + row / block(&shape);
        let zero_point = zero_points.as_ref().map_or(f64::from(1u8 << (bits - 1)), |points| f64::from(points[index]));
        (code(&shape, row, column) as f64 - zero_point) * f64::from(scales[index])
    };
    let values: Vec<f64> = (0..k * n).map(|i| value(i / n, i % n)).collect();
    let largest = f64::from(1u32 << bits) * 0.1;
    Case { shape, bytes, signed, strides, scales, zero_points, values, largest }
}

/// The unsigned code of an element.
pub(super) fn code(shape: &NBitsShape, row: usize, column: usize) -> usize {
    (row * 7 + column * 13 + row * column % 5 * 3) % (1 << shape.bits())
}

impl Case {
    pub fn weights(&self, engine: Engine) -> Arc<NBitsWeights> {
        let [row_stride, column_stride] = self.strides;
        let codes = Codes { bytes: &self.bytes, signed: self.signed, row_stride, column_stride };
        let packed = NBitsWeights::pack(engine.layout(), self.shape, codes, &self.scales, self.zero_points.as_deref());
        Arc::new(packed.unwrap())
    }
}

/// Rows of a block.
pub(super) fn block(shape: &NBitsShape) -> usize {
    shape.group() * shape.groups_per_block()
}

pub(super) fn product(a: &[f32], b: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut y = vec![0.0; m * n];
    for (row, depth) in (0..m).flat_map(|row| (0..k).map(move |depth| (row, depth))) {
        for column in 0..n {
            y[row * n + column] += f64::from(a[row * k + depth]) * b[depth * n + column];
        }
    }
    y
}

/// What `Compute::Int8` computes apart from the rounding of its sums: the product with rows that went through int8.
pub(super) fn rounded(a: &[f32], k: usize, group: usize) -> Vec<f32> {
    let mut rounded = Vec::new();
    for group in a.chunks(k).flat_map(|row| row.chunks(group)) {
        let largest = group.iter().fold(0f32, |largest, x| largest.max(x.abs()));
        let step = f64::from(largest) / 127.0;
        rounded.extend(
            group.iter().map(|&x| if step == 0.0 { 0.0 } else { ((f64::from(x) / step).round() * step) as f32 }),
        );
    }
    rounded
}

/// `x` in 11 bits, ties to even.
pub(super) fn to_11_bits(x: f64) -> f64 {
    if x == 0.0 {
        return x;
    }
    let unit = 2f64.powi(x.abs().log2().floor() as i32 - 10);
    (x / unit).round_ties_even() * unit
}

/// What `Compute::Int8` computes in f16, apart from the rounding of its sums.
pub(super) fn through_f16(a: &[f32], case: &Case, m: usize) -> Vec<f64> {
    let (shape, n, blocks) = (&case.shape, case.shape.n(), case.shape.blocks());
    let middle = f64::from(shape.middle());
    let weight = |index: usize| {
        let (row, column) = (index / n, index % n);
        let parameter = column * blocks + row / block(shape);
        let scale = case.scales[parameter];
        let zero_point = case.zero_points.as_ref().map_or(0.0, |points| points[parameter] - middle as f32);
        let code = code(shape, row, column) as f64 - middle;
        to_11_bits(code * to_11_bits(scale.into()) - to_11_bits((zero_point * scale).into()))
    };
    let values: Vec<f64> = (0..shape.k() * n).map(weight).collect();
    let a: Vec<f32> = a.iter().map(|&a| to_11_bits(a.into()) as f32).collect();
    product(&a, &values, [m, shape.k(), n])
}
