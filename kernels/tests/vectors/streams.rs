//! Rows that are read once and in place.

use half::f16;
use kernels::table::{ROW_DOTS_F32, ROW_SUMS_F32};
use kernels::tensor::DType;
use kernels::ukr::{InPlace, ROWS, Widths, row_dots_f32, row_sums_f32};

use crate::grid::{Edge, Guarded, call, each};
use crate::numbers;

const WIDTHS: [usize; 9] = [1, 3, 8, 31, 33, 64, 96, 128, 200];

/// Rows of one of the elements, and what they are in f64.
fn rows(of: DType, len: usize, edge: Edge) -> (Guarded<u8>, Vec<f64>) {
    let numbers = numbers(len, 21);
    match of {
        DType::F16 => {
            let halves: Vec<f16> = numbers.into_iter().map(f16::from_f32).collect();
            (Guarded::new(bytemuck::cast_slice(&halves), edge), halves.into_iter().map(f64::from).collect())
        }
        _ => (Guarded::new(bytemuck::cast_slice(&numbers), edge), numbers.into_iter().map(f64::from).collect()),
    }
}

/// The numbers, or those that f16 has if `rounds`.
fn halves(numbers: Vec<f32>, rounds: bool) -> Vec<f32> {
    let half = |x: f32| if rounds { f16::from_f32(x).to_f32() } else { x };
    numbers.into_iter().map(half).collect()
}

fn size(of: DType) -> usize {
    if of == DType::F16 { 2 } else { 4 }
}

#[test]
fn queries_meet_every_row_of_each_group() {
    each(ROW_DOTS_F32, |variant, run| {
        let InPlace { of, widths, group, rounds } = variant.spec;
        let of_widths = WIDTHS.into_iter().filter(|&width| widths.have(width, width));
        for (width, edge) in of_widths.flat_map(|width| Guarded::<u8>::EDGES.map(|edge| (width, edge))) {
            for (queries, groups, gap) in [(1, 1, 0), (3, 2, 5), (8, 3, 0), (2, 0, 1)] {
                let stride = if widths.have(width, width + gap) { width + gap } else { width };
                let count = groups * group;
                let (x, exact) = rows(of, (count * stride).saturating_sub(stride - width), edge);
                let shrink = if rounds { 0.5 } else { 1.0 };
                let q = Guarded::new(&halves(numbers(queries * width, 22), rounds), edge);
                let pitch = count + 3;
                let mut y = Guarded::new(&vec![7.0f32; queries * pitch - 3], edge);
                let args = row_dots_f32::Args {
                    q: q.as_ptr(),
                    rows: queries,
                    width,
                    x: x.as_ptr(),
                    x_stride: stride * size(of),
                    groups,
                    y: y.as_mut_ptr(),
                    y_stride: pitch * size_of::<f32>(),
                    scale: 0.25 / shrink,
                    shrink,
                    ahead: 4 * stride,
                };
                // SAFETY: the buffers hold these rows.
                unsafe { call(run, &args) };
                for (at, &y) in y.iter().enumerate() {
                    let (query, row) = (at / pitch, at % pitch);
                    if row >= count {
                        assert_eq!(y, 7.0, "{}: a number behind the last row", variant.name);
                        continue;
                    }
                    let terms = (0..width).map(|k| f64::from(q[query * width + k]) * exact[row * stride + k] * 0.25);
                    let (sum, most) = terms.fold((0.0, 0.0), |(sum, most), x| (sum + x, most + x.abs()));
                    let bound = f64::from(f32::EPSILON) * (width as f64 + 1.0) * most;
                    let close = (f64::from(y) - sum).abs() <= bound;
                    assert!(close, "{} {width}x{count} q={query} t={row}: {y}, not {sum}", variant.name);
                }
            }
        }
    });
}

#[test]
fn a_stride_of_zero_repeats_a_row() {
    each(ROW_DOTS_F32, |variant, run| {
        let InPlace { of, widths: Widths::Any, group, .. } = variant.spec else { return };
        let (x, _) = rows(of, 5, Edge::End);
        let (q, mut y) = (numbers(5, 23), vec![7.0; group]);
        let args = row_dots_f32::Args {
            q: q.as_ptr(),
            rows: 1,
            width: 5,
            x: x.as_ptr(),
            x_stride: 0,
            groups: 1,
            y: y.as_mut_ptr(),
            y_stride: 0,
            scale: 1.0,
            shrink: 1.0,
            ahead: 0,
        };
        // SAFETY: the row is there, and a place for each product.
        unsafe { call(run, &args) };
        assert!(y[0] != 7.0 && y.iter().all(|&x| x == y[0]), "{}: {y:?}", variant.name);
    });
}

#[test]
fn weighted_rows_are_added_up() {
    each(ROW_SUMS_F32, |variant, run| {
        let InPlace { of, widths, group, rounds } = variant.spec;
        let of_widths = WIDTHS.into_iter().filter(|&width| widths.have(width, width));
        for (width, edge) in of_widths.flat_map(|width| Guarded::<u8>::EDGES.map(|edge| (width, edge))) {
            for (sums, count, gap) in (1..=ROWS).flat_map(|sums| [(sums, 1, 0), (sums, 2, 3), (sums, 5, 0)]) {
                let gap = if widths.have(width, width + gap) { gap } else { 0 };
                let (count, stride) = (count * group, width + gap);
                let pitch = count + 2;
                let (x, exact) = rows(of, count * stride - gap, edge);
                let weights = Guarded::new(&halves(numbers(sums * pitch - 2, 24), rounds), edge);
                let before = numbers(sums * width, 25);
                let mut y = Guarded::new(&before, edge);
                let args = row_sums_f32::Args {
                    weights: weights.as_ptr(),
                    weights_stride: pitch * size_of::<f32>(),
                    rows: sums,
                    x: x.as_ptr(),
                    x_stride: stride * size(of),
                    count,
                    y: y.as_mut_ptr(),
                    width,
                    ahead: 4 * stride,
                };
                // SAFETY: the buffers hold these rows.
                unsafe { call(run, &args) };
                for (at, (&y, &before)) in y.iter().zip(&before).enumerate() {
                    let (row, column) = (at / width, at % width);
                    let term = |t: usize| f64::from(weights[row * pitch + t]) * exact[t * stride + column];
                    let start = f64::from(before);
                    let sum = (0..count).map(term).sum::<f64>() + start;
                    let most = (0..count).map(|t| term(t).abs()).sum::<f64>() + start.abs();
                    let bound = f64::from(f32::EPSILON) * (count as f64 + 1.0) * most;
                    let close = (f64::from(y) - sum).abs() <= bound;
                    assert!(close, "{} {sums}x{count}x{width} at {row}, {column}: {y}, not {sum}", variant.name);
                }
            }
        }
    });
}
