//! Options that change while a session exists.

use std::fs;
use std::thread;

use ep::onnx::{ModelProto, graph_of};
use ep::{CompiledGroup, DType, Options, Provider, TensorView};
use kernels::sys::{Linux, System};
use prost::Message;

const TOKENS: [usize; 2] = [1, 11];
const WIDTH: usize = 384;
const GRAPHS: [&[u8]; 2] = [include_bytes!("graphs/minilm-fp32.onnx"), include_bytes!("graphs/minilm-dq8.onnx")];

fn session(graph: &[u8], options: &[(&str, &str)]) -> (Provider, CompiledGroup) {
    let graph = graph_of(&ModelProto::decode(graph).unwrap()).unwrap();
    let provider = Provider::new(Options::parse(options.iter().copied()).unwrap()).unwrap();
    let group = provider.compile(&graph).unwrap();
    (provider, group)
}

fn run(group: &CompiledGroup) -> Vec<u32> {
    let tokens: Vec<i64> = (0..(TOKENS[0] * TOKENS[1]) as i64).map(|token| token % 2).collect();
    let tokens = TensorView { dtype: DType::I64, dims: &TOKENS, bytes: bytemuck::cast_slice(&tokens) };
    let inputs = vec![tokens; group.input_names().len()];
    let mut output = vec![0u32; TOKENS[0] * TOKENS[1] * WIDTH];
    group.begin(&inputs).unwrap().execute(&inputs, &mut [bytemuck::cast_slice_mut(&mut output)]).unwrap();
    output
}

/// The first CPU of this process.
fn cpu() -> String {
    Linux.affinity().unwrap().iter().next().unwrap().to_string()
}

#[test]
fn workers_change_between_runs_and_results_do_not() {
    let cpu = cpu();
    for (graph, targets) in GRAPHS.iter().zip([&["auto"][..], &["auto", "k1"]]) {
        for target in targets {
            let (provider, group) = session(graph, &[("threads", "2"), ("target", target)]);
            let expected = run(&group);
            let changes: [&[(&str, &str)]; 6] = [
                &[("threads", "1")],
                &[("threads", "3")],
                &[("threads", "1"), ("cores", &cpu)],
                &[("spin_us", "0")],
                &[("cores", "inherit"), ("threads", "2")],
                &[("SPACEMIT_EP_INTRA_THREAD_NUM", "4"), ("cores", "auto")],
            ];
            for change in changes {
                provider.change(change.iter().copied()).unwrap();
                assert!(run(&group) == expected, "{target} {change:?}");
            }
        }
    }
}

#[test]
fn a_change_that_fails_changes_nothing() {
    let (provider, group) = session(GRAPHS[0], &[("threads", "2")]);
    let expected = run(&group);
    let wrong: [(&[(&str, &str)], &str); 6] = [
        (&[("threads", "1"), ("thredas", "1")], "'thredas'"),
        (&[("threads", "1"), ("cores", "8;x")], "'cores'"),
        (&[("cores", "1023")], "core 1023"),
        (&[("spin_us", "-1")], "'spin_us'"),
        (&[("target", "k3")], "'target'"),
        (&[("threads", "1"), ("GGML_SPACEMIT_WORKERS", "3")], "disagrees"),
    ];
    for (change, named) in wrong {
        let error = provider.change(change.iter().copied()).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
        assert!(run(&group) == expected);
    }
}

#[test]
fn the_report_follows_the_workers() {
    let path = std::env::temp_dir().join(format!("spacemit-dynamic-{}.json", std::process::id()));
    let (provider, _group) = session(GRAPHS[0], &[("threads", "1"), ("report", path.to_str().unwrap())]);
    let read = || serde_json::from_slice::<serde_json::Value>(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(read()["cores"], serde_json::json!([]));
    provider.change([("cores", cpu().as_str())]).unwrap();
    assert_eq!(read()["cores"][0]["cpu"].to_string(), cpu());
    provider.change([("threads", "3"), ("cores", "auto")]).unwrap();
    assert_eq!((&read()["workers"], &read()["cores"]), (&3.into(), &serde_json::json!([])));
    fs::remove_file(path).unwrap();
}

#[test]
fn runs_go_on_while_workers_change() {
    let (provider, group) = session(GRAPHS[0], &[("threads", "1")]);
    let expected = run(&group);
    thread::scope(|scope| {
        let runs = scope.spawn(|| (0..20).for_each(|_| assert!(run(&group) == expected)));
        let mut round = 0;
        while !runs.is_finished() {
            provider.change([("threads", ["1", "2", "3"][round % 3])]).unwrap();
            round += 1;
        }
        runs.join().unwrap();
    });
}
