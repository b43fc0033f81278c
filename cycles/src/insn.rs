//! Instructions as the model sees them: what they read, write, and are.

/// Kinds of instructions that take the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Scalar integer arithmetic, and hints.
    Alu,
    /// `sh1add` and its like, carry-less products, counts of bits.
    ShiftAdd,
    Mul,
    Div,
    Branch,
    Jump,
    Load,
    Store,
    /// A hint that brings a line to the first cache.
    Prefetch,
    /// `cbo.zero`: a line becomes zero without being read.
    Zero,
    Atomic,
    /// CSRs, fences, system calls.
    System,
    /// Scalar float addition, multiplication, sign and extremes.
    FAdd,
    FMa,
    FDiv,
    /// Conversions, comparisons and moves between register files.
    FConvert,
    VSet,
    VLoad,
    VLoadStrided,
    VLoadIndexed,
    VLoadSegment,
    VStore,
    VStoreStrided,
    VStoreIndexed,
    VStoreSegment,
    /// Vector integer addition, extremes, saturating addition.
    VAdd,
    /// Logic, shifts, extension, merge, moves.
    VLogic,
    VCompare,
    VMul,
    /// Integer products and sums that are twice as wide.
    VWiden,
    /// Integer and float results that are half as wide.
    VNarrow,
    VDiv,
    VFAdd,
    VFMa,
    VFWiden,
    VFConvert,
    VFDiv,
    VFSqrt,
    VReduce,
    VFReduce,
    /// The ordered sum.
    VFSum,
    /// Logic of masks.
    VMask,
    /// From a vector to a scalar register.
    VToScalar,
    FromScalar,
    VSlide,
    VGather,
    VCompress,
    /// IME: integer product.
    Dot,
    /// IME2: product of sparse, scaled, float operands.
    DotSparse,
    DotScaled,
    DotFloat,
    /// IME2: rearrangements.
    Pack,
    Unpack,
    PackNarrow,
}

impl Class {
    pub const COUNT: usize = Class::PackNarrow as usize + 1;

    /// Whether the vector unit executes it.
    pub const fn is_vector(self) -> bool {
        self as u8 > Class::VSet as u8
    }

    pub const fn is_dot(self) -> bool {
        matches!(self, Class::Dot | Class::DotSparse | Class::DotScaled | Class::DotFloat)
    }

    /// Whether the time depends on the elements in memory, one by one.
    pub const fn is_by_element(self) -> bool {
        use Class::*;
        matches!(self, VLoadStrided | VLoadIndexed | VLoadSegment | VStoreStrided | VStoreIndexed | VStoreSegment)
    }

    pub const fn is_store(self) -> bool {
        use Class::*;
        matches!(self, Store | Zero | VStore | VStoreStrided | VStoreIndexed | VStoreSegment)
    }

    pub const fn is_vector_memory(self) -> bool {
        self.is_by_element() || matches!(self, Class::VLoad | Class::VStore)
    }

    /// Name of the group that reports count the class in.
    pub const fn group(self) -> Group {
        use Class::*;
        match self {
            VSet => Group::VSet,
            VLoad | VLoadStrided | VLoadIndexed | VLoadSegment => Group::VLoad,
            VStore | VStoreStrided | VStoreIndexed | VStoreSegment => Group::VStore,
            Dot | DotSparse | DotScaled | DotFloat => Group::Dot,
            Load | Store | Prefetch | Zero | Atomic => Group::Memory,
            Alu | ShiftAdd | Mul | Div | Branch | Jump | System | FAdd | FMa | FDiv | FConvert => Group::Scalar,
            _ => Group::Vector,
        }
    }
}

/// Groups of classes in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Scalar,
    /// Scalar loads, stores and prefetches.
    Memory,
    VSet,
    VLoad,
    VStore,
    /// Other vector instructions.
    Vector,
    Dot,
}

impl Group {
    pub const NAMES: [&str; 7] = ["scalar", "memory", "vset", "vload", "vstore", "vector", "dot"];
}

/// How many registers an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    Fixed(u8),
    /// LMUL times this power of two.
    Lmul(i8),
    /// LMUL times element width over SEW; the power of two of the element's bytes.
    Element(u8),
}

/// Registers side by side: 0-31 are x, 32-63 f, 64-95 v.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    pub first: u8,
    pub count: Count,
}

pub const F: u8 = 32;
pub const V: u8 = 64;

impl Operand {
    pub const fn x(number: u32) -> Self {
        Self { first: number as u8 & 31, count: Count::Fixed(1) }
    }

    pub const fn f(number: u32) -> Self {
        Self { first: F + (number as u8 & 31), count: Count::Fixed(1) }
    }

    pub const fn v(number: u32, count: Count) -> Self {
        Self { first: V + (number as u8 & 31), count }
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    pub class: Class,
    pub reads: [Option<Operand>; 4],
    pub writes: Option<Operand>,
    /// The width of the operand that decides the time: LMUL, EMUL of loads and stores, registers of whole-register moves.
    pub width: Count,
    /// Fields of a segment, else 1.
    pub fields: u8,
}

impl Insn {
    pub const fn new(class: Class, writes: Option<Operand>, reads: [Option<Operand>; 4]) -> Self {
        Self { class, reads, writes, width: Count::Lmul(0), fields: 1 }
    }
}

/// The vector type register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VType(pub u64);

impl VType {
    /// The power of two of LMUL, -3 to 3.
    pub const fn lmul(self) -> i8 {
        let field = (self.0 & 7) as i8;
        if field >= 4 { field - 8 } else { field }
    }

    /// The power of two of the bytes of an element, 0 to 3.
    pub const fn sew(self) -> u8 {
        (self.0 >> 3 & 3) as u8
    }

    /// The power of two of the registers of an operand of width `count`, negative for parts of a register.
    pub const fn log_registers(self, count: Count) -> i8 {
        match count {
            Count::Fixed(registers) => registers.ilog2() as i8,
            Count::Lmul(scale) => self.lmul() + scale,
            Count::Element(bytes) => self.lmul() + bytes as i8 - self.sew() as i8,
        }
    }

    /// Registers that an operand of width `count` touches.
    pub const fn registers(self, count: Count) -> usize {
        match count {
            Count::Fixed(registers) => registers as usize,
            _ => {
                let log = self.log_registers(count);
                if log <= 0 { 1 } else { 1 << log }
            }
        }
    }
}
