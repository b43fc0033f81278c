//! What rows become on the way through a softmax or a normalisation.

use kernels::table::{COLUMN_MAX_F32, EXP_COLUMNS_F32, EXP_SUM_F32, NORMALIZE_F32, REDUCE_F32, REDUCE_ROWS_F32};
use kernels::ukr::column_max_f32::{self, COLUMNS, STEP};
use kernels::ukr::reduce_f32::Reduction;
use kernels::ukr::reduce_rows_f32::{self, RowReduction};
use kernels::ukr::{exp_columns_f32, exp_sum_f32, normalize_f32, reduce_f32};

use crate::grid::{Edge, Guarded, call, each};
use crate::{lengths, numbers, ulps};

#[test]
fn reductions_pass_over_no_number() {
    each(REDUCE_F32, |variant, run| {
        lengths(|len, edge| {
            for offset in [0.0, 1e4] {
                let mut values: Vec<f32> = numbers(len, 5).into_iter().map(|x| x + offset).collect();
                if matches!(variant.spec, Reduction::Extremes | Reduction::Greatest) && len > 8 {
                    values[3] = f32::NAN;
                }
                let x = Guarded::new(&values, edge);
                let (shift, mut result) = (offset, [7.0; 2]);
                // SAFETY: the buffer has `len` numbers.
                unsafe { call(run, &reduce_f32::Args { x: x.as_ptr(), len, shift, result: &mut result }) };
                let wide = || values.iter().map(|&x| f64::from(x));
                let differences = || wide().map(|x| x - f64::from(shift));
                let expected = match variant.spec {
                    Reduction::Extremes => {
                        [wide().fold(f64::INFINITY, f64::min), wide().fold(f64::NEG_INFINITY, f64::max)]
                    }
                    Reduction::Greatest => [wide().fold(f64::NEG_INFINITY, f64::max), 0.0],
                    Reduction::Moments => [differences().sum(), differences().map(|x| x * x).sum()],
                    Reduction::LaneSquares | Reduction::Squares => [wide().map(|x| x * x).sum(), 0.0],
                    Reduction::Sum => [wide().sum(), 0.0],
                };
                for (actual, expected) in result.into_iter().zip(expected) {
                    // The order of the additions differs, and at least 32 lanes are summed up.
                    let (roundings, terms) = match variant.spec {
                        Reduction::Moments => (
                            f32::EPSILON as f64 * (len as f64 / 32.0 + 8.0),
                            differences().map(|x| x.abs().max(x * x)).sum::<f64>(),
                        ),
                        Reduction::LaneSquares => {
                            (f32::EPSILON as f64 * (len as f64 / 32.0 + 8.0), wide().map(|x| x * x).sum())
                        }
                        Reduction::Squares => (f64::EPSILON * (len as f64 + 1.0), wide().map(|x| x * x).sum()),
                        _ => (f64::EPSILON * (len as f64 + 1.0), wide().map(f64::abs).sum()),
                    };
                    let bound = roundings * terms;
                    let close = actual == expected || (actual - expected).abs() <= bound;
                    assert!(close, "{} of {len}: {actual}, not {expected}", variant.name);
                }
            }
        });
    });
}

#[test]
fn exponentials_and_their_sum() {
    each(EXP_SUM_F32, |_, run| {
        lengths(|len, edge| {
            let x = numbers(len, 9);
            let (values, mut y, mut sum) = (Guarded::new(&x, edge), Guarded::new(&vec![7.0; len], edge), 7.0);
            let args = exp_sum_f32::Args { x: values.as_ptr(), y: y.as_mut_ptr(), len, shift: 1.5, sum: &mut sum };
            // SAFETY: both buffers have `len` numbers.
            unsafe { call(run, &args) };
            let expected: Vec<f64> = x.iter().map(|&x| (f64::from(x) - 1.5).exp()).collect();
            assert!(y.iter().zip(&expected).all(|(&y, &expected)| ulps(y, expected) <= 2.0));
            let total: f64 = expected.iter().sum();
            // Each number may err by two units, and at least 16 lanes are summed up in f32.
            let bound = total * f64::from(f32::EPSILON) * (2.0 + len as f64 / 32.0);
            assert!((sum - total).abs() <= bound, "{len}: {sum}, not {total}");
        });
        for (x, shift) in
            [([f32::NAN, 1.0], 1.0), ([f32::INFINITY, 1.0], f32::INFINITY), ([f32::NEG_INFINITY; 2], f32::NEG_INFINITY)]
        {
            let (mut y, mut sum) = (x, 0.0);
            let args = exp_sum_f32::Args { x: x.as_ptr(), y: y.as_mut_ptr(), len: 2, shift, sum: &mut sum };
            // SAFETY: both buffers have two numbers.
            unsafe { call(run, &args) };
            assert!(y[0].is_nan() && sum.is_nan(), "{x:?} gave {y:?}, {sum}");
        }
    });
}

