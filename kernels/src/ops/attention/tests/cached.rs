//! Caches: spans, windows, sinks, formats, and ranks that share keys.

use super::*;

/// Most keys of the tests.
const KEYS: usize = 2 * TILE_KEYS + 40;

/// Keys and values of which those behind each sequence's `last` position are NaN.
fn filled(d: AttentionDims, last: &[i32]) -> [Vec<f32>; 3] {
    let [q, mut k, mut v] = inputs(d);
    for (data, width) in [(&mut k, d.head), (&mut v, d.value_head)] {
        for (index, row) in data.chunks_exact_mut(width).enumerate() {
            let (batch, key) = (index / d.keys / d.kv_heads, index % d.keys);
            if key as i32 > last[batch] {
                row.fill(f32::NAN);
            }
        }
    }
    [q, k, v]
}

fn ragged(target: &Target, d: AttentionDims, last: &[i32], window: Option<usize>, ranks: usize) {
    let [q, k, v] = filled(d, last);
    let spans = Spans::Last { queries: d.queries, capacity: d.keys, counted: false };
    let mut attention = dense(d, [Order::Bsnh, Order::Bnsh, Order::Bnsh], Order::Bsnh, 0.3)
        .on(target)
        .spans(spans)
        .by_position(true)
        .shared_by(ranks, d.keys);
    if let Some(keys) = window {
        attention = attention.window(keys);
    }
    let inputs = [bytemuck::cast_slice(&q), bytemuck::cast_slice(&k), bytemuck::cast_slice(&v)];
    let operands: Vec<&[u8]> = inputs.into_iter().chain([bytemuck::cast_slice(last)]).collect();
    let mut out = run(&attention, ranks, &operands);
    // Queries of a short sequence that are padding see what is there.
    let position = |batch: usize, query: usize| (last[batch] as usize + 1).saturating_sub(d.queries) + query;
    for (index, x) in out.iter_mut().enumerate() {
        let row = index / (d.heads * d.value_head);
        if position(row / d.queries, row % d.queries) > last[row / d.queries] as usize {
            assert!(x.is_finite() || window.is_some());
            *x = f32::NAN;
        }
    }
    compare(&attention, [&q, &k, &v], &out, &|[batch, _, query, key]| {
        let at = position(batch, query);
        let padding = at > last[batch] as usize;
        let hidden = key > at || window.is_some_and(|keys| key + keys <= at);
        if padding || hidden { f64::NEG_INFINITY } else { 0.0 }
    });
}

#[test]
fn ragged_sequences_read_nothing_beyond_their_ends() {
    let shapes = [([2, 2], 32, 1), ([9, 3], 64, 2), ([5, 1], 80, 3), ([6, 2], 32, 17), ([3, 3], 256, 1)];
    let shapes = shapes.into_iter().chain([([1, 1], 8, TILE_ROWS + 1)]);
    for ((heads, width, queries), ranks) in shapes.zip([1, 2, 5].into_iter().cycle()) {
        let d = dims(3, heads, queries, KEYS, [width, width]);
        for target in targets(d, ranks) {
            ragged(target, d, &[KEYS as i32 - 1, 0, 300], None, ranks);
            ragged(target, d, &[299, 4, 70], Some(9), ranks);
        }
    }
}

#[test]
fn lengths_that_do_not_fit_are_named() {
    let d = dims(1, [1, 1], 2, 4, [4, 4]);
    let [q, k, v] = inputs(d);
    let check = |spans: Spans, given: &[u8], expected: &str| {
        let attention = dense(d, [Order::Bnsh; 3], Order::Bsnh, 1.0).spans(spans);
        let inputs = [bytemuck::cast_slice(&q), bytemuck::cast_slice(&k), bytemuck::cast_slice(&v)];
        let operands: Vec<&[u8]> = inputs.into_iter().chain(given.chunks(4 * (given.len() / 4).min(2))).collect();
        let error = testing::run_one::<f32>(attention, 2, &operands, 8).unwrap_err();
        assert!(matches!(&error, RunError::Data(text) if text.contains(expected)), "{error}");
    };
    let last = Spans::Last { queries: 2, capacity: 4, counted: false };
    for bad in [-1i32, 4, i32::MIN] {
        check(last, bytemuck::bytes_of(&bad), &format!("a last position of {bad}"));
    }
    for bad in [-1i64, 5, i64::MAX] {
        check(Spans::Filled { queries: 2, capacity: 4 }, bytemuck::bytes_of(&bad), &format!("of keys of {bad}"));
    }
}

