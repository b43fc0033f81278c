use super::*;
use crate::ops::attention::{Order, Span};
use crate::testing;

/// The row of the caches for a sequence and a row of it.
type RowOf<'a> = &'a dyn Fn(usize, usize) -> usize;

const NONE: Spans = Spans::Same(Span { keys: 0, first: 0 });

fn config(batch: usize, rows: usize, width: usize, rotation: Rotation) -> HeadRows {
    HeadRows { batch, rows, width, norm: None, rotation: Some(rotation) }
}

fn rotary(heads: usize, rows: HeadRows, orders: [Order; 2], spans: Spans) -> Rotary {
    let [x, out] = orders.map(|order| order.strided(heads, rows.rows, rows.width));
    Rotary { heads, x, out, rows, spans }
}

/// The rotated row in f64.
fn expected(row: &[f32], rotation: &Rotation, angle: &dyn Fn(usize) -> (f32, f32)) -> Vec<f64> {
    let mut y: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
    for pair in 0..rotation.pairs {
        let (i, j) = if rotation.interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + rotation.pairs) };
        let (cos, sin) = angle(pair);
        let (a, b, cos, sin) = (f64::from(row[i]), f64::from(row[j]), f64::from(cos), f64::from(sin));
        (y[i], y[j]) = (a * cos - b * sin, a * sin + b * cos);
    }
    y
}

fn assert_close(actual: &[f32], expected: &[f64]) {
    for (actual, expected) in actual.iter().zip(expected) {
        // Two products of values below 1 and their sum.
        assert!((f64::from(*actual) - expected).abs() <= 2.0 * f64::from(f32::EPSILON), "{actual} for {expected}");
    }
}

#[test]
fn turns_pairs_by_the_angle_of_their_position() {
    let (batch, rows, heads, cached) = (2, 3, 3, 12);
    let ids = [4i64, 0, 11, 2, 2, 7];
    let first = [5i64];
    for (width, pairs) in [(2, 1), (8, 4), (32, 16), (80, 16), (80, 40), (256, 128), (6, 0)] {
        let x = testing::floats(batch * rows * heads * width, 1);
        let (cos, sin) = (testing::floats(cached * pairs, 2), testing::floats(cached * pairs, 3));
        for interleaved in [false, true] {
            let cases: [(Positions, Spans, &[i64], RowOf<'_>); 4] = [
                (Positions::Gathered, NONE, &[], &|b, s| b * rows + s),
                (Positions::Span, Spans::Same(Span { keys: 9, first: 6 }), &[], &|_, s| 6 + s),
                (Positions::Each, NONE, &ids, &|b, s| ids[b * rows + s] as usize),
                (Positions::From, NONE, &first, &|_, s| 5 + s),
            ];
            for (positions, spans, ids, at) in cases {
                let rotation = Rotation { pairs, interleaved, positions, cached };
                for orders in [[Order::Bsnh, Order::Bnsh], [Order::Bnsh, Order::Bsnh]] {
                    let driver = rotary(heads, config(batch, rows, width, rotation.clone()), orders, spans);
                    let (from, to) = (driver.x, driver.out);
                    let mut inputs =
                        vec![bytemuck::cast_slice(&x), bytemuck::cast_slice(&cos), bytemuck::cast_slice(&sin)];
                    if !ids.is_empty() {
                        inputs.push(bytemuck::cast_slice(ids));
                    }
                    let y: Vec<f32> = testing::run_one(driver, 3, &inputs, x.len()).unwrap();
                    for (b, s, h) in (0..batch * rows * heads).map(|i| (i / heads / rows, i / heads % rows, i % heads))
                    {
                        let angle = |pair| (cos[at(b, s) * pairs + pair], sin[at(b, s) * pairs + pair]);
                        let row = expected(&x[from.at(b, h, s)..][..width], &rotation, &angle);
                        assert_close(&y[to.at(b, h, s)..][..width], &row);
                    }
                }
            }
        }
    }
}

#[test]
fn sections_take_their_own_positions() {
    let (pairs, cached) = (4, 6);
    let x = testing::floats(2 * 8, 1);
    let (cos, sin) = (testing::floats(cached * pairs, 2), testing::floats(cached * pairs, 3));
    let ids = [0i64, 1, 2, 3, 4, 5];
    let sections = [0u8, 1, 2, 1];
    let positions = Positions::Sections(sections.to_vec().into());
    let rotation = Rotation { pairs, interleaved: false, positions, cached };
    let driver = rotary(1, config(1, 2, 8, rotation.clone()), [Order::Bsnh; 2], NONE);
    let inputs = [&x, &cos, &sin].map(|data| bytemuck::cast_slice(data));
    let inputs: Vec<&[u8]> = inputs.into_iter().chain([bytemuck::cast_slice(&ids)]).collect();
    let y: Vec<f32> = testing::run_one(driver, 1, &inputs, 16).unwrap();
    for row in 0..2 {
        let at = |pair: usize| ids[usize::from(sections[pair]) * 2 + row] as usize * pairs + pair;
        let row_of = |data: &[f32]| expected(&data[row * 8..][..8], &rotation, &|pair| (cos[at(pair)], sin[at(pair)]));
        assert_close(&y[row * 8..][..8], &row_of(&x));
    }
}

#[test]
fn heads_are_normalised_first() {
    for width in [4, 16, 70] {
        let x = testing::floats(3 * width, 4);
        let weight = testing::floats(width, 5);
        let rows = HeadRows { batch: 1, rows: 3, width, norm: Some(1e-3), rotation: None };
        let driver = rotary(1, rows, [Order::Bsnh; 2], NONE);
        let inputs = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&weight)];
        let y: Vec<f32> = testing::run_one(driver, 2, &inputs, x.len()).unwrap();
        for (x, y) in x.chunks(width).zip(y.chunks(width)) {
            let mean: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / width as f64;
            for ((x, weight), y) in x.iter().zip(&weight).zip(y) {
                let want = f64::from(*x) / (mean + 1e-3).sqrt() * f64::from(*weight);
                assert!((f64::from(*y) - want).abs() <= f64::from(f32::EPSILON) * (width as f64 + 4.0));
            }
        }
    }
}

#[test]
fn positions_outside_of_the_caches_are_named() {
    for bad in [-1i64, 6, i64::MAX, i64::MIN] {
        for positions in [Positions::Each, Positions::From, Positions::Sections([0u8].to_vec().into())] {
            let tokens = if matches!(positions, Positions::Sections(_)) { 3 } else { 1 };
            let rotation = Rotation { pairs: 1, interleaved: true, positions, cached: 6 };
            let driver = rotary(1, config(1, 1, 2, rotation), [Order::Bsnh; 2], NONE);
            let caches = [0f32; 6];
            let ids = vec![bad; tokens];
            let inputs = [&[0f32; 2][..], &caches, &caches].map(bytemuck::cast_slice);
            let inputs: Vec<&[u8]> = inputs.into_iter().chain([bytemuck::cast_slice(&ids)]).collect();
            let error = testing::run_one::<f32>(driver, 2, &inputs, 2).unwrap_err();
            assert!(matches!(&error, RunError::Data(text) if text.contains(&format!("position {bad} "))), "{error}");
        }
    }
}