/// A number of rows of columns, of which column `c` grows with `c` from about -8 on.
fn columns(rows: usize, seed: u32) -> Vec<f32> {
    let numbers = numbers(rows * COLUMNS, seed).into_iter().enumerate();
    numbers.map(|(index, x)| x + (index % COLUMNS) as f32 / 2.0 - 8.0).collect()
}

#[test]
fn largest_numbers_of_columns() {
    each(COLUMN_MAX_F32, |_, run| {
        for (rows, edge) in
            [4, 8, 12, 16, 20, 84].into_iter().flat_map(|rows| Guarded::<u8>::EDGES.map(|edge| (rows, edge)))
        {
            let mut x = columns(rows, 4);
            x[5] = f32::NAN;
            (0..rows).for_each(|row| x[row * COLUMNS + 6] = f32::NEG_INFINITY);
            x[(rows - 1) * COLUMNS + 7] = f32::INFINITY;
            let before: Vec<f32> = (0..COLUMNS).map(|c| [f32::NEG_INFINITY, 0.5 * c as f32 - 8.0][c % 2]).collect();
            let (given, mut max) = (Guarded::new(&x, edge), Guarded::new(&before, edge));
            // SAFETY: the buffers have `rows` rows, and one.
            unsafe { call(run, &column_max_f32::Args { x: given.as_ptr(), rows, max: max.as_mut_ptr() }) };
            for (column, &max) in max.iter().enumerate() {
                let expected = (0..rows).map(|row| x[row * COLUMNS + column]).fold(before[column], f32::max);
                assert_eq!(max, expected, "column {column} of {rows} rows");
            }
        }
    });
}

#[test]
fn exponentials_of_columns_and_their_sums() {
    each(EXP_COLUMNS_F32, |_, run| {
        for (rows, edge) in
            [4, 8, 12, 16, 20, 84].into_iter().flat_map(|rows| Guarded::<u8>::EDGES.map(|edge| (rows, edge)))
        {
            let mut x = columns(rows, 9);
            x[5] = f32::NAN;
            x[6] = f32::NEG_INFINITY;
            let shifts: Vec<f32> = (0..STEP * COLUMNS).map(|c| (c % COLUMNS) as f32 / 2.0 - 9.0).collect();
            let (given, shifts) = (Guarded::new(&x, edge), Guarded::new(&shifts, edge));
            let (mut y, mut sums) = (Guarded::new(&vec![7.0; x.len()], edge), Guarded::new(&[7.0; COLUMNS], edge));
            let (len, sums_at) = (x.len(), sums.as_mut_ptr());
            let args = exp_columns_f32::Args {
                x: given.as_ptr(),
                y: y.as_mut_ptr(),
                len,
                shifts: shifts.as_ptr(),
                sums: sums_at,
            };
            // SAFETY: the buffers have `len` numbers, those of four rows, and of one.
            unsafe { call(run, &args) };
            let wanted: Vec<f64> =
                x.iter().enumerate().map(|(at, &x)| (f64::from(x) - f64::from(shifts[at % COLUMNS])).exp()).collect();
            assert!(y.iter().zip(&wanted).all(|(&y, &wanted)| ulps(y, wanted) <= 2.0));
            for (column, &sum) in sums.iter().enumerate() {
                let total: f64 = (0..rows).map(|row| wanted[row * COLUMNS + column]).sum();
                // Each number may err by two units, and each addition rounds.
                let close = (f64::from(sum) - total).abs() <= total * f64::from(f32::EPSILON) * (2.0 + rows as f64);
                assert!(close || (sum.is_nan() && column == 5), "column {column} of {rows} rows: {sum}, not {total}");
            }
        }
    });
}

