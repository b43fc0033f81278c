use std::cmp::Ordering;
use std::fmt;

use super::number::{Number, is_number, with_number};
use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;

/// The `k` largest or smallest elements along the middle axis of `[outer, len, inner]`, the best first. Among equals the one
/// with the lower index comes first; NaN counts as larger than every number.
///
/// Outputs: values and indices (i64), both `[outer, k, inner]`.
pub struct TopK {
    dtype: DType,
    outer: usize,
    len: usize,
    inner: usize,
    k: usize,
    largest: bool,
}

impl TopK {
    /// # Panics
    /// When `k` is above `len`, `len` does not fit 32 bits or `dtype` is not [supported](Self::supports).
    pub fn new(dtype: DType, [outer, len, inner]: [usize; 3], k: usize, largest: bool) -> Self {
        assert!(k <= len && u32::try_from(len).is_ok(), "{k} of {len} elements");
        assert!(Self::supports(dtype), "order of {dtype}");
        Self { dtype, outer, len, inner, k, largest }
    }

    /// f32 and the integers.
    pub fn supports(dtype: DType) -> bool {
        is_number(dtype)
    }

    fn find<T: Number>(&self, worker: &Worker<'_>, io: &Io<'_>, order: &mut [u32]) {
        let Self { len, inner, k, .. } = *self;
        let (x, values, indices) = (io.input::<T>(0), io.output::<T>(0), io.output::<i64>(1));
        for unit in worker.share(self.outer * inner, grain(len * size_of::<T>())) {
            let (outer, column) = (unit / inner, unit % inner);
            let value = |index: u32| x[(outer * len + index as usize) * inner + column];
            let better = |&a: &u32, &b: &u32| {
                let order = compare(value(a), value(b));
                if self.largest { order.reverse() } else { order }.then(a.cmp(&b))
            };
            order.iter_mut().zip(0..).for_each(|(slot, index)| *slot = index);
            if k < len {
                order.select_nth_unstable_by(k, better);
            }
            order[..k].sort_unstable_by(better);
            for (place, &index) in order[..k].iter().enumerate() {
                let at = (outer * k + place) * inner + column;
                // SAFETY: shares of ranks are disjoint, and each unit writes its own column.
                unsafe {
                    values.range(at..at + 1)[0] = value(index);
                    indices.range(at..at + 1)[0] = index.into();
                }
            }
        }
    }
}

/// A total order: NaN above all numbers.
fn compare<T: Number>(a: T, b: T) -> Ordering {
    let is_nan = |x: T| x.partial_cmp(&x).is_none();
    a.partial_cmp(&b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

impl fmt::Display for TopK {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, outer, len, inner, k, largest } = self;
        write!(f, "top_k {dtype} {outer}x{len}x{inner} k={k} largest={largest}")
    }
}

impl Driver for TopK {
    fn scratch(&self) -> usize {
        self.len * size_of::<u32>()
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        with_number!(self.dtype, T => self.find::<T>(worker, io, bytemuck::cast_slice_mut(scratch)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Element;
    use crate::testing::run;

    fn top<T: Element>(x: &[T], sizes: [usize; 3], k: usize, largest: bool) -> (Vec<T>, Vec<i64>) {
        let count = sizes[0] * k * sizes[2];
        let driver = TopK::new(T::DTYPE, sizes, k, largest);
        let outputs = run(driver, 2, &[bytemuck::cast_slice(x)], &[count * size_of::<T>(), count * 8]).unwrap();
        (bytemuck::cast_slice(&outputs[0]).to_vec(), bytemuck::cast_slice(&outputs[1]).to_vec())
    }

    #[test]
    fn equals_keep_their_order() {
        let x: Vec<i32> = (0..2 * 100 * 3).map(|i| (i * 7919) % 13).collect();
        for largest in [false, true] {
            for k in [0, 1, 17, 99, 100] {
                let (values, indices) = top(&x, [2, 100, 3], k, largest);
                for (outer, column) in [(0, 0), (0, 2), (1, 1)] {
                    let value = |index: usize| x[(outer * 100 + index) * 3 + column];
                    let mut order: Vec<usize> = (0..100).collect();
                    order.sort_by_key(|&index| if largest { -value(index) } else { value(index) });
                    for (place, &index) in order[..k].iter().enumerate() {
                        let at = (outer * k + place) * 3 + column;
                        assert_eq!((values[at], indices[at]), (value(index), index as i64), "{largest} {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn zeros_are_equal_and_nan_is_the_largest() {
        let x = [0.0f32, f32::NAN, -0.0, f32::INFINITY, 1.0];
        assert_eq!(top(&x, [1, 5, 1], 5, true).1, [1, 3, 4, 0, 2]);
        assert_eq!(top(&x, [1, 5, 1], 5, false).1, [0, 2, 4, 3, 1]);
    }
}
