use super::*;
use crate::tensor::Element;
use crate::testing::run_one;

const OPS: [ReduceOp; 10] = [
    ReduceOp::L1,
    ReduceOp::L2,
    ReduceOp::LogSum,
    ReduceOp::LogSumExp,
    ReduceOp::Max,
    ReduceOp::Mean,
    ReduceOp::Min,
    ReduceOp::Prod,
    ReduceOp::Sum,
    ReduceOp::SumSquare,
];

/// The elements of each output, by the definition.
fn groups<T: Copy>(x: &[T], dims: &[usize], reduced: &[bool]) -> Vec<Vec<T>> {
    let kept = |mut element: usize| {
        let (mut output, mut stride) = (0, 1);
        for axis in (0..dims.len()).rev() {
            if !reduced[axis] {
                output += element % dims[axis] * stride;
                stride *= dims[axis];
            }
            element /= dims[axis];
        }
        output
    };
    let outputs: usize = dims.iter().zip(reduced).filter(|(_, reduced)| !**reduced).map(|(dim, _)| dim).product();
    let mut groups = vec![Vec::new(); outputs];
    x.iter().enumerate().for_each(|(element, &x)| groups[kept(element)].push(x));
    groups
}

fn definition(op: ReduceOp, x: &[f64]) -> f64 {
    let any_nan = x.iter().any(|x| x.is_nan());
    match op {
        ReduceOp::L1 => x.iter().map(|x| x.abs()).sum(),
        ReduceOp::L2 => x.iter().map(|x| x * x).sum::<f64>().sqrt(),
        ReduceOp::LogSum => x.iter().sum::<f64>().ln(),
        ReduceOp::LogSumExp => x.iter().map(|x| x.exp()).sum::<f64>().ln(),
        ReduceOp::Max | ReduceOp::Min if any_nan => f64::NAN,
        ReduceOp::Max => x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ReduceOp::Min => x.iter().copied().fold(f64::INFINITY, f64::min),
        ReduceOp::Mean if x.is_empty() => 0.0,
        ReduceOp::Mean => x.iter().sum::<f64>() / x.len() as f64,
        ReduceOp::Prod => x.iter().product(),
        ReduceOp::Sum => x.iter().sum(),
        ReduceOp::SumSquare => x.iter().map(|x| x * x).sum(),
    }
}

fn run<T: Element>(op: ReduceOp, x: &[T], dims: &[usize], reduced: &[bool], len: usize, ranks: usize) -> Vec<T> {
    run_one(Reduce::new(op, T::DTYPE, dims, reduced), ranks, &[bytemuck::cast_slice(x)], len).unwrap()
}

/// One rounding to f32, and what the order of f64 additions can make of `x`.
fn check_floats(op: ReduceOp, x: &[f32], dims: &[usize], reduced: &[bool], ranks: usize) {
    let groups = groups(x, dims, reduced);
    for (got, group) in run(op, x, dims, reduced, groups.len(), ranks).into_iter().zip(groups) {
        let group: Vec<f64> = group.into_iter().map(f64::from).collect();
        let want = definition(op, &group);
        let magnitude: f64 = group.iter().map(|x| x.abs()).sum();
        let sum = definition(ReduceOp::Sum, &group);
        // A logarithm turns the relative error of its argument into an absolute one.
        let order = match op {
            ReduceOp::LogSum => f64::EPSILON * magnitude / sum.abs() * group.len() as f64,
            _ => f64::EPSILON * (1.0 + magnitude) * (group.len() + 1) as f64,
        };
        let error = f64::from(f32::EPSILON) / 2.0 * want.abs() + order + f64::from(f32::MIN_POSITIVE);
        let same = (got.is_nan() && want.is_nan()) || f64::from(got) == want || (f64::from(got) - want).abs() <= error;
        assert!(same, "{op:?} {dims:?} {reduced:?}: {got}, want {want}");
    }
}

const SHAPES: &[&[usize]] = &[
    &[],
    &[1],
    &[17],
    &[3, 5],
    &[16, 16],
    &[2, 70, 3],
    &[5, 1, 33],
    &[4, 3, 2, 7],
    &[2, 0, 3],
    &[0],
    &[3, 2, 1, 2, 65],
];

