//! Sessions that run at the same time.

use std::thread;

use e2e::onnx::{self, FLOAT, GraphProto, floats, node, value};
use e2e::{run, run_shared, session};

/// y = (x * w) * x with x of n x 64.
fn model() -> Vec<u8> {
    let w: Vec<f32> = (0..64).map(|i| i as f32 - 30.0).collect();
    onnx::model(GraphProto {
        name: "threads".into(),
        input: vec![value("x", FLOAT, "n,64")],
        output: vec![value("y", FLOAT, "n,64")],
        initializer: vec![floats("w", &[64], &w)],
        node: vec![node("Mul", &["x", "w"], &["p"]), node("Mul", &["p", "x"], &["y"])],
        ..GraphProto::default()
    })
}

fn input(rows: usize, seed: usize) -> Vec<f32> {
    (0..rows * 64).map(|i| ((i * 7 + seed * 13) % 101) as f32 / 8.0).collect()
}

fn expected(x: &[f32]) -> Vec<f32> {
    x.iter().enumerate().map(|(i, x)| (x * ((i % 64) as f32 - 30.0)) * x).collect()
}

#[test]
fn two_threads_run_two_sessions() {
    let run_one = |seed: usize| {
        let mut session = session(&model()).unwrap();
        for round in 0..200 {
            let rows = 1 + (round + seed) % 5;
            let x = input(rows, seed + round);
            let y = run(&mut session, &[("x", &[rows as i64, 64], &x)]).unwrap();
            assert_eq!(y[0].1, expected(&x));
        }
    };
    thread::scope(|scope| [1, 2].map(|seed| scope.spawn(move || run_one(seed))).map(|thread| thread.join().unwrap()));
}

#[test]
fn four_threads_run_one_session() {
    let session = session(&model()).unwrap();
    let run_one = |seed: usize| {
        for round in 0..200 {
            let rows = 1 + (round + seed) % 5;
            let x = input(rows, seed * 1000 + round);
            let (dims, y) = run_shared(&session, &[rows as i64, 64], &x).unwrap();
            assert_eq!((dims, y), (vec![rows as i64, 64], expected(&x)));
        }
    };
    thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || run_one(seed));
        }
    });
}
