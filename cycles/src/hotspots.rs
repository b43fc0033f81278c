//! Where the cycles of a region went, by instruction.

use std::collections::BTreeMap;
use std::fmt;

use crate::scoreboard::Wait;

/// What the instruction at one place took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// How often it began.
    pub times: u64,
    /// Cycles between the start of the instruction before it and its own, by [`Wait`].
    pub waits: [u64; Wait::COUNT],
}

/// The instructions of the last region by their addresses.
#[derive(Debug, Default)]
pub struct Hotspots(BTreeMap<u64, Spent>);

impl Hotspots {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The instruction at `pc` began `cycles` after the one before, as it waited for `wait`.
    pub fn charge(&mut self, pc: u64, cycles: u64, wait: Wait) {
        let spent = self.0.entry(pc).or_default();
        spent.times += 1;
        spent.waits[wait.index()] += cycles;
    }
}

/// A line `PC times=N`, with the cycles of each kind of waiting, for each instruction.
impl fmt::Display for Hotspots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (pc, spent) in &self.0 {
            write!(f, "{pc:#x} times={}", spent.times)?;
            for (index, cycles) in spent.waits.iter().enumerate().filter(|(_, cycles)| **cycles > 0) {
                write!(f, " {}={cycles}", Wait::name(index))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
