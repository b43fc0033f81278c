//! Masks in the forms of attention operators, turned into the additive f32 bias that attention reads.

use std::fmt;
use std::marker::PhantomData;

use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::Element;

/// Elements that one rank takes at least.
const GRAIN: usize = 4096;

/// `y = 0` where the flag is positive, else `hidden`. Operands: flags `[elements]` -> y `[elements]` f32.
pub struct KeepToBias<T> {
    elements: usize,
    hidden: f32,
    _flag: PhantomData<fn(T)>,
}

impl<T: Element + PartialOrd> KeepToBias<T> {
    pub fn new(elements: usize, hidden: f32) -> Self {
        Self { elements, hidden, _flag: PhantomData }
    }
}

impl<T: Element> fmt::Display for KeepToBias<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keep_to_bias {} n={} hidden={}", T::DTYPE, self.elements, self.hidden)
    }
}

impl<T: Element + PartialOrd> Driver for KeepToBias<T> {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let share = worker.share(self.elements, GRAIN);
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<f32>(0).range(share.clone()) };
        for (y, flag) in y.iter_mut().zip(&io.input::<T>(0)[share]) {
            *y = if *flag > T::zeroed() { 0.0 } else { self.hidden };
        }
        Ok(())
    }
}

/// `y[b, t] = 0` where `start[b] <= t < end[b]`, else `hidden`.
///
/// Operands: bounds i32, the ends `[batch]` and then, when `starts` is set, the starts `[batch]` -> y `[batch, keys]` f32.
pub struct BoundsToBias {
    batch: usize,
    keys: usize,
    starts: bool,
    hidden: f32,
}

impl BoundsToBias {
    pub fn new(batch: usize, keys: usize, starts: bool, hidden: f32) -> Self {
        Self { batch, keys, starts, hidden }
    }
}

impl fmt::Display for BoundsToBias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bounds_to_bias b={} t={} starts={} hidden={}", self.batch, self.keys, self.starts, self.hidden)
    }
}

impl Driver for BoundsToBias {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let bounds = io.input::<i32>(0);
        let share = worker.share(self.batch, GRAIN.div_ceil(self.keys.max(1)));
        for batch in share {
            // SAFETY: shares of ranks are disjoint.
            let y = unsafe { io.output::<f32>(0).range(batch * self.keys..(batch + 1) * self.keys) };
            let position = |bound: i32| usize::try_from(bound).unwrap_or(0).min(self.keys);
            let start = if self.starts { position(bounds[self.batch + batch]) } else { 0 };
            let end = position(bounds[batch]);
            y.fill(self.hidden);
            if start < end {
                y[start..end].fill(0.0);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn flags_above_zero_stay_visible() {
        for ranks in 1..=3 {
            let y: Vec<f32> =
                testing::run_one(KeepToBias::<u8>::new(3, f32::NEG_INFINITY), ranks, &[&[0, 1, 0]], 3).unwrap();
            assert_eq!(y, [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY]);
            let flags = [-1i32, 0, 1, 7];
            let driver = KeepToBias::<i32>::new(4, -1e4);
            let y: Vec<f32> = testing::run_one(driver, ranks, &[bytemuck::cast_slice(&flags)], 4).unwrap();
            assert_eq!(y, [-1e4, -1e4, 0.0, 0.0]);
        }
    }

    #[test]
    fn positions_between_the_bounds_stay_visible() {
        let bounds = [2i32, 9, -1, 1, 0, -3];
        for (starts, expected) in [
            (false, [[0.0, 0.0, -5.0], [0.0, 0.0, 0.0], [-5.0, -5.0, -5.0]]),
            (true, [[-5.0, 0.0, -5.0], [0.0, 0.0, 0.0], [-5.0, -5.0, -5.0]]),
        ] {
            let driver = BoundsToBias::new(3, 3, starts, -5.0);
            let y: Vec<f32> = testing::run_one(driver, 2, &[bytemuck::cast_slice(&bounds)], 9).unwrap();
            assert_eq!(y, expected.concat());
        }
    }
}
