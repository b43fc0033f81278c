use super::*;
use crate::{reference, testing};

fn values(len: usize, seed: usize) -> Vec<f32> {
    (0..len).map(|index| ((index * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

/// Runs `norm` on made-up operands around `centre` and compares all outputs with the reference.
fn check(norm: &Norm, centre: f32, ranks: usize) {
    let (rows, cols) = (norm.rows, norm.cols);
    let x: Vec<f32> = values(rows * cols, 1).into_iter().map(|x| x + centre).collect();
    let skip = norm.skip_rows.map(|skip_rows| values(skip_rows * cols, 2));
    let row = |given: bool, seed: usize| given.then(|| values(cols, seed));
    let (bias, gamma, beta) = (row(norm.bias, 3), row(norm.gamma, 4), row(norm.beta, 5));
    let operands = [Some(&x), skip.as_ref(), bias.as_ref(), gamma.as_ref(), beta.as_ref()];
    let inputs: Vec<&[u8]> = operands.into_iter().flatten().map(|data| bytemuck::cast_slice(data)).collect();
    let given = [true, norm.sum_out, norm.mean_out, norm.inv_std_out];
    let lengths = [rows * cols, rows * cols, rows, rows];
    let bytes: Vec<usize> = (0..4).filter(|&index| given[index]).map(|index| lengths[index] * 4).collect();
    let outputs = testing::run(norm.clone(), ranks, &inputs, &bytes).unwrap();

    let mut expected: [Vec<f64>; 4] = Default::default();
    for index in 0..rows {
        let at = |data: &Option<Vec<f32>>, offset: usize, neutral| {
            (0..cols).map(|col| data.as_ref().map_or(neutral, |data| data[offset + col])).collect::<Vec<f32>>()
        };
        let skip_at = norm.skip_rows.map_or(0, |skip_rows| index % skip_rows * cols);
        let (skip, bias) = (at(&skip, skip_at, 0.0), at(&bias, 0, 0.0));
        // The sum is an output, so it is rounded before it is normalised.
        let sum: Vec<f32> = (0..cols).map(|col| x[index * cols + col] + skip[col] + bias[col]).collect();
        let rms = norm.kind == NormKind::Rms;
        let (y, mean, inv_std) = reference::norm::normalize(&sum, f64::from(norm.epsilon), rms);
        let (gamma, beta) = (at(&gamma, 0, 1.0), at(&beta, 0, 0.0));
        expected[0].extend((0..cols).map(|col| y[col] * f64::from(gamma[col]) + f64::from(beta[col])));
        expected[1].extend(sum.iter().map(|&x| f64::from(x)));
        expected[2].push(mean);
        expected[3].push(inv_std);
    }
    let expected = (0..4).filter(|&index| given[index]).map(|index| (index, &expected[index]));
    for ((index, expected), actual) in expected.zip(&outputs) {
        for (actual, expected) in bytemuck::cast_slice::<u8, f32>(actual).iter().zip(expected) {
            // A centred element is exact up to one rounding of a value below 4; sums of `cols` terms round that often.
            let tolerance = f64::from(f32::EPSILON) * (cols + 8) as f64 * (expected.abs() + 4.0);
            let close = (f64::from(*actual) - expected).abs() <= tolerance;
            assert!(close, "{norm} centre={centre} output {index}: {actual} instead of {expected}");
        }
    }
}

#[test]
fn matches_the_reference_over_shapes() {
    for kind in [NormKind::Layer, NormKind::Rms] {
        for rows in [0, 1, 2, 7, 300] {
            for cols in [0, 1, 2, 15, 16, 17, 64, 67, 384] {
                for ranks in 1..=3 {
                    check(&Norm::new(kind, rows, cols, 1e-5), 0.0, ranks);
                }
            }
        }
    }
}

#[test]
fn every_optional_operand_can_be_there_or_not() {
    for bits in 0..128usize {
        let bit = |index: usize| bits >> index & 1 == 1;
        let kind = if bit(0) { NormKind::Layer } else { NormKind::Rms };
        let norm = Norm {
            skip_rows: bit(1).then_some(if bit(2) { 6 } else { 3 }),
            bias: bit(2),
            gamma: bit(3),
            beta: bit(4),
            sum_out: bit(5),
            mean_out: bit(6),
            inv_std_out: bit(6) ^ bit(5),
            ..Norm::new(kind, 6, 19, 1e-5)
        };
        check(&norm, 0.5, 2);
    }
}

#[test]
fn a_mean_far_above_the_deviation_does_not_cancel() {
    for centre in [1e4, -1e4, 1e6] {
        check(&Norm::new(NormKind::Layer, 5, 384, 1e-5), centre, 1);
        check(&Norm::new(NormKind::Layer, 2, 40_999, 1e-5), centre, 2);
    }
}

#[test]
fn a_row_with_nan_or_infinity_yields_nan() {
    let mut x = vec![1.0f32, 2.0, 3.0, 4.0];
    for value in [f32::NAN, f32::INFINITY] {
        x[1] = value;
        let norm = Norm { gamma: false, ..Norm::new(NormKind::Layer, 1, 4, 1e-5) };
        let y: Vec<f32> = testing::run_one(norm, 1, &[bytemuck::cast_slice(&x)], 4).unwrap();
        assert!(y.iter().all(|y| y.is_nan()));
    }
}
