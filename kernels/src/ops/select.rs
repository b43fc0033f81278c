use std::fmt;
use std::ops::Range;

use super::broadcast::Broadcast;
use super::width::{grain, with_width};
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::{DType, Element};
use crate::vector;

/// `y = condition ? a : b` with NumPy broadcasting; inputs: a bool `condition`, `a` and `b` of any one dtype.
pub struct Select {
    dtype: DType,
    plan: Broadcast<3>,
}

impl Select {
    /// # Panics
    /// When the dims do not broadcast.
    pub fn new(dtype: DType, condition: &[usize], a: &[usize], b: &[usize]) -> Self {
        Self { dtype, plan: Broadcast::new([condition, a, b]) }
    }

    fn compute<T: Element>(&self, worker: &Worker<'_>, io: &Io<'_>) {
        let share = worker.share(self.plan.len(), grain(size_of::<T>()));
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { io.output::<T>(0).range(share.clone()) };
        let (condition, a, b) = (io.input::<u8>(0), io.input::<T>(1), io.input::<T>(2));
        if let Some(vectors) = vector::Select::new(worker, size_of::<T>()) {
            return self.select_in_vectors(&vectors, share, condition, a, b, y);
        }
        vectorised(
            #[inline(always)]
            || self.select(share, condition, a, b, y),
        );
    }

    fn select_in_vectors<T: Element>(
        &self,
        vectors: &vector::Select<'_>,
        share: Range<usize>,
        condition: &[u8],
        a: &[T],
        b: &[T],
        y: &mut [T],
    ) {
        let [one_condition, one_a, one_b] = self.plan.repeats();
        self.plan.for_each_row(share, |row, [c, i, j]| {
            let y = &mut y[row];
            let len = |repeats: bool| if repeats { 1 } else { y.len() };
            let (a, b) = (&a[i..i + len(one_a)], &b[j..j + len(one_b)]);
            if !one_condition {
                return vectors.map(&condition[c..c + len(false)], a, b, y);
            }
            match if condition[c] != 0 { a } else { b } {
                [only] => y.fill(*only),
                all => y.copy_from_slice(all),
            }
        });
    }

    #[inline(always)]
    fn select<T: Element>(&self, share: Range<usize>, condition: &[u8], a: &[T], b: &[T], y: &mut [T]) {
        let [one_condition, one_a, one_b] = self.plan.repeats();
        self.plan.for_each_row(share, |row, [c, i, j]| {
            let y = &mut y[row];
            let len = y.len();
            if one_condition {
                let (from, at, repeats) = if condition[c] != 0 { (a, i, one_a) } else { (b, j, one_b) };
                if repeats {
                    y.fill(from[at])
                } else {
                    y.copy_from_slice(&from[at..at + len])
                }
                return;
            }
            let rows = y.iter_mut().zip(&condition[c..c + len]);
            match (one_a, one_b) {
                (false, false) => rows
                    .zip(a[i..i + len].iter().zip(&b[j..j + len]))
                    .for_each(|((y, &c), (&a, &b))| *y = if c != 0 { a } else { b }),
                (false, true) => {
                    let b = b[j];
                    rows.zip(&a[i..i + len]).for_each(|((y, &c), &a)| *y = if c != 0 { a } else { b });
                }
                (true, false) => {
                    let a = a[i];
                    rows.zip(&b[j..j + len]).for_each(|((y, &c), &b)| *y = if c != 0 { a } else { b });
                }
                (true, true) => {
                    let (a, b) = (a[i], b[j]);
                    rows.for_each(|(y, &c)| *y = if c != 0 { a } else { b });
                }
            }
        });
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "select {} dims={:?}", self.dtype, self.plan.dims())
    }
}

impl Driver for Select {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        with_width!(self.dtype, T => self.compute::<T>(worker, io));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::broadcast::reference_offsets;
    use crate::testing::run_one;

    fn check<T: Element + PartialEq + fmt::Debug>(dtype: DType, of: impl Fn(usize) -> T) {
        let shapes: &[&[usize]] = &[&[], &[7], &[5, 1], &[5, 7], &[3, 1, 1], &[3, 5, 7], &[1, 1, 1]];
        for &c_dims in shapes {
            for &a_dims in shapes {
                for &b_dims in shapes {
                    let len = |dims: &[usize]| dims.iter().product::<usize>();
                    let condition: Vec<u8> = (0..len(c_dims)).map(|i| (i * i % 3 == 1).into()).collect();
                    let a: Vec<T> = (0..len(a_dims)).map(&of).collect();
                    let b: Vec<T> = (0..len(b_dims)).map(|i| of(i + 1000)).collect();
                    let offsets = reference_offsets([c_dims, a_dims, b_dims]);
                    let want: Vec<T> =
                        offsets.iter().map(|&[c, i, j]| if condition[c] != 0 { a[i] } else { b[j] }).collect();
                    let inputs = [&condition, bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)];
                    let got: Vec<T> =
                        run_one(Select::new(dtype, c_dims, a_dims, b_dims), 2, &inputs, want.len()).unwrap();
                    assert_eq!(got, want, "{dtype} {c_dims:?} {a_dims:?} {b_dims:?}");
                }
            }
        }
    }

    #[test]
    fn every_broadcast_and_width() {
        check::<u8>(DType::Bool, |i| (i % 2) as u8);
        check::<u16>(DType::F16, |i| i as u16);
        check::<f32>(DType::F32, |i| i as f32 + 0.5);
        check::<i64>(DType::I64, |i| -(i as i64) << 33);
    }

    #[test]
    fn empty_and_long() {
        let empty = run_one::<f32>(
            Select::new(DType::F32, &[0, 3], &[3], &[]),
            2,
            &[&[], bytemuck::cast_slice(&[0f32; 3]), bytemuck::cast_slice(&[0f32])],
            0,
        );
        assert_eq!(empty.unwrap(), [0f32; 0]);
        let condition: Vec<u8> = (0..20_000).map(|i| (i % 2) as u8).collect();
        let a: Vec<f32> = (0..20_000).map(|i| i as f32).collect();
        let inputs = [condition.as_slice(), bytemuck::cast_slice(&a), bytemuck::bytes_of(&f32::NEG_INFINITY)];
        let got = run_one::<f32>(Select::new(DType::F32, &[20_000], &[20_000], &[]), 3, &inputs, 20_000).unwrap();
        for (i, y) in got.into_iter().enumerate() {
            assert_eq!(y, if i % 2 == 1 { i as f32 } else { f32::NEG_INFINITY });
        }
    }
}
