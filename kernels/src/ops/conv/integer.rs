use std::fmt;
use std::ops::Range;

use super::{ConvShape, columns};
use crate::driver::{Driver, RunError};
use crate::host;
use crate::isa::Target;
use crate::mem::Scratch;
use crate::ops::epilogue::Block;
use crate::ops::matmul_int::engine::Engine;
use crate::ops::matmul_int::{LeftSide, RightSide, Sums, ZeroPoint, row_sums};
use crate::ops::ranks;
use crate::pack::Rows;
use crate::rt::Worker;
use crate::select;
use crate::tape::Io;

/// `Y = conv(X - xz, W - wz) + bias` of 8-bit integers, exact for depths up to [`crate::ops::matmul_int::MAX_K`].
///
/// Inputs in this order: the image (u8 or i8) `[batch, groups * channels, spatial..]`, the filters (u8 or i8)
/// `[groups * filters, channels, taps]`, the zero point of the image (one) and those of the filters (one, or one a filter)
/// where there are any, the bias (i32) `[groups * filters]` where there is one. Output: i32.
pub struct ConvInt {
    shape: ConvShape,
    image: RightSide,
    filters: LeftSide,
    bias: bool,
    engine: Engine,
}

impl ConvInt {
    /// `filters` has zero points for rows where each filter has its own.
    pub fn new(target: &Target, shape: ConvShape, image: RightSide, filters: LeftSide, bias: bool) -> Self {
        Self { shape, image, filters, bias, engine: Engine::new(target.core, select::i8_layout(target)) }
    }

    fn block_rows(&self) -> usize {
        self.engine.rows().min(self.shape.filters)
    }

    /// Whether the filters are packed so that no strip can make their product saturate.
    fn halved(&self) -> bool {
        matches!(self.engine, Engine::Host) && host::saturates()
    }
}

impl fmt::Display for ConvInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (x, w) = (if self.image.signed { "i8" } else { "u8" }, self.filters.type_name());
        let bias = if self.bias { " bias" } else { "" };
        write!(f, "conv_int {} x={x} w={w}{bias} -> i32 by {}", self.shape, self.engine.name())
    }
}

impl Driver for ConvInt {
    fn scratch(&self) -> usize {
        let (rows, depth, strip) = (self.block_rows(), self.shape.depth(), self.engine.strip());
        Scratch::bytes::<i32>(self.engine.tile_len(rows))
            + 2 * Scratch::bytes::<i32>(rows)
            + 2 * Scratch::bytes::<i32>(strip)
            + Scratch::bytes::<u8>(depth * strip)
            + Scratch::bytes::<i8>(self.engine.right_len(depth))
            + Scratch::bytes::<u8>(rows * depth)
            + Scratch::bytes::<u8>(self.engine.left_len(rows, depth))
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let ConvShape { batch, groups, filters, window, .. } = self.shape;
        let (engine, strip) = (self.engine, self.engine.strip());
        let (depth, positions, block_rows) = (self.shape.depth(), window.positions(), self.block_rows());
        let strips = positions.div_ceil(strip);
        let panels = batch * groups * strips;
        let matrix =
            ranks::Matrix { m: filters, row_grain: engine.grain(), panels, panel: strip.min(positions), k: depth };
        let (rows, share) = matrix.share(worker);
        let mut scratch = Scratch::new(scratch);
        let mut sides = Sides {
            zero_points: scratch.take(block_rows),
            row_sums: scratch.take(block_rows),
            column_sums: scratch.take(strip),
            image_zero_points: scratch.take(strip),
        };
        let (columns, unsigned) = (scratch.take(depth * strip), scratch.take(block_rows * depth));
        let (packed_strip, packed_rows) =
            (scratch.take(engine.right_len(depth)), scratch.take(engine.left_len(block_rows, depth)));
        let tile = scratch.take(engine.tile_len(block_rows));
        for start in rows.clone().step_by(engine.rows()) {
            let rows = start..(start + engine.rows()).min(rows.end);
            for product in share.start / strips..share.end.div_ceil(strips) {
                let part = Part { product, rows: rows.clone() };
                let bytes = self.read_filters(&part, io, unsigned, &mut sides);
                let left = engine.left(worker, self.halved(), bytes, [rows.len(), depth], packed_rows);
                let own = share.start.max(product * strips)..share.end.min((product + 1) * strips);
                for index in own {
                    let first = index % strips * strip;
                    let positions = first..(first + strip).min(positions);
                    let columns = self.read_columns(product, &positions, io, columns, &mut sides);
                    let width = engine.with_strip(None, columns, packed_strip, |strip| {
                        engine.multiply(worker, &left, &strip, [rows.len(), positions.len(), depth], tile)
                    })?;
                    self.store(&part, positions, &sides, tile, width, io);
                }
                left.give_back();
            }
        }
        Ok(())
    }
}

