//! Workers stay on the cores that the options list, whatever else runs.

use std::fs;
use std::thread;

use ep::onnx::{ModelProto, graph_of};
use ep::{CompiledGroup, DType, Options, Provider, TensorView};
use kernels::sys::{CpuSet, Linux, System};
use prost::Message;

const TOKENS: [usize; 2] = [1, 8];
const WIDTH: usize = 384;

fn group(options: &[(&str, &str)]) -> CompiledGroup {
    let graph = graph_of(&ModelProto::decode(&include_bytes!("graphs/minilm-fp32.onnx")[..]).unwrap()).unwrap();
    let provider = Provider::new(Options::parse(options.iter().copied()).unwrap()).unwrap();
    provider.compile(&graph).unwrap()
}

fn run(group: &CompiledGroup) -> Vec<f32> {
    let tokens = [1u64; TOKENS[0] * TOKENS[1]];
    let tokens = TensorView { dtype: DType::I64, dims: &TOKENS, bytes: bytemuck::cast_slice(&tokens) };
    let inputs = vec![tokens; group.input_names().len()];
    let mut output = vec![0f32; TOKENS[0] * TOKENS[1] * WIDTH];
    group.begin(&inputs).unwrap().execute(&inputs, &mut [bytemuck::cast_slice_mut(&mut output)]).unwrap();
    output
}

/// The CPUs of this process.
fn cpus() -> Vec<usize> {
    Linux.affinity().unwrap().iter().collect()
}

/// Kernel id of the worker that is bound to a CPU.
fn worker(cpu: usize) -> String {
    let named = |path: &std::path::Path| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == format!("spacemit-cpu{cpu}"))
    };
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten().map(|task| task.path());
    let found = tasks.into_iter().find(|path| named(path)).unwrap_or_else(|| panic!("no worker for CPU {cpu}"));
    found.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The mask of a thread, as the kernel has it.
fn mask(thread: &str) -> CpuSet {
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().parse().unwrap()
}

/// The CPU that a thread ran on last: field 39 of its `stat`, the 37th after the name.
fn ran_on(thread: &str) -> usize {
    let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(36).unwrap().parse().unwrap()
}

#[test]
fn sessions_on_disjoint_cores_stay_apart_and_agree() {
    let (all, before) = (cpus(), Linux.affinity().unwrap());
    let [first, second] = [all[0], all[all.len() - 1]];
    if first == second {
        println!("NOT RUN: this process has one CPU only");
        return;
    }
    let expected = run(&group(&[("threads", "1")]));
    let groups = [first, second].map(|cpu| group(&[("cores", &cpu.to_string())]));
    let watch = |group: &CompiledGroup, cpu: usize| {
        let worker = worker(cpu);
        assert_eq!(mask(&worker), CpuSet::from_iter([cpu]));
        for _ in 0..20 {
            assert_eq!(run(group), expected);
            assert_eq!(ran_on(&worker), cpu);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| watch(&groups[0], first));
        watch(&groups[1], second);
    });
    assert_eq!(Linux.affinity().unwrap(), before, "the caller keeps its mask");
}

#[test]
fn the_report_names_the_cores() {
    let cpu = cpus()[0];
    let path = std::env::temp_dir().join(format!("spacemit-cores-{}.json", std::process::id()));
    group(&[("cores", &cpu.to_string()), ("report", path.to_str().unwrap())]);
    let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!((&report["cores"][0]["cpu"], report["cores"].as_array().unwrap().len()), (&cpu.into(), 1));
    fs::remove_file(path).unwrap();
}

#[test]
fn sessions_on_the_same_core_share_its_worker_and_take_turns() {
    let cpu = cpus()[0].to_string();
    let expected = run(&group(&[("threads", "1")]));
    let groups = [0; 2].map(|_| group(&[("cores", &cpu), ("spin_us", "0")]));
    thread::scope(|scope| {
        for group in &groups {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(run(group), expected)));
        }
    });
}
