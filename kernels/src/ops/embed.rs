//! Sums of embedding rows, and the lengths of padded sequences.

use std::fmt;

use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;

/// Elements that one rank takes at least.
const GRAIN: usize = 4096;

/// Where the row of the position table comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// The position in the sequence.
    Sequence,
    /// An input with this many rows of ids, repeated over the batch: 1 or the batch.
    Ids(usize),
}

/// `y[b, s] = word[ids[b, s]] + position[p] + segment[segments[b, s]]`.
///
/// Inputs, those left out not counted: ids i32 `[batch, seq]`, word f32 `[words, width]`, position f32
/// `[positions, width]`, position ids i32 `[1 or batch, seq]`, segments i32 `[batch, seq]`, segment f32
/// `[segments, width]`. Output: f32 `[batch, seq, width]`.
#[derive(Clone, Debug)]
pub struct EmbedSum {
    pub batch: usize,
    pub seq: usize,
    pub width: usize,
    pub positions: Positions,
    pub segments: bool,
}

/// A table of rows.
struct Table<'a> {
    name: &'static str,
    data: &'a [f32],
    width: usize,
}

impl<'a> Table<'a> {
    fn row(&self, id: i64) -> Result<&'a [f32], RunError> {
        let rows = self.data.len() / self.width.max(1);
        match usize::try_from(id) {
            Ok(row) if row < rows => Ok(&self.data[row * self.width..][..self.width]),
            _ => Err(RunError::Data(format!("id {id} is not in the {rows} rows of the {} embedding", self.name))),
        }
    }
}

impl fmt::Display for EmbedSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "embed_sum b={} s={} width={}", self.batch, self.seq, self.width)?;
        if self.segments { f.write_str(" segments") } else { Ok(()) }
    }
}

impl Driver for EmbedSum {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        if self.width == 0 {
            return Ok(());
        }
        let table = |name, index| Table { name, data: io.input(index), width: self.width };
        let (ids, word, position) = (io.input::<i32>(0), table("word", 1), table("position", 2));
        let given = match self.positions {
            Positions::Sequence => None,
            Positions::Ids(rows) => Some((io.input::<i32>(3), rows * self.seq)),
        };
        let next = 3 + usize::from(given.is_some());
        let segment = self.segments.then(|| (io.input::<i32>(next), table("segment", next + 1)));
        for row in worker.share(self.batch * self.seq, GRAIN.div_ceil(self.width)) {
            // SAFETY: shares of ranks are disjoint.
            let y = unsafe { io.output::<f32>(0).range(row * self.width..(row + 1) * self.width) };
            let at = given.map_or((row % self.seq) as i64, |(ids, len)| ids[row % len].into());
            let (word, position) = (word.row(ids[row].into())?, position.row(at)?);
            for ((y, word), position) in y.iter_mut().zip(word).zip(position) {
                *y = word + position;
            }
            if let Some((ids, table)) = &segment {
                y.iter_mut().zip(table.row(ids[row].into())?).for_each(|(y, segment)| *y += segment);
            }
        }
        Ok(())
    }
}

/// `y[b]` = how many of `mask[b, ..]` are 1. Operands: mask i32 `[batch, seq]` -> y i32 `[batch]`.
pub struct MaskLengths {
    batch: usize,
    seq: usize,
}

impl MaskLengths {
    pub fn new(batch: usize, seq: usize) -> Self {
        Self { batch, seq }
    }
}

impl fmt::Display for MaskLengths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mask_lengths b={} s={}", self.batch, self.seq)
    }
}

impl Driver for MaskLengths {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.batch, GRAIN.div_ceil(self.seq.max(1)));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<i32>(0).range(share.clone()) };
        for (y, batch) in y.iter_mut().zip(share) {
            let mask = &io.input::<i32>(0)[batch * self.seq..][..self.seq];
            *y = mask.iter().map(|&flag| i32::from(flag == 1)).sum();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn bytes<T: bytemuck::Pod>(data: &[T]) -> &[u8] {
        bytemuck::cast_slice(data)
    }

    #[test]
    fn adds_the_rows_that_the_ids_name() {
        let (ids, segments, places) = ([2i32, 0, 1, 1], [0i32, 1, 1, 0], [1i32, 0, 0, 0]);
        let (word, position, segment) =
            ([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [10.0f32, 20.0, 30.0, 40.0], [100.0f32, 200.0, 300.0, 400.0]);
        for ranks in 1..=3 {
            let plain = EmbedSum { batch: 2, seq: 2, width: 2, positions: Positions::Sequence, segments: false };
            let y: Vec<f32> =
                testing::run_one(plain.clone(), ranks, &[bytes(&ids), bytes(&word), bytes(&position)], 8).unwrap();
            assert_eq!(y, [15.0, 26.0, 31.0, 42.0, 13.0, 24.0, 33.0, 44.0]);
            for (rows, expected) in [
                (1, [135.0, 246.0, 311.0, 422.0, 333.0, 444.0, 113.0, 224.0]),
                (2, [135.0, 246.0, 311.0, 422.0, 313.0, 424.0, 113.0, 224.0]),
            ] {
                let driver = EmbedSum { positions: Positions::Ids(rows), segments: true, ..plain.clone() };
                let places = &places[..2 * rows];
                let inputs =
                    [bytes(&ids), bytes(&word), bytes(&position), bytes(places), bytes(&segments), bytes(&segment)];
                let y: Vec<f32> = testing::run_one(driver, ranks, &inputs, 8).unwrap();
                assert_eq!(y, expected);
            }
        }
    }

    #[test]
    fn ids_outside_a_table_are_an_error() {
        let (word, position) = ([0.0f32; 6], [0.0f32; 2]);
        for (id, seq, text) in [(3, 1, "word"), (-1, 1, "word"), (0, 2, "position")] {
            let driver = EmbedSum { batch: 1, seq, width: 2, positions: Positions::Sequence, segments: false };
            let ids = vec![id; seq];
            let error = testing::run_one::<f32>(driver, 1, &[bytes(&ids), bytes(&word), bytes(&position)], 2 * seq);
            assert!(matches!(error, Err(RunError::Data(message)) if message.contains(text)));
        }
    }

    #[test]
    fn lengths_count_ones() {
        let mask = [1, 1, 0, 1, 2, 0];
        let y: Vec<i32> = testing::run_one(MaskLengths::new(2, 3), 2, &[bytes(&mask)], 2).unwrap();
        assert_eq!(y, [2, 1]);
    }
}
