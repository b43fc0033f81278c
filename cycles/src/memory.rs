//! Two caches and DRAM, with the time that each line takes to come.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use crate::cache::{Cache, LINE, Level, Line};
use crate::core::MemoryShape;

const PAGE: u64 = 4096;

/// What an access has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// The cycle from which the line can be read.
    pub arrival: u64,
    /// The cycle at which its way began; later than the access where too many others were on theirs.
    pub start: u64,
    pub from: Level,
}

/// Lines that came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Into the first cache.
    pub l2_lines: u64,
    /// From and to DRAM.
    pub dram_lines: u64,
}

pub struct Memory {
    shape: MemoryShape,
    l1: Cache,
    l2: Cache,
    pages: Pages,
    /// Addresses of the scratchpad, which is as fast as the first cache and is not cached.
    scratchpad: Range<u64>,
    /// The cycles at which the second cache and DRAM can begin another line.
    l2_free: f64,
    dram_free: f64,
    /// When the lines that are on their way arrive.
    under_way: VecDeque<u64>,
    pub traffic: Traffic,
}

/// Physical pages in the order in which they were first touched, so that the caches' sets do not depend on where the host puts
/// the program.
#[derive(Default)]
struct Pages(HashMap<u64, u64>);

impl Pages {
    fn line(&mut self, address: u64) -> u64 {
        let next = self.0.len() as u64;
        let page = *self.0.entry(address / PAGE).or_insert(next);
        (page * PAGE + address % PAGE) / LINE
    }
}

impl Memory {
    pub fn new(shape: MemoryShape) -> Self {
        Self {
            shape,
            l1: Cache::new(shape.l1),
            l2: Cache::new(shape.l2),
            pages: Pages::default(),
            scratchpad: 0..0,
            l2_free: 0.0,
            dram_free: 0.0,
            under_way: VecDeque::new(),
            traffic: Traffic::default(),
        }
    }

    /// From now on the scratchpad is at these addresses.
    pub fn place_scratchpad(&mut self, addresses: Range<u64>) {
        self.scratchpad = addresses;
    }

    /// The line at `address`, at cycle `now`.
    pub fn access(&mut self, now: u64, address: u64, is_store: bool) -> Fill {
        if self.scratchpad.contains(&address) {
            return Fill { arrival: now, start: now, from: Level::L1 };
        }
        let number = self.pages.line(address);
        if let Some(line) = self.l1.find(number) {
            line.is_dirty |= is_store;
            let from = if line.arrival > now { line.from } else { Level::L1 };
            return Fill { arrival: line.arrival, start: now, from };
        }
        let fill = self.fill(now, number);
        let line = Line { number, is_dirty: is_store, arrival: fill.arrival, from: fill.from };
        if let Some(Line { number, is_dirty: true, .. }) = self.l1.insert(line) {
            self.write_back(number);
        }
        fill
    }

    /// Makes the line at `address` zero; it is not read.
    pub fn zero(&mut self, now: u64, address: u64) -> Fill {
        let number = self.pages.line(address);
        match self.l1.find(number) {
            Some(line) => line.is_dirty = true,
            None => {
                let line = Line { number, is_dirty: true, arrival: now, from: Level::L1 };
                if let Some(Line { number, is_dirty: true, .. }) = self.l1.insert(line) {
                    self.write_back(number);
                }
            }
        }
        Fill { arrival: now, start: now, from: Level::L1 }
    }

    fn fill(&mut self, now: u64, number: u64) -> Fill {
        let MemoryShape { l2_latency, l2_interval, dram_latency, dram_interval, misses, .. } = self.shape;
        let start = if self.under_way.len() == misses { self.under_way.pop_front() } else { None };
        let start = self.l2_free.max(start.unwrap_or(0).max(now) as f64);
        self.l2_free = start + l2_interval;
        self.traffic.l2_lines += 1;
        let ready = start as u64 + l2_latency;
        let (arrival, from) = match self.l2.find(number) {
            Some(line) => (ready.max(line.arrival), if line.arrival > ready { line.from } else { Level::L2 }),
            None => {
                let begin = start.max(self.dram_free);
                self.dram_free = begin + dram_interval;
                let arrival = begin as u64 + l2_latency + dram_latency;
                self.insert_l2(Line { number, is_dirty: false, arrival, from: Level::Dram });
                self.traffic.dram_lines += 1;
                (arrival, Level::Dram)
            }
        };
        self.under_way.push_back(arrival);
        Fill { arrival, start: start as u64, from }
    }

