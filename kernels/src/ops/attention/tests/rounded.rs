//! Queries and weights that are rounded to f16.

use half::f16;

use super::*;

/// An attention over f16 caches that reads `[q, k, v]`, the latter two as f16.
fn halves(d: AttentionDims, scale: f32, ranks: usize) -> Attention {
    dense(d, [Order::Bsnh, Order::Bnsh, Order::Bnsh], Order::Bsnh, scale)
        .cached(CacheFormat::F16, CacheFormat::F16)
        .rounded(true)
        .shared_by(ranks, d.keys)
}

fn rounded(values: Vec<f32>) -> (Vec<f16>, Vec<f32>) {
    let halves: Vec<f16> = values.into_iter().map(f16::from_f32).collect();
    let back = halves.iter().map(|x| x.to_f32()).collect();
    (halves, back)
}

/// Largest difference from the reference.
pub(super) fn error(
    attention: &Attention,
    [q, k, v]: [&[f32]; 3],
    out: &[f32],
    visible: &dyn Fn(usize, usize) -> bool,
) -> f64 {
    let d = attention.dims;
    let mut worst = 0.0f64;
    for (batch, head) in (0..d.batch).flat_map(|b| (0..d.heads).map(move |h| (b, h))) {
        let kv_head = head * d.kv_heads / d.heads;
        let hidden = |index: usize| if visible(index / d.keys, index % d.keys) { 0.0 } else { f64::NEG_INFINITY };
        let bias: Vec<f64> = (0..d.queries * d.keys).map(hidden).collect();
        let expected = reference::attention::attention(
            &gather(q, attention.q, batch, head, d.queries, d.head),
            &gather(k, attention.k.at, batch, kv_head, d.keys, d.head),
            &gather(v, attention.v.at, batch, kv_head, d.keys, d.value_head),
            &bias,
            [d.queries, d.keys, d.head, d.value_head],
            f64::from(attention.scale),
        );
        let actual = gather(out, attention.out, batch, head, d.queries, d.value_head);
        for (actual, expected) in actual.iter().zip(&expected) {
            assert!(actual.is_finite() && expected.is_finite(), "{attention}: {actual}, not {expected}");
            worst = worst.max((f64::from(*actual) - expected).abs());
        }
    }
    worst
}

/// Half a unit of the last place of f16, relatively.
const HALF_UNIT: f64 = 1.0 / 2048.0;

#[test]
fn a_rounded_weight_errs_by_half_a_unit() {
    // Rows of whole tiles, of which there are whole groups and a rest; other widths; tiles of many rows, and blocks of keys.
    let shapes = [
        (64, 1, 200),
        (64, 2, 64),
        (64, 1, 31),
        (64, 3, 129),
        (32, 1, 70),
        (128, 2, 100),
        (64, 70, 97),
        (128, 9, TILE_KEYS + 44),
        (32, 17, 40),
    ];
    for ((width, queries, keys), order) in
        shapes.into_iter().zip([Order::Bnsh, Order::Bsnh, Order::Bnsh].into_iter().cycle())
    {
        let d = dims(1, [4, 2], queries, keys, [width, width]);
        let [q, k, v] = inputs(d);
        // f16 has these operands, so that only weights are rounded.
        let ((_, q), (k16, k), (v16, v)) = (rounded(q), rounded(k), rounded(v));
        for (format, causal) in [(CacheFormat::F16, false), (CacheFormat::F32, true), (CacheFormat::F16, true)] {
            let attention = dense(d, [Order::Bsnh, order, order], Order::Bsnh, 0.125)
                .cached(format, format)
                .rounded(true)
                .shared_by(2, keys);
            let offset = keys as isize - queries as isize;
            let attention = if causal { attention.causal(offset) } else { attention };
            let operands = match format {
                CacheFormat::F16 => [bytemuck::cast_slice(&q), bytemuck::cast_slice(&k16), bytemuck::cast_slice(&v16)],
                _ => [&q, &k, &v].map(|x| bytemuck::cast_slice(x)),
            };
            for target in targets(d, 2) {
                let out = run(&attention.clone().on(target), 2, &operands);
                let visible = |query: usize, key: usize| !causal || key as isize <= query as isize + offset;
                let worst = error(&attention, [&q, &k, &v], &out, &visible);
                // Weights are at most 1 and values below 1; the rest is that of f32, as in `compare`.
                let sums = 2.0 * f64::from(f32::EPSILON) * (0.125 * ((width + 1) * width) as f64 + keys as f64 + 5.0);
                assert!(worst <= HALF_UNIT + sums, "{attention} on {target:?}: {worst}");
            }
        }
    }
}

#[test]
fn queries_beyond_the_range_of_f16_are_scaled() {
    let d = dims(1, [4, 1], 1, 96, [64, 64]);
    let [q, k, v] = inputs(d);
    let q: Vec<f32> = q.into_iter().map(|x| x * 3e6).collect();
    let ((k16, k), (v16, v)) = (rounded(k.into_iter().map(|x| x * 1e-4).collect()), rounded(v));
    let attention = halves(d, 0.004, 2);
    let operands = [bytemuck::cast_slice(&q), bytemuck::cast_slice(&k16), bytemuck::cast_slice(&v16)];
    for target in targets(d, 2) {
        let out = run(&attention.clone().on(target), 2, &operands);
        // Products err by half a unit of |q||k| < 300 each, and a weight by twice the error of its score.
        let score = 0.004 * 64.0 * 300.0 * HALF_UNIT;
        let worst = error(&attention, [&q, &k, &v], &out, &|_, _| true);
        assert!(worst <= 2.0 * score + 2.0 * HALF_UNIT, "{attention} on {target:?}: {worst}");
    }
}
