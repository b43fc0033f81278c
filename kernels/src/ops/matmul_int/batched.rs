use std::fmt;
use std::ops::Range;

use super::engine::{Engine, Strip};
use super::left::{LeftSide, ZeroPoint, row_sums};
use super::sums::Sums;
use crate::driver::{Driver, RunError};
use crate::isa::Target;
use crate::mem::Scratch;
use crate::ops::epilogue::Block;
use crate::ops::ranks;
use crate::pack::Rows;
use crate::rt::Worker;
use crate::select;
use crate::tape::Io;

/// `Y[i] = (A[i] - az) x (B[i] - bz)` for each matrix `i` of a batch, both sides known at run time only; exact for `k` up
/// to [`super::MAX_K`].
///
/// Inputs in this order: `A` and `B` (u8 or i8, rows contiguous), the zero points of `A` and of `B` where there are any.
/// Output: `Y` (i32), `[batch, m, n]` row-major.
pub struct BatchedMatMulInt {
    shape: IntBatchShape,
    engine: Engine,
    left: LeftSide,
    right: RightSide,
}

/// Where the matrices of a batched integer product are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntBatchShape {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    /// For each product: the first element of its `A` and of its `B`.
    pub offsets: Vec<[usize; 2]>,
}

/// Type of `B`. A zero point operand has one value, or one for each column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RightSide {
    /// i8 instead of u8.
    pub signed: bool,
    pub zero_point: bool,
}

impl BatchedMatMulInt {
    /// Zero points of rows count the rows of all products.
    pub fn new(target: &Target, shape: IntBatchShape, left: LeftSide, right: RightSide) -> Self {
        let engine = Engine::new(target.core, select::i8_layout(target));
        Self { shape, engine, left, right }
    }

    fn block_rows(&self) -> usize {
        self.engine.rows().min(self.shape.m)
    }
}

impl fmt::Display for BatchedMatMulInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IntBatchShape { m, k, n, offsets } = &self.shape;
        let (a, b) = (self.left.type_name(), if self.right.signed { "i8" } else { "u8" });
        write!(f, "matmul_int batch={} m={m} n={n} k={k} a={a} b={b} -> i32 by {}", offsets.len(), self.engine.name())
    }
}

impl Driver for BatchedMatMulInt {
    fn scratch(&self) -> usize {
        let (rows, k, strip) = (self.block_rows(), self.shape.k, self.engine.strip());
        Scratch::bytes::<i32>(self.engine.tile_len(rows))
            + 2 * Scratch::bytes::<i32>(rows)
            + 2 * Scratch::bytes::<i32>(strip)
            + Scratch::bytes::<i8>(k * strip)
            + Scratch::bytes::<i8>(self.engine.right_len(k))
            + Scratch::bytes::<u8>(rows * k)
            + Scratch::bytes::<u8>(self.engine.left_len(rows, k))
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let (engine, strip, block_rows) = (self.engine, self.engine.strip(), self.block_rows());
        let IntBatchShape { m, k, n, ref offsets } = self.shape;
        let strips = n.div_ceil(strip);
        let matrix =
            ranks::Matrix { m, row_grain: engine.grain(), panels: offsets.len() * strips, panel: strip.min(n), k };
        let (rows, share) = matrix.share(worker);
        let mut scratch = Scratch::new(scratch);
        let mut buffers = Buffers {
            tile: scratch.take(engine.tile_len(block_rows)),
            a_zero_points: scratch.take(block_rows),
            row_sums: scratch.take(block_rows),
            b_zero_points: scratch.take(strip),
            column_sums: scratch.take(strip),
            signed: scratch.take(k * strip),
            packed_right: scratch.take(engine.right_len(k)),
            unsigned: scratch.take(block_rows * k),
            packed_left: scratch.take(engine.left_len(block_rows, k)),
        };
        for index in share {
            let first = index % strips * strip;
            let part = Part { product: index / strips, rows: rows.clone(), columns: first..(first + strip).min(n) };
            let has_zero_points = self.read_right(&part, io, &mut buffers);
            let (signed, packed) = (std::mem::take(&mut buffers.signed), std::mem::take(&mut buffers.packed_right));
            let columns = Rows { data: &*signed, rows: part.columns.len(), k, strides: [1, part.columns.len()] };
            engine.with_strip(Some(worker), columns, packed, |strip| {
                self.run_strip(worker, &part, &strip, has_zero_points, io, &mut buffers)
            })?;
            (buffers.signed, buffers.packed_right) = (signed, packed);
        }
        Ok(())
    }
}

