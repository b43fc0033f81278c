//! The pipeline: two instructions a cycle, of which vectors may be fewer, in order, each when its operands and its unit are
//! ready.

use crate::cache::Level;
use crate::core::{Core, Costs, ElementCycles, Unit};
use crate::insn::{Class, Insn, Operand, VType};
use crate::memory::{Fill, Memory};

/// Instructions that can begin in a cycle.
const WIDTH: u32 = 2;
/// All registers, and the vector type.
const REGISTERS: usize = 97;
const VTYPE: usize = 96;

/// What instructions wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The second instruction of the cycle before.
    Issue,
    /// The result of arithmetic.
    Latency,
    /// Data from a cache or DRAM.
    Data(Level),
    /// A guess of a branch that was wrong.
    Branch,
    Unit(Unit),
}

impl Wait {
    pub const COUNT: usize = 6 + Unit::COUNT;

    pub const fn index(self) -> usize {
        match self {
            Wait::Issue => 0,
            Wait::Latency => 1,
            Wait::Data(level) => 2 + level as usize,
            Wait::Branch => 5,
            Wait::Unit(unit) => 6 + unit as usize,
        }
    }

    pub fn name(index: usize) -> &'static str {
        const NAMES: [&str; 6] = ["issue", "latency", "l1-data", "l2-data", "dram-data", "branch"];
        if index < NAMES.len() { NAMES[index] } else { Unit::NAMES[index - NAMES.len()] }
    }
}

/// Bytes that an instruction touched at `address`, of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub address: u64,
    pub is_store: bool,
}

/// What an instruction did to memory.
#[derive(Debug, Default)]
pub struct Accesses {
    /// One for each line, in order.
    pub lines: Vec<Access>,
    /// Elements.
    pub count: u64,
}

#[derive(Clone, Copy)]
struct Register {
    /// When it can be read, and what one waits for until then.
    ready: u64,
    wait: Wait,
    /// When it can be written, as far as instructions that still read it are concerned.
    released: u64,
}

pub struct Scoreboard {
    costs: Costs,
    element: ElementCycles,
    mispredict: u64,
    /// When each unit of a kind takes an instruction.
    units: [Vec<u64>; Unit::COUNT],
    registers: [Register; REGISTERS],
    /// When the last instruction began.
    pub now: u64,
    /// Instructions, and those of vectors, that began in this cycle.
    begun: u32,
    begun_vectors: u32,
    vector_width: u32,
    /// When everything that has begun is done.
    pub done: u64,
    pub waits: [u64; Wait::COUNT],
    /// Cycles that the units of a kind were occupied.
    pub busy: [u64; Unit::COUNT],
}

impl Scoreboard {
    pub fn new(core: &Core) -> Self {
        Self {
            costs: Costs::of(core),
            element: core.element,
            mispredict: core.mispredict,
            units: core.ports.map(|ports| vec![0; ports]),
            registers: [Register { ready: 0, wait: Wait::Latency, released: 0 }; REGISTERS],
            now: 0,
            begun: 0,
            begun_vectors: 0,
            vector_width: core.vector_width,
            done: 0,
            waits: [0; Wait::COUNT],
            busy: [0; Unit::COUNT],
        }
    }

    /// Begins an instruction that touched memory as `accesses` tells; returns what it waited for last.
    pub fn issue(&mut self, insn: &Insn, vtype: VType, accesses: &Accesses, memory: &mut Memory) -> Wait {
        let mut cost = self.costs.get(insn.class, vtype, vtype.log_registers(insn.width));
        if insn.class.is_by_element() {
            cost.occupancy = cost.occupancy.max(self.element_cycles(insn.class, accesses.count));
            cost.latency = cost.latency.max(cost.occupancy);
        }
        let (mut at, mut wait) = self.operands(insn, vtype, cost.latency);
        let port = self.free_port(cost.unit);
        let free = self.units[cost.unit as usize][port];
        if free > at {
            (at, wait) = (free, Wait::Unit(cost.unit));
        }
        let is_vector = insn.class.is_vector();
        let is_full = self.begun == WIDTH || is_vector && self.begun_vectors == self.vector_width;
        if at == self.now && is_full {
            (at, wait) = (at + 1, Wait::Issue);
        }
        self.advance(at, wait);
        self.begun += 1;
        self.begun_vectors += u32::from(is_vector);
        let fill = lines(insn.class, at, accesses, memory);
        let until = at + cost.occupancy;
        // A store keeps its unit until all its lines are on their way.
        self.units[cost.unit as usize][port] = if insn.class.is_store() { until.max(fill.start) } else { until };
        self.busy[cost.unit as usize] += cost.occupancy;
        self.finish(insn, vtype, at, cost.latency, fill);
        wait
    }

