//! The C program of the README compiles, and runs on our device.

use std::fs;
use std::mem::offset_of;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::onnx::{self, FLOAT, GraphProto, node, value};
use ort::sys::OrtApi;

/// Declares the functions that the program calls, at their places in `OrtApi`, when there is no header to be had:
/// the wheels of ONNX Runtime come without it.
fn stand_in_header() -> String {
    macro_rules! functions {
        ($($name:ident($($arguments:literal)?);)*) => {
            [$((stringify!($name), offset_of!(OrtApi, $name) / size_of::<usize>(), concat!("(" $(, $arguments)?, ")"))),*]
        };
    }
    let mut functions = functions! {
        GetErrorMessage("const OrtStatus *");
        CreateEnv("int, const char *, OrtEnv **");
        CreateSession("const OrtEnv *, const char *, const OrtSessionOptions *, OrtSession **");
        CreateSessionOptions("OrtSessionOptions **");
        RegisterExecutionProviderLibrary("OrtEnv *, const char *, const char *");
        GetEpDevices("const OrtEnv *, const OrtEpDevice *const **, size_t *");
        SessionOptionsAppendExecutionProvider_V2("OrtSessionOptions *, OrtEnv *, const OrtEpDevice *const *, size_t, const char *const *, const char *const *, size_t");
        EpDevice_EpName("const OrtEpDevice *");
    };
    functions.sort_by_key(|function| function.1);
    let mut header = String::from("#pragma once\n#include <stdint.h>\n#include <stddef.h>\n");
    for class in ["Status", "Env", "Session", "SessionOptions", "EpDevice"] {
        header += &format!("typedef struct Ort{class} Ort{class};\n");
    }
    header += "enum { ORT_LOGGING_LEVEL_WARNING = 2 };\ntypedef struct OrtApi {\n";
    let mut next = 0;
    for (name, at, arguments) in functions {
        if at > next {
            header += &format!("  void *before_{name}[{}];\n", at - next);
        }
        let answer =
            if name == "GetErrorMessage" || name.starts_with("EpDevice") { "const char *" } else { "OrtStatus *" };
        header += &format!("  {answer}(*{name}){arguments};\n");
        next = at + 1;
    }
    header
        + "} OrtApi;\ntypedef struct OrtApiBase { const OrtApi *(*GetApi)(uint32_t); } OrtApiBase;\n\
              const OrtApiBase *OrtGetApiBase(void);\n"
}

/// The directory of `onnxruntime_c_api.h`: the real one if `ORT_INCLUDE_DIR` names it.
fn include_directory(scratch: &Path) -> PathBuf {
    if let Ok(directory) = std::env::var("ORT_INCLUDE_DIR") {
        return directory.into();
    }
    fs::write(scratch.join("onnxruntime_c_api.h"), stand_in_header()).unwrap();
    scratch.to_owned()
}

#[test]
fn the_c_program_runs() {
    let scratch = e2e::scratch("readme");
    let readme = include_str!("../../../README.md");
    let (_, program) = readme.split_once("```c\n").expect("the README has a C program");
    let (program, _) = program.split_once("```").unwrap();
    fs::write(scratch.join("session.c"), program).unwrap();

    let onnxruntime = fs::canonicalize(e2e::required("ORT_DYLIB_PATH")).unwrap();
    for library in fs::read_dir(onnxruntime.parent().unwrap()).unwrap() {
        let library = library.unwrap();
        symlink(library.path(), scratch.join(library.file_name())).unwrap();
    }
    symlink(&onnxruntime, scratch.join("libonnxruntime.so.1")).unwrap();
    symlink(fs::canonicalize(e2e::library()).unwrap(), scratch.join("libonnxruntime_ep_spacemit.so")).unwrap();
    fs::write(
        scratch.join("model.onnx"),
        onnx::model(GraphProto {
            name: "square".into(),
            input: vec![value("x", FLOAT, "n")],
            output: vec![value("y", FLOAT, "n")],
            node: vec![node("Mul", &["x", "x"], &["y"])],
            ..GraphProto::default()
        }),
    )
    .unwrap();

    let mut compiler = Command::new("cc");
    compiler.current_dir(&scratch).args(["-std=c11", "-Wall", "-Werror", "session.c", "-o", "session", "-I"]);
    compiler.arg(include_directory(&scratch)).args(["./libonnxruntime.so.1"]);
    assert!(compiler.status().expect("a C compiler").success());

    let output = Command::new("./session").current_dir(&scratch).env("LD_LIBRARY_PATH", &scratch).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::remove_dir_all(scratch).unwrap();
}
