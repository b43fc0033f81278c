//! Vector kernels that compare and choose, on lengths around their registers, between guard pages, against plain loops.

mod grid;

use grid::{Guarded, call, each, sequence};
use kernels::table::{COMPARE_F32, SELECT};
use kernels::ukr::compare_f32::{self, Relation};
use kernels::ukr::select;

const LENGTHS: [usize; 14] = [0, 1, 2, 7, 8, 15, 16, 17, 33, 63, 64, 65, 130, 1000];

/// Calls `check` for each length, each edge of the guard pages, and operands that repeat.
fn grid(mut check: impl FnMut(usize, grid::Edge, [bool; 2])) {
    for len in LENGTHS {
        for edge in Guarded::<u8>::EDGES {
            [[false, false], [true, false], [false, true]].into_iter().for_each(|repeats| check(len, edge, repeats));
        }
    }
}

#[test]
fn relations_of_numbers_with_nan_and_infinities() {
    const VALUES: [f32; 7] = [1.0, -0.0, f32::NAN, 0.0, f32::INFINITY, f32::NEG_INFINITY, -1.5];
    each(COMPARE_F32, |variant, run| {
        let expected = |a: f32, b: f32| match variant.spec {
            Relation::Equal => a == b,
            Relation::Less => a < b,
            Relation::LessOrEqual => a <= b,
        };
        grid(|len, edge, [a_repeats, b_repeats]| {
            for seed in 0..VALUES.len() as u32 {
                let operand = |repeats: bool, seed: u32| {
                    let numbers = sequence(if repeats { 1 } else { len }, seed);
                    Guarded::new(&numbers.map(|x| VALUES[x as usize % VALUES.len()]).collect::<Vec<_>>(), edge)
                };
                let (a, b, mut y) =
                    (operand(a_repeats, seed), operand(b_repeats, !seed), Guarded::new(&vec![7; len], edge));
                let (a_ptr, b_ptr, y_ptr) = (a.as_ptr(), b.as_ptr(), y.as_mut_ptr());
                let args = compare_f32::Args { a: a_ptr, b: b_ptr, y: y_ptr, len, a_repeats, b_repeats };
                // SAFETY: operands have `len` numbers, or one that repeats.
                unsafe { call(run, &args) };
                for (index, &y) in y.iter().enumerate() {
                    let [a, b] = [a[if a_repeats { 0 } else { index }], b[if b_repeats { 0 } else { index }]];
                    assert_eq!(y, u8::from(expected(a, b)), "{} {a} {b}, {index} of {len}", variant.name);
                }
            }
        });
    });
}

#[test]
fn choices_of_every_width() {
    each(SELECT, |variant, run| {
        let size = variant.spec;
        let check = |len: usize, edge, [a_repeats, b_repeats]: [bool; 2]| {
            let operand = |elements: usize, seed| {
                Guarded::new(&sequence(elements * size, seed).map(|x| x as u8).collect::<Vec<_>>(), edge)
            };
            let elements = |repeats: bool| if repeats { 1 } else { len };
            let (a, b) = (operand(elements(a_repeats), 1), operand(elements(b_repeats), 2));
            let condition: Vec<u8> = sequence(len, 3).map(|x| [0, 1, 0, 255][x as usize % 4]).collect();
            let (condition, mut y) = (Guarded::new(&condition, edge), Guarded::new(&vec![0xa5; len * size], edge));
            let args = select::Args {
                condition: condition.as_ptr(),
                a: a.as_ptr(),
                b: b.as_ptr(),
                y: y.as_mut_ptr(),
                len,
                a_repeats,
                b_repeats,
            };
            // SAFETY: operands have `len` elements, or one that repeats.
            unsafe { call(run, &args) };
            for (index, (&condition, y)) in condition.iter().zip(y.chunks(size)).enumerate() {
                let (from, repeats) = if condition != 0 { (&a, a_repeats) } else { (&b, b_repeats) };
                let at = if repeats { 0 } else { index * size };
                assert_eq!(y, &from[at..at + size], "{}: {index} of {len}", variant.name);
            }
        };
        grid(check);
        check(65, grid::Edge::End, [true, true]);
    });
}
