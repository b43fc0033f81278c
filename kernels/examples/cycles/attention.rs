//! Attention, and the rotation of its queries and keys.

use half::f16;
use kernels::ops::attention::{Attention, AttentionDims, CacheFormat, Order, Span, Spans};
use kernels::ops::rotary::{HeadRows, Positions, Rotary, Rotation};

use crate::item::{From, Items, Unit, buffer, floats};
use crate::products::target;

/// Elements of a head.
const WIDTH: usize = 64;

pub fn all(items: &mut Items) {
    // Two of the 12 heads of MiniLM, which do not share anything.
    let dims =
        AttentionDims { batch: 1, heads: 2, kv_heads: 2, queries: 512, keys: 512, head: WIDTH, value_head: WIDTH };
    attention(items, "attention_prefill_2x512x64", dims, CacheFormat::F32, From::L2);
    attention(items, "attention_prefill_f16_2x512x64", dims, CacheFormat::F16, From::L2);
    // SmolLM2-135M behind 2000 tokens.
    let dims =
        AttentionDims { batch: 1, heads: 9, kv_heads: 3, queries: 1, keys: 2000, head: WIDTH, value_head: WIDTH };
    attention(items, "attention_decode_9x2000x64", dims, CacheFormat::F32, From::Dram);
    attention(items, "attention_decode_f16_9x2000x64", dims, CacheFormat::F16, From::Dram);
    rotation(items);
}

fn attention(items: &mut Items, name: &str, dims: AttentionDims, cache: CacheFormat, from: From) {
    let AttentionDims { heads, kv_heads, queries, keys, .. } = dims;
    let work = 2 * heads * queries * keys * WIDTH;
    items.driver(name, (work, Unit::Mac), from, || {
        let [q, k] = [(heads, queries), (kv_heads, keys)];
        let at = |(heads, rows)| Order::Bnsh.strided(heads, rows, WIDTH);
        let driver = Attention::new(dims, at(q), at(k), at(k), Order::Bsnh, 0.125)
            .cached(cache, cache)
            .rounded(cache == CacheFormat::F16)
            .on(&target());
        let numbers = |(heads, rows)| floats(heads * rows * WIDTH);
        let halves = || numbers(k).into_iter().map(f16::from_f32).collect::<Vec<_>>();
        let cached = || if cache == CacheFormat::F16 { buffer(&halves()) } else { buffer(&numbers(k)) };
        (Box::new(driver), vec![buffer(&numbers(q)), cached(), cached()], vec![4 * heads * queries * WIDTH])
    });
}

/// The queries of SmolLM2-135M for 32 tokens.
fn rotation(items: &mut Items) {
    const HEADS: usize = 9;
    const ROWS: usize = 32;
    let pairs = WIDTH / 2;
    let len = HEADS * ROWS * WIDTH;
    items.driver("rotary", (len, Unit::Element), From::L2, || {
        let rotation = Rotation { pairs, interleaved: false, positions: Positions::Gathered, cached: ROWS };
        let at = Order::Bsnh.strided(HEADS, ROWS, WIDTH);
        let driver = Rotary {
            heads: HEADS,
            x: at,
            out: at,
            rows: HeadRows { batch: 1, rows: ROWS, width: WIDTH, norm: None, rotation: Some(rotation) },
            spans: Spans::Same(Span { keys: ROWS, first: 0 }),
        };
        let angles = || buffer(&floats(ROWS * pairs));
        (Box::new(driver), vec![buffer(&floats(len)), angles(), angles()], vec![4 * len])
    });
}
