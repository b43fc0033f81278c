//! What is told of a region.

use std::fmt;

use crate::core::Unit;
use crate::insn::Group;
use crate::memory::Traffic;
use crate::scoreboard::Wait;

/// What happened up to some moment, or between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub cycles: u64,
    /// By [`Group`].
    pub instructions: [u64; Group::NAMES.len()],
    /// Bytes that loads and stores touched.
    pub touched: u64,
    pub traffic: Traffic,
    /// Cycles that the second cache and DRAM were occupied.
    pub transfers: [u64; 2],
    /// Cycles that instructions waited, by [`Wait`].
    pub waits: [u64; Wait::COUNT],
    /// Cycles that units were occupied, by [`Unit`].
    pub busy: [u64; Unit::COUNT],
}

impl Counters {
    /// What happened since `start`.
    pub fn since(&self, start: &Self) -> Self {
        Self {
            cycles: self.cycles - start.cycles,
            instructions: difference(self.instructions, start.instructions),
            touched: self.touched - start.touched,
            traffic: Traffic {
                l2_lines: self.traffic.l2_lines - start.traffic.l2_lines,
                dram_lines: self.traffic.dram_lines - start.traffic.dram_lines,
            },
            transfers: difference(self.transfers, start.transfers),
            waits: difference(self.waits, start.waits),
            busy: difference(self.busy, start.busy),
        }
    }
}

fn difference<const N: usize>(end: [u64; N], start: [u64; N]) -> [u64; N] {
    std::array::from_fn(|index| end[index] - start[index])
}

/// Words `name=number`, those that are 0 left out.
impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycles={}", self.cycles)?;
        let named = |kind: &'static str, names: &[&'static str], numbers: &[u64]| {
            let pairs = names.iter().zip(numbers).filter(|(_, number)| **number > 0);
            pairs.map(|(name, number)| format!(" {kind}.{name}={number}")).collect::<String>()
        };
        let waits: Vec<&str> = (0..Wait::COUNT).map(Wait::name).collect();
        f.write_str(&named("insns", &Group::NAMES, &self.instructions))?;
        let Traffic { l2_lines, dram_lines } = self.traffic;
        f.write_str(&named("memory", &["touched", "l2-lines", "dram-lines"], &[self.touched, l2_lines, dram_lines]))?;
        f.write_str(&named("transfer", &["l2", "dram"], &self.transfers))?;
        f.write_str(&named("wait", &waits, &self.waits))?;
        f.write_str(&named("busy", &Unit::NAMES, &self.busy))
    }
}
