//! Appending keys or values to a cache.

use std::fmt;
use std::ops::Range;

use crate::driver::{Driver, RunError};
use crate::mem::Scratch;
use crate::ops::attention::{CacheFormat, Span, Spans, Strided, head_scales};
use crate::ops::rotary::{HeadRows, Rows};
use crate::rt::Worker;
use crate::tape::{Io, SharedOut};
use crate::vector;

/// Positions that one rank takes at least.
const GRAIN: usize = 64;

/// Copies the past of each sequence from one cache to another and writes new rows behind it. Where both caches are the
/// same memory only the new rows are written.
///
/// Operands: x f32, the past cache when `past` is given, those of `rows`, the scales when the format has them (f32, one or
/// `[heads, width]`), those of `spans`. Output: the present cache. Positions beyond a sequence's are zero bytes, or stay as
/// they are in a shared cache.
#[derive(Clone, Debug)]
pub struct KvAppend {
    pub heads: usize,
    /// Where `[batch, heads, rows, width]` new rows lie; neighbours in a row are neighbours in memory.
    pub x: Strided,
    pub rows: HeadRows,
    pub format: CacheFormat,
    /// Positions of the past cache, `[batch, heads, past, width]`.
    pub past: Option<usize>,
    /// Positions of the present cache, `[batch, heads, present, width]`.
    pub present: usize,
    /// Element of its operand with which each cache begins.
    pub offsets: [usize; 2],
    pub spans: Spans,
}

impl KvAppend {
    fn after_past(&self) -> usize {
        1 + usize::from(self.past.is_some())
    }

    /// The bytes of positions of one head in a cache with room for `capacity`.
    fn bytes(&self, offset: usize, unit: usize, capacity: usize, positions: Range<usize>) -> Range<usize> {
        let at = |position: usize| self.format.bytes(offset + (unit * capacity + position) * self.rows.width);
        at(positions.start)..at(positions.end)
    }

    fn span(&self, io: &Io<'_>, batch: usize) -> Result<Span, RunError> {
        let scales = usize::from(self.format.is_scaled());
        let span = self.spans.of(io, self.after_past() + self.rows.operands() + scales, batch)?;
        let held = self.past.unwrap_or(0);
        match span.first as usize <= held {
            true => Ok(span),
            false => Err(RunError::Data(format!("{} positions are past, the cache holds {held}", span.first))),
        }
    }
}

impl fmt::Display for KvAppend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let past = self.past.unwrap_or(0);
        write!(f, "kv_append {:?} h={} t={}->{} {}", self.format, self.heads, past, self.present, self.rows)
    }
}

impl Driver for KvAppend {
    fn in_place(&self) -> Option<[usize; 2]> {
        self.past.map(|_| [1, 0])
    }

    fn scratch(&self) -> usize {
        if self.format == CacheFormat::F32 { 0 } else { Scratch::bytes::<f32>(self.rows.width) }
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let scales = self.after_past() + self.rows.operands();
        let mut append = Append {
            driver: self,
            worker,
            x: io.input(0),
            past: if self.past.is_some() { io.separate_input(1) } else { Some(&[]) },
            rows: Rows::new(&self.rows, worker, io, self.after_past()),
            scales: if self.format.is_scaled() { io.input(scales) } else { &[] },
            out: io.output(0),
            row: bytemuck::cast_slice_mut(&mut scratch[..self.scratch() / 4 * 4]),
        };
        let grains = self.present.div_ceil(GRAIN);
        for index in worker.share(self.rows.batch * self.heads * grains, 1) {
            let (unit, first) = (index / grains, index % grains * GRAIN);
            let span = self.span(io, unit / self.heads)?;
            append.positions(unit, span, first..(first + GRAIN).min(self.present))?;
        }
        Ok(())
    }
}

/// The operands of a run and one rank's scratch.
struct Append<'a> {
    driver: &'a KvAppend,
    worker: &'a Worker<'a>,
    x: &'a [f32],
    /// `None` when the present cache is the past one.
    past: Option<&'a [u8]>,
    rows: Rows<'a>,
    scales: &'a [f32],
    out: SharedOut<'a, u8>,
    row: &'a mut [f32],
}

impl<'a> Append<'a> {
    /// Fills some positions of one head of one sequence.
    fn positions(&mut self, unit: usize, span: Span, positions: Range<usize>) -> Result<(), RunError> {
        let driver = self.driver;
        let first = span.first as usize;
        let within = |range: Range<usize>| range.start.max(positions.start)..range.end.min(positions.end);
        if let Some(past) = self.past {
            let (old, free) = (within(0..first), within(span.keys..driver.present));
            if !old.is_empty() {
                let from = driver.bytes(driver.offsets[0], unit, driver.past.unwrap_or(0), old.clone());
                self.out(unit, old).copy_from_slice(&past[from]);
            }
            if !free.is_empty() {
                self.out(unit, free).fill(0);
            }
        }
        within(first..span.keys).try_for_each(|position| self.append(unit, position, position - first, span.first))
    }

    /// Writes the new row `row` to its position.
    fn append(&mut self, unit: usize, position: usize, row: usize, first: isize) -> Result<(), RunError> {
        let driver = self.driver;
        let (batch, head) = (unit / driver.heads, unit % driver.heads);
        let from = driver.x.at(batch, head, row);
        let x = &self.x[from..from + driver.rows.width];
        let out = self.out(unit, position..position + 1);
        if driver.format == CacheFormat::F32 {
            return self.rows.turn(self.worker, [batch, row], first, x, bytemuck::cast_slice_mut(out));
        }
        let new = &mut self.row[..driver.rows.width];
        self.rows.turn(self.worker, [batch, row], first, x, new)?;
        if driver.format == CacheFormat::F16 && vector::narrow(self.worker, new, bytemuck::cast_slice_mut(out)) {
            return Ok(());
        }
        driver.format.pack(new, head_scales(self.scales, head, driver.rows.width), out);
        Ok(())
    }

    fn out(&self, unit: usize, positions: Range<usize>) -> &'a mut [u8] {
        let bytes = self.driver.bytes(self.driver.offsets[1], unit, self.driver.present, positions);
        // SAFETY: positions of heads are disjoint ranges, and each position belongs to one rank. The slice is dropped
        // before another of the same position is asked for.
        unsafe { self.out.range(bytes) }
    }
}

#[cfg(test)]
mod tests;
