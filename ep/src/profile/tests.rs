use std::collections::BTreeSet;
use std::path::PathBuf;

use kernels::sys::{Linux, System};

use super::*;
use crate::testing::{Model, Value as Tensor};

/// Runs two products twice and returns the events of their profile.
fn profile(name: &str, options: &[(&str, &str)]) -> Vec<Value> {
    let path = std::env::temp_dir().join(format!("spacemit-{name}-{}.json", std::process::id()));
    let mut model = Model::new();
    model.input::<f32>("x", &[4, 64]).constant("w", &[64, 64], &vec![0.5f32; 64 * 64]);
    model.node("MatMul", &["x", "w"], &["first"], vec![]).node("MatMul", &["first", "w"], &["second"], vec![]);
    model.output("second");
    let all: Vec<(&str, &str)> = options.iter().copied().chain([("profile", path.to_str().unwrap())]).collect();
    for _ in 0..2 {
        let x = Tensor::new(&[4, 64], &vec![1f32; 4 * 64]);
        assert_eq!(model.run_with(&all, &[x]).unwrap()[0].values::<f32>()[0], 1024.0);
    }
    let events = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    events
}

fn of_kind<'e>(events: &'e [Value], kind: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["cat"] == kind).collect()
}

#[test]
fn every_rank_has_its_steps_by_the_names_of_the_nodes() {
    for target in ["host", "k3"] {
        let events = profile(&format!("steps-{target}"), &[("threads", "2"), ("target", target)]);
        assert_eq!(of_kind(&events, "run").len(), 1, "a session writes its own file");
        let (ranks, steps) = (of_kind(&events, "rank"), of_kind(&events, "step"));
        assert_eq!((ranks.len(), steps.len(), of_kind(&events, "wait").len()), (2, 4, 2));
        let lanes: BTreeSet<i64> = ranks.iter().map(|rank| rank["tid"].as_i64().unwrap()).collect();
        assert_eq!(lanes.len(), 2, "one lane for each worker");
        for lane in lanes {
            let steps: Vec<&&Value> = steps.iter().filter(|step| step["tid"] == lane).collect();
            assert_eq!((&steps[0]["name"], &steps[1]["name"]), (&"first".into(), &"second".into()));
            let kernel = steps[0]["args"]["kernel"].as_str().unwrap();
            assert!(kernel.contains("m=4 n=64 k=64") && kernel.contains(" by "), "{kernel}");
            let end = |event: &Value| event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap();
            assert!(end(steps[0]) <= steps[1]["ts"].as_f64().unwrap(), "steps follow one another");
        }
        assert_eq!(ranks[0]["args"]["tcm"], 0);
        assert!(events.iter().any(|event| event["name"] == "thread_name"));
    }
}

#[test]
fn the_wait_for_cores_is_in_the_profile() {
    let cpu = Linux.affinity().unwrap().iter().next().unwrap().to_string();
    let events = profile("lease", &[("cores", &cpu)]);
    assert_eq!(of_kind(&events, "lease").len(), 1);
    assert!(events.iter().any(|event| event["args"]["name"] == format!("spacemit-cpu{cpu}").as_str()));
}

#[test]
fn a_file_that_cannot_be_written_names_the_option() {
    let path = PathBuf::from("/dev/null/x");
    let error = Trace::create(&path).err().unwrap().to_string();
    assert!(error.contains("'profile'") && error.contains("/dev/null/x"), "{error}");
}

#[test]
fn slices_are_kept_only_between_start_and_end() {
    let mut model = Model::new();
    model.input::<f32>("x", &[2]).node("Neg", &["x"], &["y"], vec![]).output("y");
    let provider = crate::Provider::new(crate::Options::parse([("threads", "1")]).unwrap()).unwrap();
    let (slices, group) = (provider.slices(), provider.compile(&model.graph()).unwrap());
    let run = || {
        let x = Tensor::new(&[2], &[1f32, 2.0]);
        group.begin(&[x.view()]).unwrap().execute(&[x.view()], &mut [&mut [0; 8]]).unwrap();
    };
    run();
    assert!(slices.take().is_empty());
    slices.keep();
    run();
    let kept = slices.take();
    assert_eq!(kept.iter().map(|slice| slice.kind).collect::<Vec<_>>(), ["rank", "step", "run", "lease"]);
    assert_eq!((&*kept[1].name, &kept[1].args["op"]), ("y", &"Neg".into()));
    assert!(kept[2].start <= kept[1].start && kept[1].end <= kept[2].end);
    run();
    assert!(slices.take().is_empty());
}

#[test]
fn the_file_is_whole_after_every_run() {
    let path = std::env::temp_dir().join(format!("spacemit-whole-{}.json", std::process::id()));
    let mut model = Model::new();
    model.input::<f32>("x", &[2]).node("Neg", &["x"], &["y"], vec![]).output("y");
    let options = crate::Options::parse([("threads", "1"), ("profile", path.to_str().unwrap())]).unwrap();
    let provider = crate::Provider::new(options).unwrap();
    let group = provider.compile(&model.graph()).unwrap();
    for runs in 1..=3 {
        let x = Tensor::new(&[2], &[1f32, 2.0]);
        group.begin(&[x.view()]).unwrap().execute(&[x.view()], &mut [&mut [0; 8]]).unwrap();
        let events: Vec<Value> = serde_json::from_str(&(std::fs::read_to_string(&path).unwrap() + "]")).unwrap();
        assert_eq!(["run", "rank", "step"].map(|kind| of_kind(&events, kind).len()), [runs; 3]);
        assert_eq!(events.iter().filter(|event| event["name"] == "thread_name").count(), 1);
    }
    std::fs::remove_file(path).unwrap();
}

/// Programs of other shapes, and sessions on other threads: each step has its own text.
#[test]
fn runs_at_the_same_time_are_told_apart() {
    let mut model = Model::new();
    let shape = vec![crate::ir::Dim::Symbol("n".into())];
    model.input_of("x", kernels::tensor::DType::F32, shape).node("Neg", &["x"], &["y"], vec![]).output("y");
    let provider = crate::Provider::new(crate::Options::parse([("threads", "1")]).unwrap()).unwrap();
    let (slices, group) = (provider.slices(), provider.compile(&model.graph()).unwrap());
    slices.keep();
    std::thread::scope(|scope| {
        for len in 1..=4 {
            let group = &group;
            scope.spawn(move || {
                let (x, mut y) = (Tensor::new(&[len], &vec![1f32; len]), vec![0; 4 * len]);
                for _ in 0..100 {
                    group.begin(&[x.view()]).unwrap().execute(&[x.view()], &mut [&mut y]).unwrap();
                }
            });
        }
    });
    let kept = slices.take();
    for len in 1..=4 {
        let text = format!("neg f32 len={len}");
        let steps = kept.iter().filter(|slice| slice.kind == "step" && slice.args["kernel"] == text.as_str());
        let steps: Vec<&Slice> = steps.collect();
        let one_thread = steps.iter().all(|step| step.thread == steps[0].thread);
        assert_eq!((steps.len(), one_thread), (100, true), "{text}");
    }
    assert_eq!(kept.iter().filter(|slice| slice.kind == "run").count(), 400);
}
