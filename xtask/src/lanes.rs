//! The lanes of `cargo xtask test`, each in a process with a log file; in the end they are summed up.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::{Result, workspace};

/// How often a long lane shows that it is alive.
const PROGRESS: Duration = Duration::from_secs(30);
/// Lines of the log that a failed lane shows.
const TAIL: usize = 80;

/// A named part of the tests.
pub struct Lane {
    pub name: String,
    pub run: Box<dyn Fn() -> Result<()> + Sync>,
    /// Which lanes it runs after.
    pub stream: Stream,
}

/// Lanes of a stream run one after the other, the streams side by side: they share neither build folders nor environments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Here,
    Emulated,
}

impl Lane {
    pub fn new(name: &str, run: impl Fn() -> Result<()> + Sync + 'static) -> Self {
        Self { name: name.to_owned(), run: Box::new(run), stream: Stream::Here }
    }

    pub fn emulated(self) -> Self {
        Self { stream: Stream::Emulated, ..self }
    }
}

struct Outcome {
    name: String,
    passed: bool,
    time: Duration,
    tests: usize,
}

/// Runs `cargo xtask test NAME` for every lane; fails unless all of them pass.
pub fn run_all(lanes: &[Lane]) -> Result<()> {
    let logs = workspace::target().join("test-logs");
    fs::create_dir_all(&logs).map_err(|error| format!("cannot make {}: {error}", logs.display()))?;
    let start = Instant::now();
    let stream = |stream: Stream| {
        let lanes = lanes.iter().filter(|lane| lane.stream == stream);
        lanes.map(|lane| run(&lane.name, &logs.join(format!("{}.log", lane.name)))).collect::<Result<Vec<Outcome>>>()
    };
    let (here, emulated) = std::thread::scope(|scope| {
        let emulated = scope.spawn(|| stream(Stream::Emulated));
        (stream(Stream::Here), emulated.join())
    });
    let mut outcomes = here?;
    outcomes.extend(emulated.map_err(|_| "the thread of the emulated lanes panicked")??);
    print_summary(&outcomes, start.elapsed());
    if outcomes.iter().all(|one| one.passed) { Ok(()) } else { Err("not every lane passed".into()) }
}

fn run(name: &str, log: &Path) -> Result<Outcome> {
    println!("== {name}");
    let program = std::env::current_exe().map_err(|error| format!("cannot tell the path of this program: {error}"))?;
    let start = Instant::now();
    let file = File::create(log).map_err(|error| format!("cannot write {}: {error}", log.display()))?;
    let second = file.try_clone().map_err(|error| format!("cannot write {}: {error}", log.display()))?;
    let mut command = Command::new(program);
    command.args(["test", name]).stdout(file).stderr(second);
    let status = wait(&mut command, name, start, log)?;
    let text = fs::read_to_string(log).unwrap_or_default();
    let outcome =
        Outcome { name: name.to_owned(), passed: status.success(), time: start.elapsed(), tests: tests_passed(&text) };
    if !outcome.passed {
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n");
        println!("{tail}\n== {name} failed; the whole log is {}", log.display());
    }
    Ok(outcome)
}

fn wait(command: &mut Command, name: &str, start: Instant, log: &Path) -> Result<ExitStatus> {
    let mut child = command.spawn().map_err(|error| format!("cannot start the lane: {error}"))?;
    let mut next = PROGRESS;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| format!("cannot wait for the lane: {error}"))? {
            return Ok(status);
        }
        if start.elapsed() >= next {
            next += PROGRESS;
            let text = fs::read_to_string(log).unwrap_or_default();
            let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            println!("   {name} {:3} s  {}", start.elapsed().as_secs(), last.trim());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Sum of the counts before the word "passed", as cargo test and pytest print them.
fn tests_passed(log: &str) -> usize {
    let words: Vec<&str> = log.split_whitespace().collect();
    let counts = words.windows(2).filter(|pair| pair[1].trim_end_matches([';', ',']) == "passed");
    counts.filter_map(|pair| pair[0].parse::<usize>().ok()).sum()
}

fn print_summary(outcomes: &[Outcome], time: Duration) {
    println!("\n{:20} {:7} {:>7} {:>6}", "lane", "result", "seconds", "tests");
    for one in outcomes {
        let result = if one.passed { "passed" } else { "FAILED" };
        let tests = if one.tests > 0 { one.tests.to_string() } else { String::new() };
        println!("{:20} {result:7} {:7.1} {tests:>6}", one.name, one.time.as_secs_f64());
    }
    let passed = outcomes.iter().filter(|one| one.passed).count();
    println!("\n{passed} passed, {} failed, in {:.0} s", outcomes.len() - passed, time.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_both_runners_are_summed() {
        let log = "test result: ok. 5 passed; 0 failed;\n===== 12 passed, 1 warning in 3.4s =====\nthe 3 of us passed";
        assert_eq!(tests_passed(log), 17);
    }
}