/// Every set of axes of `rank` axes.
fn axis_sets(rank: usize) -> impl Iterator<Item = Vec<bool>> {
    (0..1usize << rank).map(move |set| (0..rank).map(|axis| set >> axis & 1 == 1).collect())
}

#[test]
fn floats_over_every_set_of_axes() {
    for &dims in SHAPES {
        let len: usize = dims.iter().product();
        let x: Vec<f32> = (0..len).map(|i| (i * 7919 % 1009) as f32 / 500.0 - 0.9).collect();
        for reduced in axis_sets(dims.len()) {
            for op in OPS {
                check_floats(op, &x, dims, &reduced, 1 + len % 3);
            }
        }
    }
}

#[test]
fn integers_over_every_set_of_axes() {
    for &dims in SHAPES {
        let len: usize = dims.iter().product();
        let x: Vec<i64> = (0..len).map(|i| (i * 7919 % 41) as i64 - 7).collect();
        let narrow: Vec<i32> = x.iter().map(|&x| x as i32).collect();
        for reduced in axis_sets(dims.len()) {
            let groups = groups(&x, dims, &reduced);
            for op in OPS.into_iter().filter(|&op| op != ReduceOp::LogSumExp) {
                let wide = run(op, &x, dims, &reduced, groups.len(), 2);
                let narrow = run(op, &narrow, dims, &reduced, groups.len(), 2);
                for ((wide, narrow), group) in wide.into_iter().zip(narrow).zip(&groups) {
                    let product = group.iter().fold(1i64, |a, &x| a.wrapping_mul(x));
                    let want = definition(op, &group.iter().map(|&x| x as f64).collect::<Vec<_>>());
                    if op == ReduceOp::Prod {
                        assert_eq!((wide, narrow), (product, product as i32));
                    } else {
                        assert_eq!((wide, narrow), (want as i64, want as i32), "{op:?} {dims:?} {reduced:?} {group:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn long_sums_are_exact() {
    // 41 000 f16-like values whose f32 running sum would lose the small ones.
    let x: Vec<f32> = (0..41_000).map(|i| if i == 0 { 65_504.0 } else { 0.001 + i as f32 % 3.0 }).collect();
    let columns: Vec<f32> = x.iter().flat_map(|&x| [x, -x, 1.0]).collect();
    for op in [ReduceOp::Sum, ReduceOp::Mean, ReduceOp::SumSquare, ReduceOp::L2, ReduceOp::L1] {
        check_floats(op, &x, &[41_000], &[true], 3);
        check_floats(op, &columns, &[41_000, 3], &[true, false], 2);
    }
}

#[test]
fn extremes_of_bytes() {
    let x = [3u8, 200, 7, 0, 9, 255];
    assert_eq!(run(ReduceOp::Max, &x, &[2, 3], &[false, true], 2, 1), [200, 255]);
    assert_eq!(run(ReduceOp::Min, &x, &[2, 3], &[true, false], 3, 1), [0, 9, 7]);
    assert_eq!(run(ReduceOp::Max, &[-3i8, -128], &[2], &[true], 1, 1), [-3]);
    assert_eq!(run::<i8>(ReduceOp::Min, &[], &[0], &[true], 1, 1), [127]);
    assert_eq!(run::<i64>(ReduceOp::Max, &[], &[0, 1], &[true, true], 1, 1), [i64::MIN]);
}

#[test]
fn nan_and_infinity() {
    let inf = f32::INFINITY;
    for op in OPS {
        for at in [0, 1, 19] {
            let mut x = [0.5f32; 20];
            x[at] = f32::NAN;
            for ranks in [1, 2] {
                assert!(run(op, &x, &[20], &[true], 1, ranks)[0].is_nan(), "{op:?}");
                assert!(run(op, &x, &[20, 1], &[true, false], 1, ranks)[0].is_nan(), "{op:?}");
            }
        }
    }
    let log_sum_exp = |x: &[f32]| run(ReduceOp::LogSumExp, x, &[x.len()], &[true], 1, 1)[0];
    assert_eq!(log_sum_exp(&[-inf, -inf]), -inf);
    assert_eq!(log_sum_exp(&[inf, 1.0, inf]), inf);
    assert_eq!(log_sum_exp(&[1000.0, 1000.0]), 1000.0 + std::f32::consts::LN_2);
    assert_eq!(log_sum_exp(&[-1000.0, -inf]), -1000.0);
}
