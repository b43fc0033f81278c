//! Memory, threads, file descriptors and shared memory stay flat over many runs and many sessions.

use std::fs;
use std::thread;

use e2e::onnx::{self, FLOAT, GraphProto, floats, node, value};
use e2e::{builder, run, session};

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

/// Resident bytes, threads and open files of this process, and shared memory of the machine.
#[derive(Clone, Copy, Debug)]
struct Usage {
    memory: i64,
    threads: usize,
    files: usize,
    shared: usize,
}

fn usage() -> Usage {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: i64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    let count = |path| fs::read_dir(path).map_or(0, Iterator::count);
    let ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().contains("spacemit");
    let shared = fs::read_dir("/dev/shm").map_or(0, |entries| entries.flatten().filter(ours).count());
    Usage { memory: kib * 1024, threads: count("/proc/self/task"), files: count("/proc/self/fd"), shared }
}

/// Compares with an earlier usage. Freed memory need not go back to the system at once, hence the slack.
fn assert_flat(before: Usage, slack: i64) {
    let after = usage();
    assert!(after.memory - before.memory < slack, "{before:?} {after:?}");
    let counts = |usage: &Usage| (usage.threads, usage.files, usage.shared);
    assert_eq!(counts(&before), counts(&after), "{before:?} {after:?}");
}

/// Sessions that each of eight threads makes, runs and drops: few in the usual tests, `SPACEMIT_EP_CYCLES` in
/// `cargo xtask sanitize cycles`.
fn cycles() -> usize {
    std::env::var("SPACEMIT_EP_CYCLES").map_or(5, |cycles| cycles.parse().unwrap())
}

/// Makes, runs and drops sessions of all kinds in eight threads.
fn cycle_in_threads(count: usize) {
    let cpu = allowed_cpu();
    let kinds: [&[(&str, &str)]; 5] = [
        &[("threads", "2")],
        &[("cores", &cpu)],
        &[("threads", "2"), ("share_threads", "yes")],
        &[("target", "k3"), ("threads", "3"), ("spin_us", "0")],
        &[("mem_backend", "hugepage"), ("threads", "1")],
    ];
    let model = small_model();
    let cycle = |round: usize| {
        let options: Vec<_> = kinds[round % kinds.len()].iter().copied().chain([("claim", "all")]).collect();
        let mut session = builder(&options).unwrap().commit_from_memory(&model).unwrap();
        let y = run(&mut session, &[("x", &[1, 8], &[2.0; 8])]).unwrap();
        assert!(y[0].1.iter().all(|&y| y == 8.0));
    };
    thread::scope(|scope| {
        let spawn = |first| {
            let cycle = &cycle;
            scope.spawn(move || (first..first + count).for_each(cycle))
        };
        let threads: Vec<_> = (0..8).map(spawn).collect();
        // The end of a scope waits for the closures only; a thread that still is would count as leaked.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// The first CPU of this process.
fn allowed_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned();
    list.split([',', '-']).next().unwrap().to_owned()
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

    // Sessions in threads at the same time.
    cycle_in_threads(2);
    let before = usage();
    cycle_in_threads(cycles());
    assert_flat(before, 32 << 20);
}
