//! SpacemiT X60, the core of K1: in order, two instructions a cycle, VLEN 256.
//!
//! Sources: \[L\] LLVM's scheduling model `SpacemitX60`; \[M\] what reproduces published kernels, see `docs/cycles.md`; \[D\] the
//! data sheet of K1.

use crate::cache::Shape;
use crate::core::{Core, ElementCycles, MemoryShape, Timing, Unit, row, scalar};
use crate::insn::Class;

pub fn core() -> Core {
    Core {
        name: "x60",
        // [M]: what keeps the pipelined 8x16 product from the speed of its loads.
        vector_width: 1,
        // [L], with the dots on the pipe of vector floats [M].
        ports: [2, 1, 2, 1, 1, 1, 1, 1],
        timings: [SCALAR, VECTOR, MATRIX].concat(),
        // [L]: a cycle an element, two elements a cycle where they are indexed.
        element: ElementCycles { strided: 1.0, indexed: 0.5, segment: 1.0 },
        // [L]
        mispredict: 9,
        memory: MemoryShape {
            // [D] but the ways of the first cache, which are an assumption.
            l1: Shape { bytes: 32 << 10, ways: 4 },
            l2: Shape { bytes: 512 << 10, ways: 16 },
            // [M]
            l2_latency: 20,
            l2_interval: 25.0,
            // [M]: 0.8 bytes a cycle for one core.
            dram_latency: 210,
            dram_interval: 80.0,
            // An assumption.
            misses: 8,
        },
    }
}

/// \[L\]
pub const SCALAR: &[Timing] = &[
    scalar(Class::Alu, Unit::Alu, 1, 1),
    scalar(Class::ShiftAdd, Unit::Alu, 2, 1),
    scalar(Class::Mul, Unit::Alu, 5, 1),
    scalar(Class::Div, Unit::Branch, 20, 20),
    scalar(Class::Branch, Unit::Branch, 1, 1),
    scalar(Class::Jump, Unit::Branch, 1, 1),
    scalar(Class::Load, Unit::Memory, 4, 1),
    scalar(Class::Store, Unit::Memory, 4, 1),
    scalar(Class::Prefetch, Unit::Memory, 1, 1),
    // An assumption: that of a store.
    scalar(Class::Zero, Unit::Memory, 4, 1),
    scalar(Class::Atomic, Unit::Memory, 12, 12),
    scalar(Class::System, Unit::Branch, 2, 2),
    scalar(Class::FAdd, Unit::Float, 4, 1),
    scalar(Class::FMa, Unit::Float, 5, 1),
    scalar(Class::FDiv, Unit::Float, 15, 15),
    scalar(Class::FConvert, Unit::Float, 6, 1),
];

/// \[L\] but the occupancy of unit loads and stores, which is 16 bytes a cycle \[M\].
const VECTOR: &[Timing] = &[
    scalar(Class::VSet, Unit::Branch, 1, 1),
    row(Class::VLoad, Unit::VectorMemory, [3, 4, 8, 16], [2, 4, 8, 16]),
    row(Class::VStore, Unit::VectorMemory, [3, 4, 8, 19], [2, 4, 8, 19]),
    row(Class::VLoadStrided, Unit::VectorMemory, [3, 4, 8, 16], [2, 4, 8, 16]),
    row(Class::VLoadIndexed, Unit::VectorMemory, [3, 4, 8, 16], [2, 4, 8, 16]),
    row(Class::VLoadSegment, Unit::VectorMemory, [3, 4, 8, 16], [2, 4, 8, 16]),
    row(Class::VStoreStrided, Unit::VectorMemory, [3, 4, 8, 19], [2, 4, 8, 19]),
    row(Class::VStoreIndexed, Unit::VectorMemory, [3, 4, 8, 19], [2, 4, 8, 19]),
    row(Class::VStoreSegment, Unit::VectorMemory, [3, 4, 8, 19], [2, 4, 8, 19]),
    row(Class::VAdd, Unit::VectorInteger, [4, 4, 5, 8], [1, 2, 4, 8]),
    row(Class::VLogic, Unit::VectorInteger, [4, 4, 8, 16], [2, 4, 8, 16]),
    row(Class::VCompare, Unit::VectorInteger, [4, 6, 10, 18], [4, 6, 10, 18]),
    row(Class::VMul, Unit::VectorInteger, [4, 4, 5, 8], [1, 2, 4, 8]),
    row(Class::VMul, Unit::VectorInteger, [5, 5, 5, 8], [1, 2, 4, 8]).for_sew(2, 2),
    row(Class::VMul, Unit::VectorInteger, [7, 8, 16, 32], [1, 2, 4, 8]).for_sew(3, 3),
    row(Class::VWiden, Unit::VectorInteger, [4, 5, 8, 16], [2, 4, 8, 16]),
    row(Class::VNarrow, Unit::VectorInteger, [4, 8, 16, 32], [4, 8, 16, 32]),
    row(Class::VDiv, Unit::VectorInteger, [24, 48, 96, 192], [24, 48, 96, 192]),
    row(Class::VFAdd, Unit::VectorFloat, [4, 4, 5, 8], [1, 2, 4, 8]),
    row(Class::VFMa, Unit::VectorFloat, [5, 5, 8, 8], [1, 2, 4, 8]),
    row(Class::VFMa, Unit::VectorFloat, [6, 6, 7, 8], [1, 2, 4, 8]).for_sew(3, 3),
    row(Class::VFWiden, Unit::VectorFloat, [5, 5, 8, 16], [2, 4, 8, 16]),
    row(Class::VFConvert, Unit::VectorFloat, [4, 4, 8, 16], [2, 4, 8, 16]),
    row(Class::VFDiv, Unit::VectorFloat, [12, 24, 48, 96], [12, 24, 48, 96]),
    row(Class::VFSqrt, Unit::VectorFloat, [38, 76, 152, 304], [38, 76, 152, 304]),
    row(Class::VReduce, Unit::VectorInteger, [7, 11, 19, 35], [2, 4, 10, 35]),
    row(Class::VFReduce, Unit::VectorFloat, [15, 21, 33, 57], [8, 14, 20, 57]),
    row(Class::VFSum, Unit::VectorFloat, [24, 48, 96, 192], [12, 24, 48, 96]),
    row(Class::VMask, Unit::VectorInteger, [4; 4], [1; 4]),
    row(Class::VToScalar, Unit::VectorInteger, [6; 4], [1; 4]),
    row(Class::FromScalar, Unit::VectorInteger, [4; 4], [1; 4]),
    row(Class::VSlide, Unit::VectorInteger, [4, 5, 9, 17], [3, 5, 9, 17]),
    row(Class::VGather, Unit::VectorInteger, [4, 16, 64, 256], [4, 16, 64, 256]),
    row(Class::VCompress, Unit::VectorInteger, [4, 10, 36, 136], [3, 10, 36, 136]),
];

/// \[M\]
const MATRIX: &[Timing] = &[scalar(Class::Dot, Unit::VectorFloat, 3, 1)];
