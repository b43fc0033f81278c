//! `spacemit-ep-smi`: the cores of this machine, who works on them, and the scratchpads beside them.

mod host;
mod snapshot;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use host::Host;
use kernels::isa::{CoreKind, Machine};
use kernels::tcm::Tcm;
use snapshot::Snapshot;

const USAGE: &str = "usage: spacemit-ep-smi [--json] [--watch] [--clear] [--root DIR]

  --json      print JSON
  --watch     print again every second
  --clear     take scratchpads back from threads that are gone
  --root DIR  read DIR/proc and DIR/sys instead of this machine's

exit codes: 0 a SpacemiT chip, 1 an error, 2 wrong arguments, 3 no SpacemiT hardware";

/// What the arguments ask for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments {
    json: bool,
    watch: bool,
    clear: bool,
    help: bool,
    root: Option<String>,
}

impl Arguments {
    fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--json" => parsed.json = true,
                "--watch" => parsed.watch = true,
                "--clear" => parsed.clear = true,
                "--help" | "-h" => parsed.help = true,
                "--root" => parsed.root = Some(arguments.next().ok_or("--root needs a folder")?),
                other => return Err(format!("unknown argument '{other}'")),
            }
        }
        Ok(parsed)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if arguments.help {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(3),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints once or for ever; returns whether the machine is a SpacemiT chip.
fn run(arguments: &Arguments) -> io::Result<bool> {
    let host = Host::new(arguments.root.as_deref());
    let machine = Machine::detect(&host);
    let kind = machine.target().map_or(CoreKind::Host, |target| target.core);
    // The device is no file of a folder that stands for the machine.
    let tcm = if arguments.root.is_none() { Tcm::open(kind) } else { None };
    if arguments.clear {
        let cleared = tcm.as_ref().map_or_else(Vec::new, Tcm::reclaim);
        eprintln!("scratchpads taken back: {}", cleared.len());
    }
    loop {
        let snapshot = Snapshot::take(&host, &machine, tcm.as_ref());
        let text = if arguments.json { format!("{}\n", snapshot.json()) } else { text::table(&snapshot) };
        let clear = if arguments.watch && !arguments.json { "\x1b[2J\x1b[H" } else { "" };
        let mut out = io::stdout().lock();
        out.write_all(format!("{clear}{text}").as_bytes())?;
        out.flush()?;
        if !arguments.watch {
            return Ok(snapshot.chip.is_some());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read() {
        let parse = |text: &str| Arguments::parse(text.split_whitespace().map(str::to_owned));
        let expected = Arguments { json: true, clear: true, root: Some("x".into()), ..Arguments::default() };
        assert_eq!(parse("--json --root x --clear"), Ok(expected));
        assert!(parse("--root").is_err() && parse("--jsn").unwrap_err().contains("--jsn"));
    }
}
