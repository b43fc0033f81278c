use std::sync::Arc;

use super::*;
use crate::isa::Target;
use crate::ops::matmul_nbits::{Compute, Engine};
use crate::pack::{Codes, NBitsShape, NBitsWeights, PackLayout, PackedWeights, WeightData, WeightSource};
use crate::testing::{floats, run_one};

const HIDDEN: usize = 40;
const INNER: usize = 70;
const EXPERTS: usize = 5;

/// A weight and its values, `[k, n]`.
type Weight = (ExpertWeights, Vec<f64>);

fn dense(k: usize, n: usize, seed: u32) -> Weight {
    let values = floats(k * n, seed);
    let source = WeightSource { data: WeightData::F32(&values), k, n, transposed: false };
    let packed = PackedWeights::pack(PackLayout::HostF32, source).unwrap();
    (ExpertWeights::F32(Arc::new(packed)), values.iter().map(|&x| f64::from(x)).collect())
}

/// Codes of 8 bits that stand for less than 1.
fn narrow(k: usize, n: usize, seed: u32) -> Weight {
    let shape = NBitsShape::new(k, n, 8, 32).unwrap();
    let engine = Engine::new(&Target::host(1), Compute::F32);
    let bytes: Vec<u8> = floats(k * n, seed).iter().map(|x| (x * 127.0) as i8 as u8 ^ 0x80).collect();
    let scale = 1.0 / 128.0;
    let codes = Codes { bytes: &bytes, signed: false, row_stride: n, column_stride: 1 };
    let packed = NBitsWeights::pack(engine.layout(), shape, codes, &vec![scale; n * shape.blocks()], None).unwrap();
    let values = bytes.iter().map(|&byte| (f64::from(byte) - 128.0) * f64::from(scale)).collect();
    (ExpertWeights::NBits(engine, Arc::new(packed)), values)
}

fn product(x: &[f64], weight: &[f64], bias: &[f32]) -> Vec<f64> {
    let n = bias.len();
    let column = |column: usize| {
        let products = x.iter().enumerate().map(|(depth, x)| x * weight[depth * n + column]);
        products.sum::<f64>() + f64::from(bias[column])
    };
    (0..n).map(column).collect()
}

fn activate(activation: ExpertActivation, x: &[f64]) -> Vec<f64> {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    match activation {
        ExpertActivation::Identity => x.to_vec(),
        ExpertActivation::Relu => x.iter().map(|x| x.max(0.0)).collect(),
        ExpertActivation::Silu => x.iter().map(|x| x * sigmoid(*x)).collect(),
        ExpertActivation::Gelu => {
            let inner = |x: f64| (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            x.iter().map(|&x| 0.5 * x * (1.0 + inner(x).tanh())).collect()
        }
        ExpertActivation::SwiGlu { alpha, beta, limit } => {
            let (alpha, beta, limit) = (f64::from(alpha), f64::from(beta), f64::from(limit));
            let gated = |pair: &[f64]| {
                let (gate, linear) = (pair[0].min(limit), pair[1].clamp(-limit, limit));
                gate * sigmoid(alpha * gate) * (linear + beta)
            };
            x.chunks(2).map(gated).collect()
        }
    }
}

/// The experts of a token and their weights, by sorting.
fn experts_of(logits: &[f32], router: &Router) -> Vec<(usize, f64)> {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(b.cmp(&a)));
    let share = |&expert: &usize| f64::from(logits[expert]).exp();
    let chosen = &order[..router.top];
    let total: f64 = if router.normalize { chosen.iter().map(share).sum() } else { order.iter().map(share).sum() };
    chosen.iter().map(|expert| (*expert, share(expert) / total)).collect()
}

