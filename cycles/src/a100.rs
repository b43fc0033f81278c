//! SpacemiT A100, the matrix core of K3: in order, two instructions a cycle, VLEN 1024.
//!
//! Sources: \[I\] times of the matrix instructions, \[R\] of vector instructions, both measured on a K3 for models of LLVM
//! that are not upstream; \[B\] measured on boards; \[M\] what reproduces published kernels, see `docs/cycles.md`; \[D\] the vendor's
//! specification.

use crate::cache::Shape;
use crate::core::{Core, ElementCycles, MemoryShape, Options, Timing, Unit, row, scalar};
use crate::insn::Class;
use crate::x60;

pub fn core(options: Options) -> Core {
    let memory = if options.stalling_loads { STALLING } else { SHORT };
    // The scalar pipelines are of the same line as those of X60.
    let mut timings = [x60::SCALAR, VECTOR, memory, MATRIX].concat();
    if options.shared_matrix {
        let dots = timings.iter_mut().filter(|timing| timing.class.is_dot());
        dots.for_each(|timing| timing.occupancy = timing.occupancy.map(|cycles| 2 * cycles));
    }
    Core {
        name: "a100",
        ports: [2, 1, 2, 1, 1, 1, 1, 1],
        timings,
        // As on X60.
        vector_width: 1,
        // [R]: 544 cycles for 32 elements, and 136 for each field of a segment.
        element: ElementCycles { strided: 17.0, indexed: 17.0, segment: 4.25 },
        // That of X60.
        mispredict: 9,
        memory: MemoryShape {
            // [D] says 32 KiB, some boards 64. The ways are an assumption.
            l1: Shape { bytes: 32 << 10, ways: 4 },
            l2: Shape { bytes: 1 << 20, ways: 16 },
            // [M]
            l2_latency: 14,
            l2_interval: 2.5,
            // [M]: 10.4 bytes a cycle for one core.
            dram_latency: 260,
            dram_interval: 64.0 / 10.4,
            // As many as reach that rate at that latency.
            misses: 48,
        },
    }
}

/// \[R\], with the occupancies that 512 bits a cycle give where \[B\] confirms them: `vfmacc` of one register takes 2.2 cycles, of
/// four 8.9.
const VECTOR: &[Timing] = &[
    scalar(Class::VSet, Unit::Branch, 3, 1),
    row(Class::VAdd, Unit::VectorInteger, [4, 5, 8, 16], [2, 4, 8, 16]),
    row(Class::VLogic, Unit::VectorInteger, [4, 5, 8, 16], [2, 4, 8, 16]),
    row(Class::VCompare, Unit::VectorInteger, [9, 18, 36, 72], [9, 18, 36, 72]),
    row(Class::VMul, Unit::VectorInteger, [5, 8, 16, 32], [5, 8, 16, 32]),
    row(Class::VWiden, Unit::VectorInteger, [5, 8, 16, 32], [5, 8, 16, 32]),
    row(Class::VNarrow, Unit::VectorInteger, [8, 16, 32, 64], [4, 8, 16, 32]),
    row(Class::VDiv, Unit::VectorInteger, [72, 144, 288, 576], [72, 144, 288, 576]),
    row(Class::VFAdd, Unit::VectorFloat, [4, 5, 8, 16], [2, 4, 8, 16]),
    row(Class::VFMa, Unit::VectorFloat, [5, 6, 9, 17], [2, 4, 9, 17]),
    row(Class::VFWiden, Unit::VectorFloat, [9, 17, 34, 68], [9, 17, 34, 68]),
    row(Class::VFConvert, Unit::VectorFloat, [4, 5, 8, 16], [2, 4, 8, 16]),
    row(Class::VFDiv, Unit::VectorFloat, [72, 144, 288, 576], [72, 144, 288, 576]),
    row(Class::VFSqrt, Unit::VectorFloat, [152, 304, 608, 1216], [152, 304, 608, 1216]),
    row(Class::VReduce, Unit::VectorInteger, [19, 35, 67, 131], [19, 35, 67, 131]),
    row(Class::VFReduce, Unit::VectorFloat, [19, 35, 57, 114], [16, 30, 56, 112]),
    row(Class::VFSum, Unit::VectorFloat, [128, 256, 512, 1024], [128, 256, 512, 1024]),
    row(Class::VMask, Unit::VectorInteger, [4; 4], [2; 4]),
    row(Class::VToScalar, Unit::VectorInteger, [6; 4], [1; 4]),
    row(Class::FromScalar, Unit::VectorInteger, [4; 4], [2; 4]),
    row(Class::VSlide, Unit::VectorInteger, [9, 18, 36, 72], [8, 16, 32, 64]),
    row(Class::VGather, Unit::VectorInteger, [64, 128, 256, 512], [64, 128, 256, 512]),
    row(Class::VCompress, Unit::VectorInteger, [36, 72, 144, 288], [36, 72, 144, 288]),
];

/// Unit loads and stores by the reading that published kernels with loads of one register need \[M\]: 64 bytes a cycle.
const SHORT: &[Timing] = &[
    row(Class::VLoad, Unit::VectorMemory, [6, 8, 12, 20], [2, 4, 8, 16]),
    row(Class::VStore, Unit::VectorMemory, [6, 8, 12, 20], [2, 4, 8, 16]),
];

/// By the other reading \[R\], \[B\]: about 20 cycles, whatever the size.
const STALLING: &[Timing] = &[
    row(Class::VLoad, Unit::VectorMemory, [19, 19, 20, 23], [19, 19, 20, 23]),
    row(Class::VStore, Unit::VectorMemory, [15, 21, 21, 32], [15, 21, 21, 32]),
];

/// \[I\], but 9 cycles instead of 8 for a product of integers, which 4 and 8 sums at a time take on boards \[B\].
const MATRIX: &[Timing] = &[
    scalar(Class::Dot, Unit::Matrix, 9, 1),
    scalar(Class::DotSparse, Unit::Matrix, 9, 1),
    scalar(Class::DotScaled, Unit::Matrix, 10, 1),
    scalar(Class::DotFloat, Unit::Matrix, 10, 1),
    scalar(Class::Pack, Unit::VectorInteger, 5, 4),
    scalar(Class::Unpack, Unit::VectorInteger, 13, 13),
    scalar(Class::PackNarrow, Unit::VectorInteger, 3, 2),
];
