use super::*;
use crate::isa::{CoreKind, Target};
use crate::{reference, testing};

const TARGETS: [Target; 3] = [Target::host(1), Target::k1(), Target::k3()];

/// Most scores for which the kernels of chips, slow here and in emulation, are tested.
const SCORES: usize = 60_000;

/// What is tested at these sizes, on so many ranks: the kernels of chips on two only.
fn targets(d: AttentionDims, ranks: usize) -> impl Iterator<Item = &'static Target> {
    let with_chips = ranks == 2 && d.heads * d.queries * d.keys <= SCORES;
    TARGETS.iter().filter(move |target| target.core == CoreKind::Host || with_chips)
}

/// Deterministic values in -1..1.
fn values(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

fn gather(data: &[f32], at: Strided, batch: usize, head: usize, rows: usize, cols: usize) -> Vec<f32> {
    let element = |row, col| data[at.at(batch, head, row) + col * at.col];
    (0..rows).flat_map(|row| (0..cols).map(move |col| element(row, col))).collect()
}

fn dims(batch: usize, heads: [usize; 2], queries: usize, keys: usize, widths: [usize; 2]) -> AttentionDims {
    AttentionDims { batch, heads: heads[0], kv_heads: heads[1], queries, keys, head: widths[0], value_head: widths[1] }
}

/// An attention whose q, k and v are dense in the given orders.
fn dense(d: AttentionDims, orders: [Order; 3], out: Order, scale: f32) -> Attention {
    let q = orders[0].strided(d.heads, d.queries, d.head);
    let k = orders[1].strided(d.kv_heads, d.keys, d.head);
    let v = orders[2].strided(d.kv_heads, d.keys, d.value_head);
    Attention::new(d, q, k, v, out, scale)
}

fn inputs(d: AttentionDims) -> [Vec<f32>; 3] {
    let kv = d.batch * d.kv_heads * d.keys;
    [values(d.batch * d.heads * d.queries * d.head, 1), values(kv * d.head, 2), values(kv * d.value_head, 3)]
}

/// Runs `attention` and compares it with the reference, where a query sees all keys.
fn check(attention: &Attention, q: &[f32], k: &[f32], v: &[f32], biases: &[&[f32]], ranks: usize) {
    check_visible(attention, [q, k, v], biases, ranks, &|_, _, _| true);
}

/// Runs `attention` on the targets and compares it with the reference, where a query of a sequence sees only some keys.
/// Undefined rows must be NaN.
fn check_visible(
    attention: &Attention,
    [q, k, v]: [&[f32]; 3],
    biases: &[&[f32]],
    ranks: usize,
    visible: &dyn Fn(usize, usize, usize) -> bool,
) {
    let inputs: Vec<&[u8]> = [q, k, v].iter().chain(biases).map(|data| bytemuck::cast_slice(data)).collect();
    for target in targets(attention.dims, ranks) {
        let out = run(&attention.clone().on(target), ranks, &inputs);
        compare(attention, [q, k, v], &out, &|at: [usize; 4]| {
            let terms = attention.biases.iter().zip(biases);
            let sum: f32 = terms.map(|((_, bias), data)| data[bias.at(at[0], at[1], at[2]) + at[3] * bias.col]).sum();
            if visible(at[0], at[2], at[3]) { f64::from(sum) } else { f64::NEG_INFINITY }
        });
    }
}

fn run(attention: &Attention, ranks: usize, inputs: &[&[u8]]) -> Vec<f32> {
    let d = attention.dims;
    let len = d.batch * d.heads * d.queries * d.value_head;
    let partials = attention.partials();
    let bytes = [len * 4, partials * 4];
    let outputs = testing::run(attention.clone(), ranks, inputs, &bytes[..1 + usize::from(partials > 0)]).unwrap();
    bytemuck::cast_slice(&outputs[0]).to_vec()
}

/// Compares `out` with the attention over all keys with this bias. A value that is not visible may be anything.
fn compare(attention: &Attention, [q, k, v]: [&[f32]; 3], out: &[f32], bias: &dyn Fn([usize; 4]) -> f64) {
    let d = attention.dims;
    for (batch, head) in (0..d.batch).flat_map(|b| (0..d.heads).map(move |h| (b, h))) {
        let kv_head = head * d.kv_heads / d.heads;
        let bias: Vec<f64> =
            (0..d.queries * d.keys).map(|index| bias([batch, head, index / d.keys, index % d.keys])).collect();
        let shown = |x: f32| if x.is_nan() { 0.0 } else { x };
        let keys = gather(k, attention.k.at, batch, kv_head, d.keys, d.head).into_iter().map(shown);
        let values = gather(v, attention.v.at, batch, kv_head, d.keys, d.value_head).into_iter().map(shown);
        let expected = reference::attention::attention(
            &gather(q, attention.q, batch, head, d.queries, d.head),
            &keys.collect::<Vec<_>>(),
            &values.collect::<Vec<_>>(),
            &bias,
            [d.queries, d.keys, d.head, d.value_head],
            f64::from(attention.scale),
        );
        let actual = gather(out, attention.out, batch, head, d.queries, d.value_head);
        // Scores of |q|, |k| < 1 err by at most scale * eps * (d + 1) * d and a bias rounds once more; a weight errs by
        // that relatively, and a mean of |v| < 1 by it and by the rounding of its own sum.
        let score = f64::from(attention.scale) * ((d.head + 1) * d.head) as f64 + 4.0;
        let tolerance = 2.0 * f64::from(f32::EPSILON) * (score + (d.keys + 1) as f64);
        for (index, (actual, expected)) in actual.iter().zip(&expected).enumerate() {
            let close = (f64::from(*actual) - expected).abs() <= tolerance;
            let both_nan = actual.is_nan() && expected.is_nan();
            assert!(close || both_nan, "{attention} b={batch} h={head} at {index}: {actual} instead of {expected}");
        }
    }
}

#[test]
fn matches_the_reference_over_shapes_and_orders() {
    let all = [Order::Bsnh, Order::Bnsh, Order::Bnhs];
    let shapes = [
        dims(1, [1, 1], 1, 1, [1, 1]),
        dims(2, [3, 3], 1, 7, [5, 3]),
        dims(1, [6, 2], 13, 31, [32, 17]),
        dims(2, [4, 1], 65, 33, [8, 16]),
        dims(1, [2, 2], TILE_ROWS + 1, TILE_KEYS + 1, [16, 8]),
        dims(1, [1, 1], TILE_ROWS, 2 * TILE_KEYS, [4, 4]),
        dims(1, [2, 1], 3, 3 * TILE_KEYS - 1, [64, 64]),
        dims(2, [9, 3], 1, 2 * STREAM_KEYS + 1, [96, 33]),
        dims(1, [7, 7], 2, STREAM_KEYS, [256, 128]),
        dims(1, [8, 2], 2, STREAM_KEYS + 3, [80, 80]),
        dims(1, [5, 1], 17, 70, [32, 32]),
    ];
    for d in shapes {
        let [q, k, v] = inputs(d);
        for (index, order) in all.into_iter().enumerate() {
            let orders = [order, all[(index + 1) % 3], all[(index + 2) % 3]];
            let out = [Order::Bsnh, Order::Bnsh][index % 2];
            for ranks in 1..=3 {
                check(&dense(d, orders, out, 0.3), &q, &k, &v, &[], ranks);
            }
        }
    }
}

#[test]
fn adds_biases_of_every_broadcast() {
    let d = dims(2, [4, 2], 9, TILE_KEYS + 5, [8, 8]);
    let [q, k, v] = inputs(d);
    let (full, row) = (d.heads * d.queries * d.keys, d.keys);
    let strides = [
        Strided { offset: 0, batch: full, head: d.queries * d.keys, row: d.keys, col: 1 },
        Strided { offset: 0, batch: row, head: 0, row: 0, col: 1 },
        Strided { offset: 0, batch: 0, head: row, row: 0, col: 1 },
        Strided { offset: 0, batch: 0, head: 0, row: 1, col: 0 },
    ];
    for (index, bias) in strides.into_iter().enumerate() {
        let data = values(2 * full, 10 + index as u64);
        let attention = dense(d, [Order::Bsnh; 3], Order::Bsnh, 0.5).bias(bias);
        check(&attention, &q, &k, &v, &[&data], 2);
        check(&attention.bias(strides[0]), &q, &k, &v, &[&data, &values(2 * full, 20)], 2);
    }
}

#[test]
fn causal_counts_from_its_offset() {
    for (queries, keys) in [(1, 5), (7, 7), (5, 9), (TILE_ROWS + 3, TILE_ROWS + TILE_KEYS), (2 * TILE_KEYS, 9)] {
        let d = dims(1, [2, 2], queries, keys, [8, 8]);
        let [q, k, v] = inputs(d);
        for offset in [0, keys as isize - queries as isize, 3, -2] {
            let attention = dense(d, [Order::Bnsh; 3], Order::Bsnh, 0.5).causal(offset);
            let sees = |offset: isize| move |_, row: usize, key: usize| key as isize <= row as isize + offset;
            check_visible(&attention, [&q, &k, &v], &[], 2, &sees(offset));
            for second in [offset - 1, offset + 1] {
                let both = attention.clone().bounded(second);
                check_visible(&both, [&q, &k, &v], &[], 2, &sees(offset.min(second)));
            }
        }
    }
}

#[test]
fn packed_projections_are_read_in_place() {
    let d = dims(2, [3, 3], 10, 10, [4, 4]);
    let width = 3 * d.heads * d.head;
    let packed = values(d.batch * d.queries * width, 5);
    let part = Strided { offset: 0, batch: d.queries * width, head: d.head, row: width, col: 1 };
    let at = |index: usize| part.shifted(index * d.heads * d.head);
    let attention = Attention::new(d, at(0), at(1), at(2), Order::Bsnh, 0.5);
    check(&attention, &packed, &packed, &packed, &[], 2);
}

#[test]
fn undefined_rows_are_nan_or_zero() {
    let d = dims(1, [1, 1], 3, TILE_KEYS + 2, [4, 4]);
    let [mut q, k, v] = inputs(d);
    let mut bias = vec![0.0; d.queries * d.keys];
    bias[..d.keys].fill(f32::NEG_INFINITY);
    q[2 * d.head] = f32::NAN;
    let at = Strided { offset: 0, batch: 0, head: 0, row: d.keys, col: 1 };
    let attention = dense(d, [Order::Bsnh; 3], Order::Bsnh, 0.5).bias(at);
    check(&attention, &q, &k, &v, &[&bias], 2);
    let inputs = [&q, &k, &v, &bias].map(|data| bytemuck::cast_slice(data));
    for (value, nan_stays) in [(UndefinedRow::Zero, false), (UndefinedRow::ZeroIfHidden, true)] {
        let zeroed = attention.clone().undefined_row(value);
        let out: Vec<f32> = testing::run_one(zeroed, 1, &inputs, d.queries * d.value_head).unwrap();
        assert!(out[..4].iter().all(|&x| x == 0.0));
        assert!(out[4..8].iter().all(|&x| x != 0.0 && x.is_finite()));
        assert!(out[8..].iter().all(|&x| if nan_stays { x.is_nan() } else { x == 0.0 }));
    }
}

#[test]
fn a_mask_of_the_lowest_float_leaves_the_mean() {
    let d = dims(1, [1, 1], 2, TILE_KEYS + 4, [4, 4]);
    let [q, k, v] = inputs(d);
    let bias = vec![f32::MIN; d.keys];
    let at = Strided { offset: 0, batch: 0, head: 0, row: 0, col: 1 };
    let attention = dense(d, [Order::Bsnh; 3], Order::Bsnh, 0.5).bias(at);
    let inputs = [&q, &k, &v, &bias].map(|data| bytemuck::cast_slice(data));
    let out: Vec<f32> = testing::run_one(attention, 1, &inputs, 8).unwrap();
    let mean: f64 = v.iter().step_by(4).map(|&x| f64::from(x)).sum::<f64>() / d.keys as f64;
    assert!((f64::from(out[0]) - mean).abs() < 1e-6 && out[0] == out[4]);
}

#[test]
fn softcap_bounds_the_scores() {
    let d = dims(1, [1, 1], 1, 2, [1, 1]);
    let attention = dense(d, [Order::Bsnh; 3], Order::Bsnh, 1.0).softcap(2.0);
    let inputs = [&[3.0f32][..], &[5.0, 0.0], &[1.0, 0.0]].map(bytemuck::cast_slice);
    let out: Vec<f32> = testing::run_one(attention, 1, &inputs, 1).unwrap();
    let score = 2.0 * (15.0f64 / 2.0).tanh();
    assert!((f64::from(out[0]) - score.exp() / (score.exp() + 1.0)).abs() < 1e-6);
}

#[test]
fn empty_operands_are_allowed() {
    for d in [dims(0, [2, 2], 3, 3, [4, 4]), dims(1, [2, 2], 0, 3, [4, 4]), dims(1, [2, 2], 3, 3, [4, 0])] {
        let [q, k, v] = inputs(d);
        check(&dense(d, [Order::Bsnh; 3], Order::Bsnh, 0.5), &q, &k, &v, &[], 2);
    }
    let d = dims(1, [2, 2], 3, 0, [4, 4]);
    let [q, k, v] = inputs(d);
    check(&dense(d, [Order::Bsnh; 3], Order::Bsnh, 0.5), &q, &k, &v, &[], 2);
}

mod cached;
mod rounded;
mod tiles;
