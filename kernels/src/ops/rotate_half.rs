//! Rotary embedding as formulas write it, with an angle for each element.

use std::fmt;

use super::broadcast::{broadcast_dims, operand_strides};
use super::walk::{Strides, Walk};
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{Dims, elements};

/// Elements that one rank takes at least.
const GRAIN: usize = 4096;

/// `y = x * cos + (-x2, x1) * sin` for rows `x = (x1, x2)` of two halves.
///
/// Operands, all f32: x, cosines and sines, each `[.., width]`, which broadcast but for the width. Output: what they
/// broadcast to.
#[derive(Clone, Debug)]
pub struct RotateHalf {
    outer: Dims,
    strides: [Strides; 3],
    width: usize,
}

impl RotateHalf {
    /// # Panics
    /// When the operands have not the same even width or do not broadcast.
    pub fn new(operands: [&[usize]; 3]) -> Self {
        let width = operands[0][operands[0].len() - 1];
        assert!(width.is_multiple_of(2) && operands.iter().all(|dims| dims.last() == Some(&width)), "widths differ");
        let outer = operands.map(|dims| &dims[..dims.len() - 1]);
        let dims = broadcast_dims(&outer).expect("the operands broadcast");
        let strides =
            outer.map(|outer| operand_strides(outer, dims.len()).into_iter().map(|s| s * width as isize).collect());
        Self { outer: dims, strides, width }
    }
}

impl fmt::Display for RotateHalf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rotate_half {:?}x{}", self.outer.as_slice(), self.width)
    }
}

impl Driver for RotateHalf {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let width = self.width;
        let share = worker.share(elements(&self.outer), GRAIN.div_ceil(width.max(1)));
        if share.is_empty() || width == 0 {
            return Ok(());
        }
        let operands: [&[f32]; 3] = std::array::from_fn(|index| io.input(index));
        let mut walks = self.strides.each_ref().map(|strides| Walk::new(&self.outer, strides, 0, share.start));
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<f32>(0).range(share.start * width..share.end * width) };
        for out in out.chunks_exact_mut(width) {
            let [x, cos, sin] = std::array::from_fn(|index| &operands[index][walks[index].offset()..][..width]);
            vectorised(
                #[inline(always)]
                || rotate(x, cos, sin, out),
            );
            walks.iter_mut().for_each(Walk::advance);
        }
        Ok(())
    }
}

#[inline(always)]
fn rotate(x: &[f32], cos: &[f32], sin: &[f32], out: &mut [f32]) {
    let half = x.len() / 2;
    let ((x1, x2), (y1, y2)) = (x.split_at(half), out.split_at_mut(half));
    for (index, (y1, y2)) in y1.iter_mut().zip(y2).enumerate() {
        *y1 = x1[index] * cos[index] - x2[index] * sin[index];
        *y2 = x2[index] * cos[half + index] + x1[index] * sin[half + index];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::broadcast::reference_offsets;
    use crate::testing::{floats, run_one};

    #[test]
    fn halves_turn_by_angles_that_broadcast() {
        let shapes: [[&[usize]; 3]; 5] = [
            [&[2, 3, 5, 8], &[2, 1, 5, 8], &[2, 1, 5, 8]],
            [&[2, 3, 5, 6], &[5, 6], &[1, 1, 5, 6]],
            [&[1, 4, 64], &[3, 1, 64], &[64]],
            [&[2], &[2], &[2]],
            [&[0, 4], &[1, 4], &[1, 4]],
        ];
        for dims in shapes {
            let width = *dims[0].last().unwrap();
            let [x, cos, sin] = [1, 2, 3].map(|seed| floats(dims[seed - 1].iter().product(), seed as u32));
            let offsets = reference_offsets(dims);
            for ranks in 1..=3 {
                let inputs = [&x, &cos, &sin].map(|data| bytemuck::cast_slice(data));
                let y: Vec<f32> = run_one(RotateHalf::new(dims), ranks, &inputs, offsets.len()).unwrap();
                for (index, (y, [at, c, s])) in y.iter().zip(&offsets).enumerate() {
                    let column = index % width;
                    let other = if column < width / 2 { -x[at + width / 2] } else { x[at - width / 2] };
                    let want = f64::from(x[*at]) * f64::from(cos[*c]) + f64::from(other) * f64::from(sin[*s]);
                    assert!((f64::from(*y) - want).abs() <= 2.0 * f64::from(f32::EPSILON), "{y} instead of {want}");
                }
            }
        }
    }
}
