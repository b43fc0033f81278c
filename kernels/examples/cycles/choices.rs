//! Products of real models by every variant that this core has. The names of the items tell the shape and the variant, and end
//! with a star where it is the one that the chip's plans take.

use kernels::isa::{CoreKind, Target, isa_of_this_thread};

use crate::item::{From, Items, Unit};
use crate::products::{Made, target};
use crate::{few_bits, products};

/// Rows of a decode, of a few tokens, and of prefills.
const ROWS: [usize; 5] = [1, 4, 32, 128, 512];
/// Depths of the products of MiniLM, whisper-base, SmolLM2-135M, Qwen3-0.6B and ViT-B/16.
const DEPTHS: [usize; 8] = [384, 512, 576, 768, 1024, 1536, 2048, 3072];
/// Columns: the panels of a wider weight are like these.
const COLUMNS: usize = 64;
/// Multiplications after which more rows tell no more, and the rows that are run even so.
const ENOUGH: usize = 4_000_000;
const LEAST: usize = 48;

type Family = (&'static str, fn(&Target, [usize; 3]) -> Made);

const FAMILIES: [Family; 4] = [
    ("int8", products::int8),
    ("f32", |target, shape| products::float(target, shape, false)),
    ("f16", |target, shape| products::float(target, shape, true)),
    ("q4", few_bits::q4),
];

pub fn all(items: &mut Items) {
    for (family, make) in FAMILIES {
        for k in DEPTHS {
            let most = (ENOUGH / COLUMNS / k).max(LEAST);
            let mut rows = ROWS.map(|m| m.min(most)).to_vec();
            rows.dedup();
            rows.into_iter().for_each(|m| variants(items, family, make, [m, COLUMNS, k]));
        }
    }
}

/// One item for each variant; the chip's own choice is the first.
fn variants(items: &mut Items, family: &str, make: fn(&Target, [usize; 3]) -> Made, shape: [usize; 3]) {
    let [m, n, k] = shape;
    let mut known = Vec::new();
    for (index, target) in targets().into_iter().enumerate() {
        let made = make(&target, shape);
        let text = made.0.to_string();
        let variant = text.rsplit(" by ").next().unwrap_or_default().to_owned();
        if known.contains(&variant) {
            continue;
        }
        let star = if index == 0 { "*" } else { "" };
        items.driver(&format!("{family}_{m}x{n}x{k}:{variant}{star}"), (m * n * k, Unit::Mac), From::L2, || made);
        known.push(variant);
    }
}

/// This chip's target, and others whose kernels its core has, too.
fn targets() -> [Target; 3] {
    let vlen = isa_of_this_thread().vlen;
    let others = [CoreKind::X60, CoreKind::Rvv { vlen: 128, f16: true }];
    let [narrow, any] = others.map(|core| Target::of(core).with_workers(1));
    [target(), if vlen == 256 { narrow } else { Target::rvv(vlen) }, any]
}
