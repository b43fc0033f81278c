use std::fmt;

use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;

/// Cuts an input `[outer, sum(parts)]` into outputs `[outer, parts[i]]`.
pub struct Split {
    dtype: DType,
    outer: usize,
    /// Bytes that each output takes of a row of the input.
    parts: Vec<usize>,
    row: usize,
}

impl Split {
    /// `parts[i]` counts the elements of output `i` for one index of `outer`.
    pub fn new(dtype: DType, outer: usize, parts: &[usize]) -> Self {
        let parts: Vec<usize> = parts.iter().map(|part| part * dtype.size()).collect();
        let row = parts.iter().sum();
        Self { dtype, outer, parts, row }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts.iter().map(|bytes| bytes / self.dtype.size());
        write!(f, "split {} outer={} parts={:?}", self.dtype, self.outer, parts.collect::<Vec<_>>())
    }
}

impl Driver for Split {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.outer * self.row, grain(1));
        if share.is_empty() {
            return Ok(());
        }
        let (mut outer, mut skip) = (share.start / self.row, share.start % self.row);
        let mut input = &io.input::<u8>(0)[share];
        while !input.is_empty() {
            for (index, &part) in self.parts.iter().enumerate() {
                let from = skip.min(part);
                skip -= from;
                let (head, rest) = input.split_at(input.len().min(part - from));
                let at = outer * part + from;
                // SAFETY: each byte of the input goes to its own byte of an output, and shares of ranks are disjoint.
                let out = unsafe { io.output::<u8>(index).range(at..at + head.len()) };
                out.copy_from_slice(head);
                input = rest;
            }
            outer += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run;

    #[test]
    fn gives_every_output_its_rows() {
        for outer in [0, 1, 3, 700] {
            for parts in [vec![1], vec![0, 5], vec![3, 0, 17, 64], vec![0, 0]] {
                let row: usize = parts.iter().sum();
                let input: Vec<u32> = (0..(outer * row) as u32).collect();
                let bytes: Vec<usize> = parts.iter().map(|part| outer * part * 4).collect();
                for ranks in 1..=3 {
                    let driver = Split::new(DType::F32, outer, &parts);
                    let outputs = run(driver, ranks, &[bytemuck::cast_slice(&input)], &bytes).unwrap();
                    let mut first = 0;
                    for (output, part) in outputs.iter().zip(&parts) {
                        let want: Vec<u32> =
                            (0..outer).flat_map(|o| input[o * row + first..o * row + first + part].to_vec()).collect();
                        assert_eq!(bytemuck::cast_slice::<u8, u32>(output), want);
                        first += part;
                    }
                }
            }
        }
    }
}
