//! The developer commands of the project: `cargo xtask` lists them.

mod bench;
mod demo;
mod lanes;
mod licences;
mod plugin;
mod process;
mod python;
mod riscv;
mod sanitize;
mod test;
mod workspace;

use std::process::ExitCode;

/// What went wrong, ready to be shown.
type Result<T> = std::result::Result<T, String>;

struct Subcommand {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<()>,
}

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "demo",
        arguments: "[search|chat|transcribe|coscheduling|--model MODEL.onnx ...]",
        about: "the provider at work on real models, or compared with the CPU provider on yours",
        run: demo::run,
    },
    Subcommand {
        name: "test",
        arguments: "[LANE ...] [--require-riscv]",
        about: "everything that tests the project, or only the named lanes",
        run: test::run,
    },
    Subcommand {
        name: "wheel",
        arguments: "",
        about: "build the Python package into target/wheels",
        run: plugin::run_wheel,
    },
    Subcommand {
        name: "riscv",
        arguments: "setup|build|test [LANE ...]|counts|cycles|cases|coscheduling",
        about: "cross-build the plugin for SpacemiT's boards, or test and measure it in QEMU",
        run: riscv::run,
    },
    Subcommand {
        name: "sanitize",
        arguments: "[model|cycles|miri|address|thread|valgrind]",
        about: "threads in every order, 1000 sessions, tests under Miri, sanitizers and valgrind",
        run: sanitize::run,
    },
    Subcommand {
        name: "bench",
        arguments: "[--quick] [CASE ...]",
        about: "time the provider beside the CPU provider",
        run: bench::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print_subcommands();
        return ExitCode::SUCCESS;
    };
    let Some(subcommand) = SUBCOMMANDS.iter().find(|one| one.name == name) else {
        eprintln!("error: there is no command {name}");
        print_subcommands();
        return ExitCode::FAILURE;
    };
    match (subcommand.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn print_subcommands() {
    println!("cargo xtask COMMAND");
    for one in SUBCOMMANDS {
        let usage = format!("{} {}", one.name, one.arguments);
        println!("  {usage:66} {}", one.about);
    }
}