    /// Waits until all is done, without charging the cycles to anything.
    pub fn drain(&mut self) {
        (self.now, self.begun, self.begun_vectors) = (self.done, 0, 0);
    }

    /// Charges a branch whose side was not guessed.
    pub fn mispredict(&mut self) {
        self.advance(self.now + self.mispredict, Wait::Branch);
    }

    fn advance(&mut self, at: u64, wait: Wait) {
        if at > self.now {
            self.waits[wait.index()] += at - self.now;
            (self.now, self.begun, self.begun_vectors) = (at, 0, 0);
        }
    }

    fn element_cycles(&self, class: Class, count: u64) -> u64 {
        let cycles = match class {
            Class::VLoadStrided | Class::VStoreStrided => self.element.strided,
            Class::VLoadIndexed | Class::VStoreIndexed => self.element.indexed,
            _ => self.element.segment,
        };
        (count as f64 * cycles).ceil() as u64
    }

    /// The first cycle at which all operands are there and the result may be written, and what comes last.
    fn operands(&self, insn: &Insn, vtype: VType, latency: u64) -> (u64, Wait) {
        let (mut at, mut wait) = (self.now, Wait::Issue);
        let mut until = |cycle: u64, what| {
            if cycle > at {
                (at, wait) = (cycle, what);
            }
        };
        for index in insn.reads.iter().flatten().flat_map(|operand| span(operand, vtype)) {
            until(self.registers[index].ready, self.registers[index].wait);
        }
        if insn.class.is_vector() {
            until(self.registers[VTYPE].ready, Wait::Latency);
        }
        for index in insn.writes.iter().flat_map(|operand| span(operand, vtype)) {
            let register = &self.registers[index];
            until(register.released, Wait::Latency);
            // Results arrive in order.
            until((register.ready + 1).saturating_sub(latency), register.wait);
        }
        (at, wait)
    }

    fn free_port(&self, unit: Unit) -> usize {
        let ports = &self.units[unit as usize];
        (0..ports.len()).min_by_key(|&port| ports[port]).unwrap_or(0)
    }

    fn finish(&mut self, insn: &Insn, vtype: VType, at: u64, latency: u64, fill: Fill) {
        let (ready, wait) = match insn.class {
            Class::Prefetch => (at + latency, Wait::Latency),
            _ if fill.arrival > at => (fill.arrival + latency, Wait::Data(fill.from)),
            Class::Load | Class::VLoad => (at + latency, Wait::Data(Level::L1)),
            _ => (at + latency, Wait::Latency),
        };
        if !insn.class.is_store() {
            self.done = self.done.max(ready);
        }
        self.done = self.done.max(at + latency);
        for index in insn.writes.iter().flat_map(|operand| span(operand, vtype)) {
            (self.registers[index].ready, self.registers[index].wait) = (ready, wait);
        }
        if insn.class == Class::VSet {
            self.registers[VTYPE].ready = ready;
        }
        // The matrix unit reads its operands until it is done.
        if insn.class.is_dot() {
            for index in insn.reads.iter().flatten().flat_map(|operand| span(operand, vtype)) {
                self.registers[index].released = self.registers[index].released.max(ready);
            }
        }
    }
}

/// Indexes of the registers of `operand`.
fn span(operand: &Operand, vtype: VType) -> std::ops::Range<usize> {
    let first = usize::from(operand.first);
    first..(first + vtype.registers(operand.count)).min(VTYPE)
}

/// Accesses the lines; the last arrival and the last start.
fn lines(class: Class, at: u64, accesses: &Accesses, memory: &mut Memory) -> Fill {
    let mut last = Fill { arrival: 0, start: at, from: Level::L1 };
    for access in &accesses.lines {
        let fill = match class {
            Class::Zero => memory.zero(at, access.address),
            _ => memory.access(at, access.address, access.is_store),
        };
        if fill.arrival > last.arrival {
            (last.arrival, last.from) = (fill.arrival, fill.from);
        }
        last.start = last.start.max(fill.start);
    }
    if class.is_store() { Fill { arrival: 0, ..last } } else { last }
}

#[cfg(test)]
mod tests;
