//! A core that follows a program.

use std::ops::Range;

use crate::branch::Predictor;
use crate::cache::LINE;
use crate::core::Core;
use crate::hotspots::Hotspots;
use crate::insn::{Class, Insn, VType};
use crate::memory::Memory;
use crate::report::Counters;
use crate::scoreboard::{Access, Accesses, Scoreboard};

/// An instruction at its place.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub pc: u64,
    pub bytes: u64,
    pub insn: Insn,
}

/// Follows the instructions of one thread, region by region. The state of caches and units outlives a region.
pub struct Machine {
    scoreboard: Scoreboard,
    memory: Memory,
    predictor: Predictor,
    vtype: VType,
    /// The instruction whose accesses to memory are being told.
    last: Option<Placed>,
    accesses: Accesses,
    counters: Counters,
    start: Option<Counters>,
    pub regions: Vec<Counters>,
    /// Kept where it is asked for.
    pub hotspots: Option<Hotspots>,
}

impl Machine {
    pub fn new(core: &Core) -> Self {
        Self {
            scoreboard: Scoreboard::new(core),
            memory: Memory::new(core.memory),
            predictor: Predictor::default(),
            vtype: VType(0),
            last: None,
            accesses: Accesses::default(),
            counters: Counters::default(),
            start: None,
            regions: Vec::new(),
            hotspots: None,
        }
    }

    pub fn begin(&mut self, vtype: VType) {
        self.vtype = vtype;
        self.scoreboard.drain();
        self.start = Some(self.snapshot());
        self.hotspots.iter_mut().for_each(Hotspots::clear);
    }

    pub fn end(&mut self) {
        self.settle(None);
        let end = self.snapshot();
        self.regions.extend(self.start.take().map(|start| end.since(&start)));
    }

    /// From now on the scratchpad is at these addresses.
    pub fn place_scratchpad(&mut self, addresses: Range<u64>) {
        self.memory.place_scratchpad(addresses);
    }

    pub fn empty_l1(&mut self) {
        self.memory.empty_l1();
    }

    pub fn empty_caches(&mut self) {
        self.memory.empty();
    }

    /// Whether the program set the vector type since [`Machine::set_vtype`] was called.
    pub fn wants_vtype(&self) -> bool {
        self.last.is_some_and(|last| last.insn.class == Class::VSet)
    }

    pub fn set_vtype(&mut self, vtype: VType) {
        // The instruction that set it is done with the old one.
        self.vtype = vtype;
    }

    /// An instruction begins.
    pub fn execute(&mut self, placed: Placed) {
        self.settle(Some(placed.pc));
        self.last = Some(placed);
        self.counters.instructions[placed.insn.class.group() as usize] += 1;
    }

    /// The last instruction touches memory; an instruction on a line tells its address in this way, too.
    pub fn access(&mut self, address: u64, bytes: u64, is_store: bool) {
        if self.last.is_none() {
            return;
        }
        self.accesses.count += 1;
        self.counters.touched += bytes;
        for address in [address, address + bytes.max(1) - 1] {
            let is_new = self.accesses.lines.last().is_none_or(|last| last.address / LINE != address / LINE);
            if is_new {
                self.accesses.lines.push(Access { address, is_store });
            }
        }
    }

    /// Charges the last instruction; `next` is the one that follows.
    fn settle(&mut self, next: Option<u64>) {
        let Some(last) = self.last.take() else { return };
        let before = self.scoreboard.now;
        let wait = self.scoreboard.issue(&last.insn, self.vtype, &self.accesses, &mut self.memory);
        let cycles = self.scoreboard.now - before;
        self.hotspots.iter_mut().for_each(|spots| spots.charge(last.pc, cycles, wait));
        self.accesses.lines.clear();
        self.accesses.count = 0;
        if last.insn.class == Class::Branch
            && let Some(next) = next
            && !self.predictor.guessed(last.pc, next != last.pc + last.bytes)
        {
            self.scoreboard.mispredict();
        }
    }

    fn snapshot(&self) -> Counters {
        let Scoreboard { done, waits, busy, .. } = self.scoreboard;
        let (traffic, transfers) = (self.memory.traffic, self.memory.transfers());
        Counters { cycles: done, waits, busy, traffic, transfers, ..self.counters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decode;
    use crate::x60;

    fn placed(pc: u64, word: u32) -> Placed {
        Placed { pc, bytes: 4, insn: decode(word) }
    }

    #[test]
    fn a_region_counts_what_is_in_it() {
        let mut machine = Machine::new(&x60::core());
        machine.begin(VType(0));
        machine.execute(placed(0, 0x0285_0e07)); // vl1re8.v v28, (a0)
        (0..32).for_each(|byte| machine.access(0x1010 + byte, 1, false));
        machine.execute(placed(4, 0xe240_382b)); // smt.vmadot
        machine.execute(placed(8, 0x0010_8093));
        machine.end();
        let counters = machine.regions[0];
        assert_eq!(counters.instructions, [1, 0, 0, 1, 0, 0, 1]);
        assert_eq!((counters.touched, counters.traffic.l2_lines), (32, 1));
        // The dot waits for nothing that was loaded: v28 is not its operand.
        assert_eq!(counters.cycles, 230 + 3);
        let line = counters.to_string();
        assert!(line.starts_with("cycles=233 insns.scalar=1 insns.vload=1 insns.dot=1 memory.touched=32"), "{line}");
    }

    #[test]
    fn the_cycles_of_the_last_region_are_told_by_instruction() {
        let mut machine = Machine::new(&x60::core());
        machine.hotspots = Some(Hotspots::default());
        for _ in 0..2 {
            machine.begin(VType(0));
            machine.execute(placed(0x40, 0x0005_b083)); // ld ra, 0(a1)
            machine.access(0x40, 8, false);
            machine.execute(placed(0x44, 0x0010_8093)); // addi ra, ra, 1
            machine.execute(placed(0x44, 0x0010_8093));
            machine.end();
        }
        assert_eq!(machine.hotspots.unwrap().to_string(), "0x40 times=1\n0x44 times=2 latency=1 l1-data=4\n");
    }

    #[test]
    fn the_second_region_finds_the_caches_as_the_first_left_them() {
        let mut machine = Machine::new(&x60::core());
        for empty in [Machine::empty_l1 as fn(&mut Machine), |_| (), Machine::empty_l1, Machine::empty_caches] {
            empty(&mut machine);
            machine.begin(VType(0));
            machine.execute(placed(0, 0x0005_b083));
            machine.access(0x40, 8, false);
            machine.end();
        }
        let cycles: Vec<u64> = machine.regions.iter().map(|region| region.cycles).collect();
        // The last line begins 25 cycles after the one before.
        assert_eq!(cycles, [234, 4, 24, 235]);
    }
}