    fn write_back(&mut self, number: u64) {
        match self.l2.find(number) {
            Some(line) => line.is_dirty = true,
            None => self.insert_l2(Line { number, is_dirty: true, arrival: 0, from: Level::L2 }),
        }
    }

    fn insert_l2(&mut self, line: Line) {
        if self.l2.insert(line).is_some_and(|line| line.is_dirty) {
            self.dram_free += self.shape.dram_interval;
            self.traffic.dram_lines += 1;
        }
    }

    /// Cycles that the second cache and DRAM take for the lines that came.
    pub fn transfers(&self) -> [u64; 2] {
        let Traffic { l2_lines, dram_lines } = self.traffic;
        [(l2_lines, self.shape.l2_interval), (dram_lines, self.shape.dram_interval)]
            .map(|(lines, interval)| (lines as f64 * interval) as u64)
    }

    pub fn empty_l1(&mut self) {
        self.l1.clear();
    }

    pub fn empty(&mut self) {
        self.l1.clear();
        self.l2.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::x60;

    fn memory() -> Memory {
        Memory::new(x60::core().memory)
    }

    #[test]
    fn lines_come_from_where_they_are() {
        let mut memory = memory();
        let first = memory.access(0, 0x1000, false);
        assert_eq!((first.from, first.arrival), (Level::Dram, 230));
        assert_eq!(memory.access(100, 0x1030, false), Fill { arrival: 230, start: 100, from: Level::Dram });
        assert_eq!(memory.access(300, 0x1008, false).from, Level::L1);
        memory.empty_l1();
        assert_eq!(memory.access(1000, 0x1000, false), Fill { arrival: 1020, start: 1000, from: Level::L2 });
        memory.empty();
        assert_eq!(memory.access(2000, 0x1000, false).from, Level::Dram);
        assert_eq!(memory.traffic, Traffic { l2_lines: 3, dram_lines: 2 });
    }

    #[test]
    fn the_scratchpad_takes_no_lines() {
        let mut memory = memory();
        memory.place_scratchpad(0x1000..0x1080);
        assert_eq!(memory.access(7, 0x107f, true), Fill { arrival: 7, start: 7, from: Level::L1 });
        assert_eq!(memory.traffic, Traffic::default());
        assert_eq!(memory.access(7, 0x1080, false).from, Level::Dram);
    }

    #[test]
    fn lines_that_become_zero_are_not_read() {
        let mut memory = memory();
        assert_eq!(memory.zero(7, 0x1000), Fill { arrival: 7, start: 7, from: Level::L1 });
        assert_eq!(memory.access(8, 0x1000, true).from, Level::L1);
        assert_eq!(memory.traffic, Traffic::default());
    }

    #[test]
    fn streams_keep_to_the_rates() {
        let mut memory = memory();
        let last =
            |memory: &mut Memory, now| (0..64).map(|line| memory.access(now, 64 * line, false).arrival).max().unwrap();
        // 64 lines from DRAM: 80 cycles each, as soon as eight are on their way at once.
        let dram = last(&mut memory, 0);
        assert!((63 * 80..64 * 80 + 230).contains(&dram), "{dram}");
        memory.empty_l1();
        let l2 = last(&mut memory, dram) - dram;
        assert!((63 * 25..64 * 25 + 20).contains(&l2), "{l2}");
    }

    #[test]
    fn stored_lines_go_back_to_dram() {
        let mut memory = memory();
        let lines = 2 * (512 << 10) / LINE;
        for line in 0..lines {
            memory.access(0, line * LINE, true);
        }
        let written = memory.traffic.dram_lines - lines;
        assert!(written > lines / 2 - 1024 && written <= lines / 2, "{written}");
    }
}
