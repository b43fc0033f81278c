use std::fmt;

use kernels::driver::{Driver, RunError};
use kernels::mem::{AlignedBuf, Workspace};
use kernels::rt::{Team, Worker};
use kernels::tape::{Buffer, Io, Place, Step, Tape};

use crate::mark;
use crate::products::target;

/// Where the operands are when the measured run begins.
#[derive(Clone, Copy, PartialEq)]
pub enum From {
    /// Where the run before left them.
    L1,
    /// In the second cache, as far as they fit.
    L2,
    Dram,
}

/// What an item's work is counted in.
#[derive(Clone, Copy)]
pub enum Unit {
    /// Multiplications and additions.
    Mac,
    Element,
    /// Of weights.
    Byte,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Mac => "mac",
            Unit::Element => "element",
            Unit::Byte => "byte",
        })
    }
}

/// What runs the items that were asked for.
pub struct Items {
    words: Vec<String>,
    pub team: Team,
}

impl Items {
    pub fn new(words: Vec<String>) -> Self {
        Self { words, team: Team::new(1).expect("the calling thread is enough") }
    }

    /// Whether an item is to be measured.
    pub fn wants(&self, name: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| name.contains(word.as_str()))
    }

    /// Measures `run`, which marks its region itself.
    pub fn measure(&mut self, name: &str, work: usize, unit: Unit, from: From, mut run: impl FnMut(&Team)) {
        if !self.wants(name) {
            return;
        }
        mark::scratchpad(&[]);
        for _ in 0..2 {
            match from {
                From::L1 => (),
                From::L2 => mark::empty_l1(),
                From::Dram => mark::empty_caches(),
            }
            run(&self.team);
        }
        println!("item {name} {work} {unit}");
    }

    /// Measures a driver with these inputs and sizes of outputs in bytes.
    pub fn driver(
        &mut self,
        name: &str,
        work: (usize, Unit),
        from: From,
        make: impl FnOnce() -> (Box<dyn Driver>, Vec<AlignedBuf>, Vec<usize>),
    ) {
        if !self.wants(name) {
            return;
        }
        let (driver, inputs, outputs) = make();
        let places = inputs.iter().enumerate().map(|(index, input)| (Place::Input(index), input.len()));
        let places = places.chain(outputs.iter().enumerate().map(|(index, &bytes)| (Place::Output(index), bytes)));
        let buffers: Vec<Buffer> = places.map(|(place, bytes)| Buffer { place, bytes }).collect();
        let count = inputs.len();
        let driver: Box<dyn Driver> = Box::new(Marked(driver));
        let step = Step { driver, inputs: (0..count).collect(), outputs: (count..buffers.len()).collect(), label: 0 };
        let tape = Tape::new(buffers, vec![step]).expect("operands are distinct");
        let mut workspace = Workspace::new();
        let mut outputs: Vec<AlignedBuf> = outputs.into_iter().map(AlignedBuf::zeroed).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(|input| &**input).collect();
        self.measure(name, work.0, work.1, from, |team| {
            let mut outputs: Vec<&mut [u8]> = outputs.iter_mut().map(|output| &mut **output).collect();
            tape.run(team, &mut workspace, &inputs, &mut outputs).expect("the operands fit");
        });
    }
}

/// A driver between marks.
struct Marked(Box<dyn Driver>);

impl fmt::Display for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Driver for Marked {
    fn scratch(&self) -> usize {
        self.0.scratch()
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        // As the plan has it: the scratch of a step that fits is in the scratchpad of its core.
        let is_staged = scratch.len() <= target().tcm_bytes;
        mark::scratchpad(if is_staged { scratch } else { &[] });
        mark::begin();
        let result = self.0.run(worker, io, scratch);
        mark::end();
        result
    }
}

/// A buffer of these numbers.
pub fn buffer<T: bytemuck::Pod>(numbers: &[T]) -> AlignedBuf {
    AlignedBuf::copy_of(bytemuck::cast_slice(numbers))
}

/// Numbers in -1..1, the same in every run.
pub fn floats(len: usize) -> Vec<f32> {
    let mut state = 1u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(next).collect()
}
