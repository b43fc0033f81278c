//! The program on folders that stand for machines, and on this one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn smi(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spacemit-ep-smi")).args(arguments).output().unwrap()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A K3 whose first AI core has a worker.
fn k3(name: &str) -> PathBuf {
    let root = std::env::temp_dir().join(format!("spacemit-smi-{name}-{}", std::process::id()));
    let block = |cpu: usize| {
        let arch = if cpu < 8 { "0x8000000058000002" } else { "0x8000000041000002" };
        format!("processor\t: {cpu}\nisa\t\t: rv64imafdcv_zvfh\nmvendorid\t: 0x710\nmarchid\t\t: {arch}\n\n")
    };
    write(&root, "proc/cpuinfo", &(0..16).map(block).collect::<String>());
    write(&root, "sys/devices/system/cpu/present", "0-15\n");
    write(&root, "proc/77/comm", "chat\n");
    write(&root, "proc/77/task/77/comm", "chat\n");
    write(&root, "proc/77/task/78/comm", "spacemit-cpu8\n");
    root
}

#[test]
fn a_k3_is_shown_with_its_workers() {
    let root = k3("table");
    let output = smi(&["--root", root.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for line in ["chip: K3", "  0    X100  256   -", "  8    A100  1024  IME2    77 (chat)", "scratchpads: none"] {
        assert!(text.lines().any(|found| found == line), "{line:?} in\n{text}");
    }
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn json_has_the_same() {
    let root = k3("json");
    let output = smi(&["--json", "--clear", "--root", root.to_str().unwrap()]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["chip"], value["cores"].as_array().unwrap().len()), (&"K3".into(), 16));
    assert_eq!(value["cores"][8]["workers"][0], "77 (chat)");
    assert_eq!(value["scratchpads"], serde_json::Value::Null);
    assert!(String::from_utf8(output.stderr).unwrap().contains("taken back: 0"));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_machine_of_another_make_says_so() {
    let root = std::env::temp_dir().join(format!("spacemit-smi-pc-{}", std::process::id()));
    write(&root, "proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    write(&root, "sys/devices/system/cpu/present", "0\n");
    let output = smi(&["--root", root.to_str().unwrap()]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("no SpacemiT hardware"));
    assert_eq!(output.status.code(), Some(3));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn wrong_arguments_show_the_usage() {
    let output = smi(&["--jsn"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && text.contains("'--jsn'") && text.contains("usage:"), "{text}");
}

#[test]
fn watching_prints_again_and_follows_the_workers() {
    let root = k3("watch");
    let mut smi = Command::new(env!("CARGO_BIN_EXE_spacemit-ep-smi"))
        .args(["--watch", "--json", "--root", root.to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(smi.stdout.take().unwrap()).lines();
    let mut workers = || {
        let value: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        value["cores"][8]["workers"].as_array().unwrap().len()
    };
    assert_eq!(workers(), 1);
    fs::remove_dir_all(root.join("proc/77")).unwrap();
    // One snapshot may have been taken before.
    assert!((0..3).any(|_| workers() == 0));
    smi.kill().unwrap();
    smi.wait().unwrap();
    fs::remove_dir_all(root).unwrap();
}
