//! Running other programs.

use std::process::{Command, Stdio};

use crate::Result;

/// Runs `command` to its end; its output goes where ours goes.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", describe(command))) }
}

/// Runs `command` to its end and returns what it wrote to standard output; shows that where it fails.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| cannot_start(command, &error))?;
    if !output.status.success() {
        print!("{}", String::from_utf8_lossy(&output.stdout));
        return Err(format!("{} ended with {}", describe(command), output.status));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{} wrote something other than text", describe(command)))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", command.get_program().to_string_lossy())
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
