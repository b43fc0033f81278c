//! Memory, threads and file descriptors stay flat over many runs and many sessions.

use std::fs;

use e2e::onnx::{self, FLOAT, GraphProto, floats, node, value};
use e2e::{run, session};

/// y = x * w * x with a weight of 4 MiB, so that a session that is not freed shows.
fn model() -> Vec<u8> {
    let w = vec![0.5; 1 << 20];
    onnx::model(GraphProto {
        name: "leaks".into(),
        input: vec![value("x", FLOAT, "n,1")],
        output: vec![value("y", FLOAT, "n,1048576")],
        initializer: vec![floats("w", &[1 << 20], &w)],
        node: vec![node("Mul", &["x", "w"], &["p"]), node("Mul", &["p", "x"], &["y"])],
        ..GraphProto::default()
    })
}

fn small_model() -> Vec<u8> {
    onnx::model(GraphProto {
        name: "small".into(),
        input: vec![value("x", FLOAT, "n,8")],
        output: vec![value("y", FLOAT, "n,8")],
        node: vec![node("Mul", &["x", "x"], &["p"]), node("Mul", &["p", "x"], &["y"])],
        ..GraphProto::default()
    })
}

/// Resident bytes, threads and open files of this process.
#[derive(Clone, Copy, Debug)]
struct Usage {
    memory: i64,
    threads: usize,
    files: usize,
}

fn usage() -> Usage {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: i64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    let count = |path| fs::read_dir(path).unwrap().count();
    Usage { memory: kib * 1024, threads: count("/proc/self/task"), files: count("/proc/self/fd") }
}

/// Compares with an earlier usage. Freed memory need not go back to the system at once, hence the slack.
fn assert_flat(before: Usage, slack: i64) {
    let after = usage();
    assert!(after.memory - before.memory < slack, "{before:?} {after:?}");
    assert_eq!((before.threads, before.files), (after.threads, after.files), "{before:?} {after:?}");
}

/// One test, for usage is of the whole process.
#[test]
fn usage_is_flat() {
    // 10 000 runs over more shapes than a session keeps programs for.
    let mut live = session(&small_model()).unwrap();
    let mut run_many = |count: i64| {
        for round in 0..count {
            let rows = 1 + round % 40;
            let x = vec![2.0; (rows * 8) as usize];
            let y = run(&mut live, &[("x", &[rows, 8], &x)]).unwrap();
            assert!(y[0].1.iter().all(|&y| y == 8.0));
        }
    };
    run_many(1000);
    let before = usage();
    run_many(10_000);
    assert_flat(before, 1 << 20);
    drop(live);

    // 200 sessions, each with a weight of 4 MiB.
    let model = model();
    let cycle = || {
        let mut session = session(&model).unwrap();
        assert_eq!(run(&mut session, &[("x", &[1, 1], &[2.0])]).unwrap()[0].1[7], 2.0);
    };
    (0..20).for_each(|_| cycle());
    let before = usage();
    (0..200).for_each(|_| cycle());
    assert_flat(before, 32 << 20);
}