/// Some filters of one group of one image; `product` counts the groups of all images.
struct Part {
    product: usize,
    rows: Range<usize>,
}

/// What the zero points subtract from the sums.
struct Sides<'a> {
    /// Of the filters.
    zero_points: &'a mut [i32],
    row_sums: &'a mut [i32],
    column_sums: &'a mut [i32],
    image_zero_points: &'a mut [i32],
}

impl ConvInt {
    /// The filters of `part` as they are multiplied; reads their sums and zero points.
    fn read_filters<'a>(&self, part: &Part, io: &Io<'a>, unsigned: &'a mut [u8], sides: &mut Sides<'_>) -> &'a [u8] {
        let (depth, first) = (self.shape.depth(), part.product % self.shape.groups * self.shape.filters);
        let all = first + part.rows.start..first + part.rows.end;
        let bytes = &io.input::<u8>(1)[all.start * depth..all.end * depth];
        let filters = self.filters.unsigned(bytes, unsigned);
        let given = match self.filters.zero_point {
            ZeroPoint::Absent => &[],
            _ => io.input::<u8>(2 + usize::from(self.image.zero_point)),
        };
        self.filters.read_zero_points(&all, given, sides.zero_points);
        row_sums(filters, depth, &sides.zero_points[..part.rows.len()], sides.row_sums);
        filters
    }

    /// Gathers the columns at `positions`, less 128 when the image is unsigned, and reads their sums and zero point.
    fn read_columns<'a>(
        &self,
        product: usize,
        positions: &Range<usize>,
        io: &Io<'_>,
        columns: &'a mut [u8],
        sides: &mut Sides<'_>,
    ) -> Rows<'a, i8> {
        let ConvShape { channels, window, .. } = &self.shape;
        let (depth, width, image) = (self.shape.depth(), positions.len(), channels * window.inputs());
        let zero_point = if self.image.zero_point { io.input::<u8>(2)[0] } else { 0 };
        let columns = &mut columns[..depth * width];
        columns::gather(&io.input::<u8>(0)[product * image..][..image], window, positions.clone(), zero_point, columns);
        let flip = if self.image.signed { 0 } else { 0x80 };
        sides.column_sums.fill(0);
        for row in columns.chunks_exact_mut(width) {
            for (x, sum) in row.iter_mut().zip(&mut *sides.column_sums) {
                *x ^= flip;
                *sum += i32::from(*x as i8);
            }
        }
        sides.image_zero_points.fill(i32::from((zero_point ^ flip) as i8));
        Rows { data: bytemuck::cast_slice(columns), rows: width, k: depth, strides: [1, width] }
    }

    /// Adds the bias to the products `tile`, whose rows have `width` numbers, and stores what the zero points leave of them.
    fn store(
        &self,
        part: &Part,
        positions: Range<usize>,
        sides: &Sides<'_>,
        tile: &mut [i32],
        width: usize,
        io: &Io<'_>,
    ) {
        let (rows, n) = (part.rows.len(), self.shape.window.positions());
        if self.bias {
            let zero_points =
                usize::from(self.image.zero_point) + usize::from(self.filters.zero_point != ZeroPoint::Absent);
            let first = part.product % self.shape.groups * self.shape.filters + part.rows.start;
            let biases = &io.input::<i32>(2 + zero_points)[first..first + rows];
            for (line, bias) in tile.chunks_exact_mut(width).zip(biases) {
                line.iter_mut().for_each(|sum| *sum = sum.wrapping_add(*bias));
            }
        }
        let sums = Sums {
            sums: tile,
            columns: width,
            a_zero_points: sides.zero_points,
            column_sums: sides.column_sums,
            row_sums: sides.row_sums,
            b_zero_points: if sides.image_zero_points[0] == 0 { &[] } else { sides.image_zero_points },
        };
        let first = part.product * self.shape.filters;
        let block = Block { rows: first + part.rows.start..first + part.rows.end, columns: positions };
        // SAFETY: the blocks of ranks, strips and row blocks are disjoint.
        unsafe { sums.store(&block, io.output(0), n) };
    }
}
