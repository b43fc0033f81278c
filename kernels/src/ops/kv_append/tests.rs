use super::*;
use crate::mem::Workspace;
use crate::ops::attention::Order;
use crate::ops::rotary::{Positions, Rotation};
use crate::rt::Team;
use crate::tape::{Argument, Buffer, Place, Step, Tape};
use crate::testing;

const BATCH: usize = 2;
const HEADS: usize = 3;
const WIDTH: usize = 8;
const ROWS: usize = 3;

fn driver(past: Option<usize>, present: usize, format: CacheFormat, spans: Spans) -> KvAppend {
    KvAppend {
        heads: HEADS,
        x: Order::Bsnh.strided(HEADS, ROWS, WIDTH),
        rows: HeadRows { batch: BATCH, rows: ROWS, width: WIDTH, norm: None, rotation: None },
        format,
        past,
        present,
        offsets: [0; 2],
        spans,
    }
}

/// What a position of the present cache is to hold: of the past, of the new rows, nothing.
fn expected(past: &[f32], held: usize, present: usize, x: &[f32], spans: [Span; BATCH]) -> Vec<f32> {
    let mut out = Vec::new();
    for (batch, head, position) in
        (0..BATCH * HEADS * present).map(|i| (i / present / HEADS, i / present % HEADS, i % present))
    {
        let (span, unit) = (spans[batch], batch * HEADS + head);
        let first = span.first as usize;
        out.extend_from_slice(match position {
            at if at < first => &past[(unit * held + at) * WIDTH..][..WIDTH],
            at if at < span.keys => &x[((batch * ROWS + at - first) * HEADS + head) * WIDTH..][..WIDTH],
            _ => &[0.0; WIDTH],
        });
    }
    out
}

#[test]
fn the_past_is_copied_and_new_rows_follow() {
    let x = testing::floats(BATCH * ROWS * HEADS * WIDTH, 1);
    for (held, present) in [(0, 3), (70, 73), (130, 300), (5, 8)] {
        let past = testing::floats(BATCH * HEADS * held * WIDTH, 2);
        let span = Span { keys: held + ROWS, first: held as isize };
        let driver = driver(Some(held), present, CacheFormat::F32, Spans::Same(span));
        for ranks in 1..=3 {
            let inputs = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&past)];
            let len = BATCH * HEADS * present * WIDTH;
            let y: Vec<f32> = testing::run_one(driver.clone(), ranks, &inputs, len).unwrap();
            assert_eq!(y, expected(&past, held, present, &x, [span; 2]));
        }
    }
}

#[test]
fn ragged_sequences_each_end_at_their_last_position() {
    let x = testing::floats(BATCH * ROWS * HEADS * WIDTH, 1);
    let past = testing::floats(BATCH * HEADS * 9 * WIDTH, 2);
    let last = [8i32, 1];
    let spans = Spans::Last { queries: ROWS, capacity: 12, counted: false };
    let inputs = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&past), bytemuck::cast_slice(&last)];
    let y: Vec<f32> =
        testing::run_one(driver(Some(9), 12, CacheFormat::F32, spans), 2, &inputs, BATCH * HEADS * 12 * WIDTH).unwrap();
    let spans = [Span { keys: 9, first: 6 }, Span { keys: 2, first: 0 }];
    assert_eq!(y, expected(&past, 9, 12, &x, spans));
}

#[test]
fn a_past_longer_than_its_cache_is_named() {
    let x = testing::floats(BATCH * ROWS * HEADS * WIDTH, 1);
    let past = testing::floats(BATCH * HEADS * 4 * WIDTH, 2);
    let last = [11i32, 11];
    let spans = Spans::Last { queries: ROWS, capacity: 12, counted: false };
    let inputs = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&past), bytemuck::cast_slice(&last)];
    let driver = driver(Some(4), 12, CacheFormat::F32, spans);
    let error = testing::run_one::<f32>(driver, 2, &inputs, BATCH * HEADS * 12 * WIDTH).unwrap_err();
    assert_eq!(error, RunError::Data("9 positions are past, the cache holds 4".into()));
}