#[test]
fn reductions_of_rows() {
    each(REDUCE_ROWS_F32, |variant, run| {
        lengths(|len, edge| {
            for (rows, gap) in [(1, 0), (2, 3), (5, 0)] {
                let (stride, len) = (len.max(1) + gap, len.max(1));
                let mut x: Vec<f32> = numbers(rows * stride - gap, 5).into_iter().map(|x| x + 3.0).collect();
                if variant.spec == RowReduction::Greatest {
                    x[0] = f32::NAN;
                }
                let (given, mut results) = (Guarded::new(&x, edge), Guarded::new(&vec![[7.0; 2]; rows], edge));
                let (x_stride, at) = (stride * size_of::<f32>(), results.as_mut_ptr());
                let args = reduce_rows_f32::Args { x: given.as_ptr(), x_stride, rows, len, results: at };
                // SAFETY: the buffers have `rows` rows.
                unsafe { call(run, &args) };
                for (row, results) in x.chunks(stride).zip(&*results) {
                    reduced(variant.spec, &row[..len], *results);
                }
            }
        });
    });
}

fn reduced(reduction: RowReduction, row: &[f32], results: [f32; 2]) {
    let shift = if reduction == RowReduction::Moments { row[0] } else { 0.0 };
    let wide = || row.iter().map(|&x| f64::from(x) - f64::from(shift));
    let squares: f64 = wide().map(|x| x * x).sum();
    let expected = match reduction {
        RowReduction::Greatest => [wide().fold(f64::NEG_INFINITY, f64::max), 0.0],
        RowReduction::Moments => [wide().sum(), squares],
        RowReduction::Squares => [0.0, squares],
    };
    // The order of the additions differs, and at least 16 lanes are summed up.
    let rounding = f64::from(f32::EPSILON) * (row.len() as f64 / 16.0 + 8.0);
    let terms = [wide().map(f64::abs).sum(), squares];
    for ((actual, expected), terms) in results.into_iter().zip(expected).zip(terms) {
        let close = f64::from(actual) == expected || (f64::from(actual) - expected).abs() <= rounding * terms;
        assert!(close, "{reduction:?} of {}: {actual}, not {expected}", row.len());
    }
}

#[test]
fn normalisations_with_and_without_weights() {
    each(NORMALIZE_F32, |_, run| {
        lengths(|len, edge| {
            let weights = [(false, false), (false, true), (true, false), (true, true)];
            let moments = [[0.0, 0.0], [0.5, 0.0], [0.5, 0.125], [0.0, 0.125]];
            for ((with_gamma, with_beta), moments) in
                weights.into_iter().flat_map(|weights| moments.map(|moments| (weights, moments)))
            {
                normalized(run, (len, edge), (with_gamma, with_beta), moments);
            }
        });
    });
}

/// Normalises three rows with gaps, of which the second has these moments.
fn normalized(
    run: unsafe fn(&normalize_f32::Args),
    (len, edge): (usize, Edge),
    (with_gamma, with_beta): (bool, bool),
    [mean, residue]: [f32; 2],
) {
    const ROWS: usize = 3;
    const GAP: usize = 2;
    let stride = len + GAP;
    let rows = |seed| Guarded::new(&numbers(ROWS * stride - GAP, seed), edge);
    let weights = |given: bool, seed| Guarded::new(&numbers(if given { len } else { 0 }, seed), edge);
    let (gamma, beta, x, mut y) = (weights(with_gamma, 1), weights(with_beta, 2), rows(3), rows(4));
    let before = y.to_vec();
    let moments = Guarded::new(&[[0.0, 0.0, 3.0], [mean, residue, 0.5], [mean, 0.0, 1.5]], edge);
    let pointer = |given: bool, of: &Guarded<f32>| if given { of.as_ptr() } else { std::ptr::null() };
    let args = normalize_f32::Args {
        x: x.as_ptr(),
        y: y.as_mut_ptr(),
        x_stride: stride * size_of::<f32>(),
        y_stride: stride * size_of::<f32>(),
        rows: ROWS,
        len,
        gamma: pointer(with_gamma, &gamma),
        beta: pointer(with_beta, &beta),
        moments: moments.as_ptr(),
    };
    // SAFETY: the buffers that are given have `len` numbers a row.
    unsafe { call(run, &args) };
    for (index, &y) in y.iter().enumerate() {
        let (row, column) = (index / stride, index % stride);
        if column >= len {
            assert_eq!(y, before[index], "a gap");
            continue;
        }
        let [mean, residue, scale] = moments[row];
        let mut wanted = (x[index] - mean - residue) * scale;
        wanted = match (with_gamma, with_beta) {
            (true, true) => wanted.mul_add(gamma[column], beta[column]),
            (true, false) => wanted * gamma[column],
            (false, true) => wanted + beta[column],
            (false, false) => wanted,
        };
        assert_eq!(y, wanted, "{len} {with_gamma} {with_beta} at {index}");
    }
}
