use std::fmt;

use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;

/// Joins inputs of shapes `[outer, parts[i]]` to one output `[outer, sum(parts)]`.
pub struct Concat {
    dtype: DType,
    outer: usize,
    /// Bytes that each input adds to a row of the output.
    parts: Vec<usize>,
    row: usize,
}

impl Concat {
    /// `parts[i]` counts the elements of input `i` for one index of `outer`.
    pub fn new(dtype: DType, outer: usize, parts: &[usize]) -> Self {
        let parts: Vec<usize> = parts.iter().map(|part| part * dtype.size()).collect();
        let row = parts.iter().sum();
        Self { dtype, outer, parts, row }
    }
}

impl fmt::Display for Concat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts.iter().map(|bytes| bytes / self.dtype.size());
        write!(f, "concat {} outer={} parts={:?}", self.dtype, self.outer, parts.collect::<Vec<_>>())
    }
}

impl Driver for Concat {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.outer * self.row, grain(1));
        if share.is_empty() {
            return Ok(());
        }
        // SAFETY: shares of ranks are disjoint.
        let mut out = unsafe { io.output::<u8>(0).range(share.clone()) };
        let (mut outer, mut skip) = (share.start / self.row, share.start % self.row);
        while !out.is_empty() {
            for (index, &part) in self.parts.iter().enumerate() {
                let from = skip.min(part);
                skip -= from;
                let (head, rest) = out.split_at_mut(out.len().min(part - from));
                let at = outer * part + from;
                head.copy_from_slice(&io.input::<u8>(index)[at..at + head.len()]);
                out = rest;
            }
            outer += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_one;

    #[test]
    fn joins_rows_of_every_input() {
        for outer in [0, 1, 3, 700] {
            for parts in [vec![1], vec![0, 5], vec![3, 0, 17, 64], vec![0, 0]] {
                let inputs: Vec<Vec<u16>> = parts
                    .iter()
                    .enumerate()
                    .map(|(i, part)| (0..outer * part).map(|j| (i * 10_007 + j) as u16).collect())
                    .collect();
                let mut want = Vec::new();
                for row in 0..outer {
                    for (input, part) in inputs.iter().zip(&parts) {
                        want.extend_from_slice(&input[row * part..(row + 1) * part]);
                    }
                }
                let inputs: Vec<&[u8]> = inputs.iter().map(|input| bytemuck::cast_slice(input)).collect();
                for ranks in 1..=3 {
                    let driver = Concat::new(DType::F16, outer, &parts);
                    assert_eq!(run_one::<u16>(driver, ranks, &inputs, want.len()).unwrap(), want);
                }
            }
        }
    }
}