/// Some rows of a strip of columns of one product.
struct Part {
    product: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

/// A rank's scratch.
struct Buffers<'a> {
    tile: &'a mut [i32],
    a_zero_points: &'a mut [i32],
    row_sums: &'a mut [i32],
    b_zero_points: &'a mut [i32],
    column_sums: &'a mut [i32],
    /// Columns of `B`, less 128 when it is unsigned: row-major.
    signed: &'a mut [i8],
    packed_right: &'a mut [i8],
    /// Rows of a signed `A`, plus 128.
    unsigned: &'a mut [u8],
    packed_left: &'a mut [u8],
}

impl BatchedMatMulInt {
    fn run_strip(
        &self,
        worker: &Worker<'_>,
        part: &Part,
        strip: &Strip<'_>,
        has_zero_points: bool,
        io: &Io<'_>,
        buffers: &mut Buffers<'_>,
    ) -> Result<(), RunError> {
        let (engine, m, k, n, columns) = (self.engine, self.shape.m, self.shape.k, self.shape.n, &part.columns);
        let [a_offset, _] = self.shape.offsets[part.product];
        let a_zero_points = if self.left.zero_point == ZeroPoint::Absent { &[] } else { io.input::<u8>(2) };
        for start in part.rows.clone().step_by(engine.rows()) {
            let rows = start..(start + engine.rows()).min(part.rows.end);
            let out_rows = part.product * m + rows.start..part.product * m + rows.end;
            let bytes = &io.input::<u8>(0)[a_offset + rows.start * k..a_offset + rows.end * k];
            let a = self.left.unsigned(bytes, buffers.unsigned);
            self.left.read_zero_points(&out_rows, a_zero_points, buffers.a_zero_points);
            row_sums(a, k, &buffers.a_zero_points[..rows.len()], buffers.row_sums);
            let left = engine.left(worker, strip.halved(), a, [rows.len(), k], buffers.packed_left);
            let width = engine.multiply(worker, &left, strip, [rows.len(), columns.len(), k], buffers.tile)?;
            left.give_back();
            let sums = Sums {
                sums: buffers.tile,
                columns: width,
                a_zero_points: buffers.a_zero_points,
                column_sums: buffers.column_sums,
                row_sums: buffers.row_sums,
                b_zero_points: if has_zero_points { buffers.b_zero_points } else { &[] },
            };
            // SAFETY: the blocks of ranks, strips and row blocks are disjoint.
            unsafe { sums.store(&Block { rows: out_rows, columns: columns.clone() }, io.output(0), n) };
        }
        Ok(())
    }

    /// Reads columns of `B`, their sums and zero points as they are multiplied; tells whether any zero point is not 0.
    fn read_right(&self, part: &Part, io: &Io<'_>, buffers: &mut Buffers<'_>) -> bool {
        let (n, columns, flip) = (self.shape.n, &part.columns, if self.right.signed { 0 } else { 0x80 });
        let (width, b) = (columns.len(), &io.input::<u8>(1)[self.shape.offsets[part.product][1]..]);
        buffers.column_sums.fill(0);
        for (depth, signed) in buffers.signed.chunks_exact_mut(width).take(self.shape.k).enumerate() {
            let row = &b[depth * n + columns.start..depth * n + columns.end];
            for ((signed, sum), &x) in signed.iter_mut().zip(&mut *buffers.column_sums).zip(row) {
                *signed = (x ^ flip) as i8;
                *sum += i32::from(*signed);
            }
        }
        let given = if self.right.zero_point {
            io.input::<u8>(2 + usize::from(self.left.zero_point != ZeroPoint::Absent))
        } else {
            &[0]
        };
        for (column, zero_point) in buffers.b_zero_points[..width].iter_mut().enumerate() {
            let x = if given.len() == 1 { given[0] } else { given[columns.start + column] };
            *zero_point = i32::from((x ^ flip) as i8);
        }
        buffers.b_zero_points[..width].iter().any(|&zero_point| zero_point != 0)
    }
}
