use std::fmt;
use std::ops::Range;

use super::engine::{HOST_GRAIN, HOST_ROWS};
use super::left::{LeftSide, ZeroPoint, row_sums};
use super::sums::Sums;
use crate::driver::{Driver, RunError};
use crate::host::{self, I8Panel, PANEL, Rows};
use crate::mem::Scratch;
use crate::ops::epilogue::Block;
use crate::ops::ranks;
use crate::rt::Worker;
use crate::tape::Io;

/// `Y[i] = (A[i] - az) x (B[i] - bz)` for each matrix `i` of a batch, both sides known at run time only; exact for `k` up
/// to [`super::MAX_K`].
///
/// Inputs in this order: `A` and `B` (u8 or i8, rows contiguous), the zero points of `A` and of `B` where there are any.
/// Output: `Y` (i32), `[batch, m, n]` row-major.
pub struct BatchedMatMulInt {
    shape: IntBatchShape,
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
    pub fn new(shape: IntBatchShape, left: LeftSide, right: RightSide) -> Self {
        Self { shape, left, right }
    }

    fn block_rows(&self) -> usize {
        HOST_ROWS.min(self.shape.m)
    }
}

impl fmt::Display for BatchedMatMulInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IntBatchShape { m, k, n, offsets } = &self.shape;
        let (a, b) = (self.left.type_name(), if self.right.signed { "i8" } else { "u8" });
        write!(f, "matmul_int batch={} m={m} n={n} k={k} a={a} b={b} -> i32", offsets.len())
    }
}

impl Driver for BatchedMatMulInt {
    fn scratch(&self) -> usize {
        let (rows, k) = (self.block_rows(), self.shape.k);
        Scratch::bytes::<i32>(rows * PANEL)
            + 2 * Scratch::bytes::<i32>(rows)
            + 2 * Scratch::bytes::<i32>(PANEL)
            + Scratch::bytes::<i8>(k * PANEL)
            + 2 * Scratch::bytes::<u8>(rows * k)
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let IntBatchShape { m, k, n, ref offsets } = self.shape;
        let (block_rows, panels) = (self.block_rows(), n.div_ceil(PANEL));
        let strips = ranks::Matrix { m, row_grain: HOST_GRAIN, panels: offsets.len() * panels, panel: PANEL.min(n), k };
        let (rows, share) = strips.share(worker);
        let mut scratch = Scratch::new(scratch);
        let mut buffers = Buffers {
            tile: scratch.take(block_rows * PANEL),
            a_zero_points: scratch.take(block_rows),
            row_sums: scratch.take(block_rows),
            b_zero_points: scratch.take(PANEL),
            column_sums: scratch.take(PANEL),
            signed: scratch.take(k * PANEL),
            unsigned: scratch.take(block_rows * k),
            half: scratch.take(block_rows * k),
        };
        for strip in share {
            let columns = strip % panels * PANEL..(strip % panels * PANEL + PANEL).min(n);
            self.run_strip(strip / panels, &rows, columns, io, &mut buffers)?;
        }
        Ok(())
    }
}

/// A rank's scratch.
struct Buffers<'a> {
    tile: &'a mut [i32],
    a_zero_points: &'a mut [i32],
    row_sums: &'a mut [i32],
    b_zero_points: &'a mut [i32],
    column_sums: &'a mut [i32],
    /// Columns of `B`, less 128 when it is unsigned.
    signed: &'a mut [i8],
    /// Rows of a signed `A`, plus 128.
    unsigned: &'a mut [u8],
    half: &'a mut [u8],
}

impl BatchedMatMulInt {
    /// Some columns of one product, all rows of this rank.
    fn run_strip(
        &self,
        product: usize,
        rows: &Range<usize>,
        columns: Range<usize>,
        io: &Io<'_>,
        buffers: &mut Buffers<'_>,
    ) -> Result<(), RunError> {
        let (m, k, n, width) = (self.shape.m, self.shape.k, self.shape.n, columns.len());
        let [a_offset, b_offset] = self.shape.offsets[product];
        let a_zero_points = if self.left.zero_point == ZeroPoint::Absent { &[] } else { io.input::<u8>(2) };
        let has_zero_points = self.read_right(&io.input::<u8>(1)[b_offset..], &columns, io, buffers);
        let packed = I8Panel::pack_again(host::matrix(&buffers.signed[..k * width], [k, width], [width, 1]));
        for start in rows.clone().step_by(HOST_ROWS) {
            let rows = start..(start + HOST_ROWS).min(rows.end);
            let out_rows = product * m + rows.start..product * m + rows.end;
            let bytes = &io.input::<u8>(0)[a_offset + rows.start * k..a_offset + rows.end * k];
            let a = self.left.unsigned(bytes, buffers.unsigned);
            self.left.read_zero_points(&out_rows, a_zero_points, buffers.a_zero_points);
            row_sums(a, k, &buffers.a_zero_points[..rows.len()], buffers.row_sums);
            let packed_rows = Rows::pack(a, k, packed.halved(), buffers.half);
            packed.multiply(&packed_rows, &mut buffers.tile[..rows.len() * width])?;
            packed_rows.give_back();
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
        packed.give_back();
        Ok(())
    }

    /// Reads columns of `b` (row-major `[k, n]`), their sums and zero points as they are multiplied; tells whether any zero
    /// point is not 0.
    fn read_right(&self, b: &[u8], columns: &Range<usize>, io: &Io<'_>, buffers: &mut Buffers<'_>) -> bool {
        let (n, width, flip) = (self.shape.n, columns.len(), if self.right.signed { 0 } else { 0x80 });
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
