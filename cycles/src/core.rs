//! What a core is to the model. The numbers of each core are in its own file.

use crate::cache::Shape;
use crate::insn::{Class, VType};

/// What an instruction occupies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unit {
    Alu,
    /// Branches, jumps, divisions, `vset`.
    Branch,
    /// Scalar loads and stores.
    Memory,
    Float,
    VectorMemory,
    VectorInteger,
    VectorFloat,
    Matrix,
}

impl Unit {
    pub const COUNT: usize = Unit::Matrix as usize + 1;
    pub const NAMES: [&str; Self::COUNT] =
        ["alu", "branch-unit", "memory", "float", "vector-memory", "vector-integer", "vector-float", "matrix"];
}

/// Time of a class of instructions in cycles.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    pub class: Class,
    pub unit: Unit,
    /// Until the result can be used, for operands of one, two, four and eight registers.
    pub latency: [u16; 4],
    /// Until the unit takes the next instruction.
    pub occupancy: [u16; 4],
    /// Powers of two of the bytes of an element, least and most, that the row is for.
    pub sew: [u8; 2],
}

/// A row for all element widths.
pub const fn row(class: Class, unit: Unit, latency: [u16; 4], occupancy: [u16; 4]) -> Timing {
    Timing { class, unit, latency, occupancy, sew: [0, 3] }
}

/// A row of a scalar class.
pub const fn scalar(class: Class, unit: Unit, latency: u16, occupancy: u16) -> Timing {
    row(class, unit, [latency; 4], [occupancy; 4])
}

impl Timing {
    pub const fn for_sew(self, least: u8, most: u8) -> Self {
        Self { sew: [least, most], ..self }
    }
}

/// Cycles that each element takes where memory is accessed element by element.
#[derive(Clone, Copy, Debug)]
pub struct ElementCycles {
    pub strided: f64,
    pub indexed: f64,
    pub segment: f64,
}

/// The caches and what is behind them.
#[derive(Clone, Copy, Debug)]
pub struct MemoryShape {
    pub l1: Shape,
    pub l2: Shape,
    /// Cycles that a line from the second cache comes later than one from the first, and least cycles between two.
    pub l2_latency: u64,
    pub l2_interval: f64,
    /// The same of a line from DRAM, beside that of the second cache.
    pub dram_latency: u64,
    pub dram_interval: f64,
    /// Lines that may be on their way.
    pub misses: usize,
}

/// A core's numbers.
#[derive(Clone, Debug)]
pub struct Core {
    pub name: &'static str,
    /// Vector instructions that can begin in a cycle, of the two that can.
    pub vector_width: u32,
    /// Units of each kind.
    pub ports: [usize; Unit::COUNT],
    /// Of rows for the same class and element width the last one counts.
    pub timings: Vec<Timing>,
    pub element: ElementCycles,
    /// Cycles that a branch to an unexpected side costs.
    pub mispredict: u64,
    pub memory: MemoryShape,
}

/// What is not known for certain, or depends on the neighbour.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// A100: the reading of the measurements by which every vector load takes about 20 cycles of the load unit.
    pub stalling_loads: bool,
    /// A100: the other core of the pair keeps the matrix unit busy half of the time.
    pub shared_matrix: bool,
}

impl Core {
    /// The core `x60` or `a100`.
    pub fn named(name: &str, options: Options) -> Option<Self> {
        match name {
            "x60" => Some(crate::x60::core()),
            "a100" => Some(crate::a100::core(options)),
            _ => None,
        }
    }
}

/// Unit, latency and occupancy of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub unit: Unit,
    pub latency: u64,
    pub occupancy: u64,
}

/// The costs of a core by class, element width and operand width.
pub struct Costs(Vec<[[Cost; 4]; 4]>);

impl Costs {
    pub fn of(core: &Core) -> Self {
        let unknown = Cost { unit: Unit::Alu, latency: 1, occupancy: 1 };
        let mut costs = vec![[[unknown; 4]; 4]; Class::COUNT];
        for timing in &core.timings {
            for sew in timing.sew[0]..=timing.sew[1] {
                costs[timing.class as usize][usize::from(sew)] = std::array::from_fn(|width| Cost {
                    unit: timing.unit,
                    latency: timing.latency[width].into(),
                    occupancy: timing.occupancy[width].into(),
                });
            }
        }
        Self(costs)
    }

    /// The cost at `log_registers`, the power of two of the registers of the operand that counts.
    pub fn get(&self, class: Class, vtype: VType, log_registers: i8) -> Cost {
        self.0[class as usize][usize::from(vtype.sew())][log_registers.clamp(0, 3) as usize]
    }
}
