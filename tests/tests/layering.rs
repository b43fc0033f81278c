//! Who may use whom; see ARCHITECTURE.md.

use std::fs;
use std::path::{Path, PathBuf};

/// Folder, and words that must not stand in its code.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("kernels/src", &["ort_sys", "ep::", "OrtStatus"]),
    ("kernels/src/reference", &["crate::ops", "crate::host", "crate::ukr", "crate::rt", "rten"]),
    ("kernels/src/ukr", &["crate::ops", "crate::rt", "crate::mem", "crate::tape", "std::thread", "Vec<"]),
    ("ep/src", &["ort_sys", "std::arch", "core::arch", "unsafe {", "*const ", "*mut ", "rten"]),
    ("capi/src", &["kernels::", "rten", "rayon"]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Lines of code, without comments, that hold one of `words`.
fn violations<'a>(code: &'a str, words: &[&str]) -> Vec<&'a str> {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.filter(|line| words.iter().any(|word| line.contains(word))).collect()
}

#[test]
fn crates_keep_to_their_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for (folder, words) in FORBIDDEN {
        for file in sources(&root.join(folder)) {
            let code = fs::read_to_string(&file).unwrap();
            found.extend(violations(&code, words).iter().map(|line| format!("{}: {line}", file.display())));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_planted_violation_is_found() {
    let code = "// ort_sys in a comment is fine\nuse ort_sys::OrtApi;\nfn f() {}";
    assert_eq!(violations(code, &["ort_sys"]), ["use ort_sys::OrtApi;"]);
}