#[test]
fn counted_queries_end_at_the_last_position() {
    let d = dims(1, [2, 1], 4, 9, [8, 8]);
    let [q, k, v] = inputs(d);
    let attention = dense(d, [Order::Bnsh; 3], Order::Bnsh, 0.4)
        .spans(Spans::Last { queries: 4, capacity: 9, counted: true })
        .by_position(true);
    let (last, count) = ([6i32], [2i32]);
    let operands: [&[u8]; 5] = [
        bytemuck::cast_slice(&q),
        bytemuck::cast_slice(&k),
        bytemuck::cast_slice(&v),
        bytemuck::cast_slice(&last),
        bytemuck::cast_slice(&count),
    ];
    let out = run(&attention, 2, &operands);
    // The padding sees all seven keys.
    let hidden = |query: usize, key: usize| key > (5 + query).min(6);
    compare(&attention, [&q, &k, &v], &out, &|[_, _, query, key]| {
        if hidden(query, key) { f64::NEG_INFINITY } else { 0.0 }
    });
}

#[test]
fn a_sink_takes_its_share_of_the_weights() {
    for queries in [1, 20] {
        let d = dims(2, [4, 2], queries, 300, [16, 16]);
        let [q, k, v] = inputs(d);
        let sinks = [0.5f32, -3.0, 40.0, f32::NEG_INFINITY];
        for (given, ranks) in [(None, 1), (Some(&sinks), 3)] {
            let plain = dense(d, [Order::Bnsh; 3], Order::Bnsh, 0.3).shared_by(ranks, d.keys);
            let operands = [&q, &k, &v].map(|data| bytemuck::cast_slice(data));
            let without = run(&plain, ranks, &operands);
            let out = match given {
                None => run(&plain.zero_sink(), ranks, &operands),
                Some(sinks) => {
                    let operands = operands.into_iter().chain([bytemuck::cast_slice(sinks)]).collect::<Vec<_>>();
                    run(&plain.head_sinks(), ranks, &operands)
                }
            };
            for (row, (out, without)) in out.chunks(16).zip(without.chunks(16)).enumerate() {
                let (head, batch) = (row / queries % 4, row / queries / 4);
                let q = &q[row * 16..][..16];
                let keys = k[(batch * 2 + head / 2) * 300 * 16..][..300 * 16].chunks(16);
                let score =
                    |key: &[f32]| key.iter().zip(q).map(|(a, b)| f64::from(a * b)).sum::<f64>() * f64::from(0.3f32);
                let total: f64 = keys.map(|key| score(key).exp()).sum();
                let sink = f64::from(given.map_or(0.0, |sinks| sinks[head])).exp();
                for (x, y) in out.iter().zip(without) {
                    let expected = f64::from(*y) * total / (total + sink);
                    assert!((f64::from(*x) - expected).abs() < 1e-5, "{row}: {x} instead of {expected}");
                }
            }
        }
    }
}

/// Packs rows of `[heads, keys, width]` in a format.
fn packed(format: CacheFormat, data: &[f32], width: usize, keys: usize, scales: &[f32]) -> (Vec<u8>, Vec<f32>) {
    let mut bytes = vec![0; format.bytes(data.len())];
    let mut back = vec![0.0; data.len()];
    let rows = data.chunks(width).zip(bytes.chunks_mut(format.bytes(width))).zip(back.chunks_mut(width));
    for (index, ((row, bytes), back)) in rows.enumerate() {
        let scales = head_scales(scales, index / keys % 2, width);
        format.pack(row, scales, bytes);
        format.unpack(bytes, scales, back);
    }
    (bytes, back)
}

#[test]
fn caches_of_every_format_are_read() {
    for (queries, ranks) in [(1, 2), (3, 1), (40, 3), (17, 2)] {
        let d = dims(2, [6, 2], queries, 200, [32, 64]);
        let [q, k, v] = inputs(d);
        let channel = |width: usize| values(2 * width, 9).iter().map(|x| 0.01 + x.abs() * 0.1).collect::<Vec<f32>>();
        for format in [CacheFormat::F16, CacheFormat::I8, CacheFormat::U4] {
            for (k_scales, v_scales) in [(vec![0.03], vec![0.2]), (channel(32), channel(64))] {
                let (k_bytes, k) = packed(format, &k, 32, 200, &k_scales);
                let (v_bytes, v) = packed(format, &v, 64, 200, &v_scales);
                let attention = dense(d, [Order::Bsnh, Order::Bnsh, Order::Bnsh], Order::Bsnh, 0.3)
                    .cached(format, format)
                    .shared_by(ranks, d.keys);
                let mut operands = vec![bytemuck::cast_slice(&q), &k_bytes[..], &v_bytes];
                if format.is_scaled() {
                    operands.extend([bytemuck::cast_slice(&k_scales), bytemuck::cast_slice(&v_scales)]);
                }
                for target in targets(d, ranks) {
                    let out = run(&attention.clone().on(target), ranks, &operands);
                    compare(&attention, [&q, &k, &v], &out, &|_| 0.0);
                }
            }
        }
    }
}