#[test]
fn in_a_shared_cache_only_the_new_rows_are_written() {
    let x = testing::floats(BATCH * ROWS * HEADS * WIDTH, 1);
    let capacity = 20;
    let mut cache = testing::floats(BATCH * HEADS * capacity * WIDTH, 2);
    let span = Span { keys: 10, first: 7 };
    let mut want = expected(&cache, capacity, capacity, &x, [span; 2]);
    for (index, want) in want.iter_mut().enumerate() {
        if index / WIDTH % capacity >= span.keys {
            *want = cache[index];
        }
    }
    let bytes = [x.len() * 4, cache.len() * 4, cache.len() * 4];
    let places = [Place::Input(0), Place::Input(1), Place::Output(0)];
    let buffers = places.into_iter().zip(bytes).map(|(place, bytes)| Buffer { place, bytes }).collect();
    let driver = Box::new(driver(Some(capacity), capacity, CacheFormat::F32, Spans::Same(span)));
    let step = Step { driver, inputs: [0, 1].into_iter().collect(), outputs: [2].into_iter().collect(), label: 0 };
    let tape = Tape::new(buffers, vec![step]).unwrap();
    let arguments = [Argument::Bytes(bytemuck::cast_slice(&x)), Argument::Output(0)];
    let outputs = &mut [bytemuck::cast_slice_mut(&mut cache)];
    tape.run_sharing(&Team::new(2).unwrap(), &mut Workspace::new(), &arguments, outputs).unwrap();
    assert_eq!(cache, want);
}

#[test]
fn rows_are_turned_and_packed_on_the_way() {
    let x = testing::floats(BATCH * ROWS * HEADS * WIDTH, 1);
    let (cos, sin) = (vec![0.0f32; 5 * 4], vec![1.0f32; 5 * 4]);
    let span = Span { keys: 5, first: 2 };
    let rotation = Rotation { pairs: 4, interleaved: false, positions: Positions::Span, cached: 5 };
    for (format, scales) in
        [(CacheFormat::F16, vec![]), (CacheFormat::I8, vec![0.01f32]), (CacheFormat::U4, vec![0.125; HEADS * WIDTH])]
    {
        let mut driver = driver(Some(2), 6, format, Spans::Same(span));
        driver.rows.rotation = Some(rotation.clone());
        let past: Vec<u8> = (0..format.bytes(BATCH * HEADS * 2 * WIDTH)).map(|i| i as u8).collect();
        let mut inputs =
            vec![bytemuck::cast_slice(&x), &past[..], bytemuck::cast_slice(&cos), bytemuck::cast_slice(&sin)];
        if format.is_scaled() {
            inputs.push(bytemuck::cast_slice(&scales));
        }
        let row = format.bytes(WIDTH);
        let y: Vec<u8> = testing::run_one(driver, 3, &inputs, BATCH * HEADS * 6 * row).unwrap();
        for (unit, y) in y.chunks(6 * row).enumerate() {
            assert_eq!(y[..2 * row], past[unit * 2 * row..][..2 * row]);
            for s in 0..ROWS {
                let x = &x[((unit / HEADS * ROWS + s) * HEADS + unit % HEADS) * WIDTH..][..WIDTH];
                // A quarter turn: (a, b) becomes (-b, a).
                let turned: Vec<f32> = x[4..].iter().map(|x| -x).chain(x[..4].iter().copied()).collect();
                let mut want = vec![0; row];
                format.pack(&turned, head_scales(&scales, unit % HEADS, WIDTH), &mut want);
                assert_eq!(y[(2 + s) * row..][..row], want);
            }
            assert!(y[5 * row..].iter().all(|&byte| byte == 0));
        }
    }
}