fn check(
    make: fn(usize, usize, u32) -> Weight,
    tokens: usize,
    router: Router,
    activation: ExpertActivation,
    ranks: usize,
) {
    let wide = if matches!(activation, ExpertActivation::SwiGlu { .. }) { 2 * INNER } else { INNER };
    let (up, up_values): (Vec<_>, Vec<_>) = (0..EXPERTS as u32).map(|e| make(HIDDEN, wide, 10 + e)).unzip();
    let (down, down_values): (Vec<_>, Vec<_>) = (0..EXPERTS as u32).map(|e| make(INNER, HIDDEN, 20 + e)).unzip();
    let (x, mut logits) = (floats(tokens * HIDDEN, 1), floats(tokens * EXPERTS, 2));
    // A tie, of which the last expert wins.
    logits[1] = logits[3];
    let (up_bias, down_bias) = (floats(EXPERTS * wide, 3), floats(EXPERTS * HIDDEN, 4));
    let first = ExpertsUp::new(tokens, router, activation, up, true);
    let inputs = [&x, &logits, &up_bias].map(|x| bytemuck::cast_slice(x));
    let inner = run_one::<f32>(first, ranks, &inputs, router.routes(tokens) * INNER).unwrap();
    let second = ExpertsDown::new(tokens, router, down, true);
    let inputs = [&inner, &logits, &down_bias].map(|x| bytemuck::cast_slice(x));
    let y = run_one::<f32>(second, ranks, &inputs, tokens * HIDDEN).unwrap();
    for token in 0..tokens {
        let input: Vec<f64> = x[token * HIDDEN..][..HIDDEN].iter().map(|&x| f64::from(x)).collect();
        let mut expected = vec![0.0; HIDDEN];
        for (expert, weight) in experts_of(&logits[token * EXPERTS..][..EXPERTS], &router) {
            let wide_sums = product(&input, &up_values[expert], &up_bias[expert * wide..][..wide]);
            let sums = activate(activation, &wide_sums);
            let out = product(&sums, &down_values[expert], &down_bias[expert * HIDDEN..][..HIDDEN]);
            expected.iter_mut().zip(out).for_each(|(y, x)| *y += weight * x);
        }
        for (y, expected) in y[token * HIDDEN..].iter().zip(expected) {
            // Sums of 40 terms below 1, their activation below 41 squared, and sums of 70 of those.
            let tolerance = f64::from(f32::EPSILON) * 72.0 * 41.0 * 41.0;
            assert!((f64::from(*y) - expected).abs() <= tolerance, "{router:?} {activation:?}: {y} is not {expected}");
        }
    }
}

#[test]
fn tokens_go_through_their_experts() {
    let swiglu = |alpha, beta, limit| ExpertActivation::SwiGlu { alpha, beta, limit };
    let activations = [
        ExpertActivation::Identity,
        ExpertActivation::Relu,
        ExpertActivation::Gelu,
        ExpertActivation::Silu,
        swiglu(1.0, 0.0, f32::INFINITY),
        swiglu(1.702, 1.0, 0.5),
    ];
    for activation in activations {
        for (tokens, top, normalize, ranks) in [(1, 1, false, 1), (3, 2, true, 2), (17, 3, false, 3), (70, 5, true, 2)]
        {
            let router = Router { experts: EXPERTS, top, normalize };
            check(dense, tokens, router, activation, ranks);
            check(narrow, tokens, router, activation, ranks);
        }
    }
}

#[test]
fn a_router_that_knows_nothing_gives_nan() {
    let router = Router { experts: EXPERTS, top: 2, normalize: true };
    let weights = (0..EXPERTS as u32).map(|expert| dense(HIDDEN, INNER, expert).0).collect();
    let driver = ExpertsDown::new(1, router, weights, false);
    let (inner, logits) = (floats(2 * HIDDEN, 1), [f32::NAN; EXPERTS]);
    let y: Vec<f32> =
        run_one(driver, 1, &[bytemuck::cast_slice(&inner), bytemuck::cast_slice(&logits)], INNER).unwrap();
    assert!(y.iter().all(|y| y.is_nan()));
}