#[test]
fn formats_round_to_the_nearest_level() {
    let row = [0.0f32, 0.5, 1.5, -2.5, 7.4, -7.6, 1000.0, -1000.0];
    let back = |format: CacheFormat, scales: &[f32]| {
        let (mut bytes, mut back) = (vec![0; format.bytes(8)], [0.0; 8]);
        format.pack(&row, scales, &mut bytes);
        format.unpack(&bytes, scales, &mut back);
        (bytes, back)
    };
    let (bytes, levels) = back(CacheFormat::I8, &[1.0]);
    assert_eq!(bytes, [0, 0, 2, 254, 7, 248, 127, 128]);
    assert_eq!(levels, [0.0, 0.0, 2.0, -2.0, 7.0, -8.0, 127.0, -128.0]);
    let (bytes, levels) = back(CacheFormat::U4, &[1.0]);
    assert_eq!(bytes, [0x88, 0x6a, 0x0f, 0x0f]);
    assert_eq!(levels, [0.0, 0.0, 2.0, -2.0, 7.0, -8.0, 7.0, -8.0]);
    let scales = [1.0f32, 0.5, 0.5, 0.5, 2.0, 2.0, 100.0, 200.0];
    assert_eq!(back(CacheFormat::I8, &scales).1, [0.0, 0.5, 1.5, -2.5, 8.0, -8.0, 1000.0, -1000.0]);
    assert_eq!(back(CacheFormat::F16, &[]).1, [0.0, 0.5, 1.5, -2.5, 7.3984375, -7.6015625, 1000.0, -1000.0]);
}

#[test]
fn scores_of_every_stage() {
    let sizes = [(2, 5), (20, TILE_KEYS + 7)];
    for (target, (queries, keys)) in TARGETS.iter().flat_map(|target| sizes.map(|sizes| (target, sizes))) {
        let d = dims(1, [4, 2], queries, keys, [8, 8]);
        let [q, k, v] = inputs(d);
        let bias = values(keys, 4);
        let at = Strided { offset: 0, batch: 0, head: 0, row: 0, col: 1 };
        let attention = dense(d, [Order::Bnsh; 3], Order::Bnsh, 0.5).on(target).bias(at).softcap(0.8).causal(-1);
        let operands = [&q, &k, &v, &bias].map(|data| bytemuck::cast_slice(data));
        let score = |row: usize, key: usize, stage: ScoreStage| {
            let (q, k) = (&q[row * 8..][..8], &k[(row / queries / 2 * keys + key) * 8..][..8]);
            let product: f64 = q.iter().zip(k).map(|(a, b)| f64::from(*a) * f64::from(*b) * 0.5).sum();
            let capped = 0.8 * (product / 0.8).tanh();
            match stage {
                ScoreStage::Product => product,
                ScoreStage::Capped => capped,
                _ if key + 1 > row % queries => f64::NEG_INFINITY,
                _ => capped + f64::from(bias[key]),
            }
        };
        for stage in [ScoreStage::Product, ScoreStage::Capped, ScoreStage::Biased, ScoreStage::Weights] {
            let len = d.heads * queries * keys;
            let out: Vec<f32> = testing::run_one(attention.scores(stage), 2, &operands, len).unwrap();
            for (row, out) in out.chunks(keys).enumerate() {
                let scores: Vec<f64> = (0..keys).map(|key| score(row, key, stage)).collect();
                let sum: f64 = scores.iter().map(|x| x.exp()).sum();
                for (x, score) in out.iter().zip(scores) {
                    let want = if stage < ScoreStage::Weights {
                        score
                    } else {
                        score.exp() / if sum == 0.0 { 1.0 } else { sum }
                    };
                    let close = (f64::from(*x) - want).abs() < 1e-5;
                    assert!(close || f64::from(*x) == want, "{stage:?} row {row}: {x} instead of {want}");
                }
            }
        }
    }
}
