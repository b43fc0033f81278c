use std::fmt;

use super::number::{Number, is_number, with_number};
use super::width::grain;
use super::window::Window;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;

/// What becomes of the elements that a window sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolOp {
    /// The largest one. NaN never is.
    Max,
    /// The mean of those in the image.
    Average,
    /// The mean of those in the image and in its padding, whose size behind each axis this is.
    AveragePadded([usize; 3]),
}

/// Slides a window over each of `planes` images of one channel. Input `[planes, spatial..]`, output `[planes, positions..]`.
pub struct Pool {
    op: PoolOp,
    dtype: DType,
    planes: usize,
    window: Window,
}

impl Pool {
    /// # Panics
    /// When `dtype` is not [supported](Self::supports).
    pub fn new(op: PoolOp, dtype: DType, planes: usize, window: Window) -> Self {
        assert!(Self::supports(op, dtype), "{op:?} of {dtype}");
        Self { op, dtype, planes, window }
    }

    /// f32; the largest also of integers.
    pub fn supports(op: PoolOp, dtype: DType) -> bool {
        dtype == DType::F32 || (op == PoolOp::Max && is_number(dtype))
    }

    /// Calls `line` for each line of the output of this rank: where it is, the image, and the line to write.
    fn each_line<T: Number>(&self, worker: &Worker<'_>, io: &Io<'_>, line: impl Fn([usize; 3], &[T], &mut [T])) {
        let [depth, height, width] = self.window.output();
        let (lines, inputs) = (depth * height, self.window.inputs());
        let cost = width * self.window.taps() * size_of::<T>();
        for unit in worker.share(self.planes * lines, grain(cost)) {
            let at = Window::split(unit % lines * width, self.window.output());
            let image = &io.input::<T>(0)[unit / lines * inputs..][..inputs];
            // SAFETY: shares of ranks are disjoint, and each unit is another line of the output.
            let y = unsafe { io.output::<T>(0).range(unit * width..(unit + 1) * width) };
            vectorised(
                #[inline(always)]
                || line(at, image, y),
            );
        }
    }

    /// Combines each element of a line with those that its window sees.
    #[inline(always)]
    fn fold<T: Number>(&self, at: [usize; 3], image: &[T], line: &mut [T], f: impl Fn(T, T) -> T) {
        let stride = self.window.axes[2].stride;
        self.window.taps_of_line(at, |_, positions, from| {
            let (line, seen) = (&mut line[positions], &image[from..]);
            if stride == 1 {
                line.iter_mut().zip(seen).for_each(|(y, &x)| *y = f(*y, x));
            } else {
                line.iter_mut().zip(seen.iter().step_by(stride)).for_each(|(y, &x)| *y = f(*y, x));
            }
        });
    }

    fn max<T: Number>(&self, worker: &Worker<'_>, io: &Io<'_>, lowest: T) {
        self.each_line::<T>(worker, io, |at, image, line| {
            line.fill(lowest);
            self.fold(at, image, line, |y, x| if x > y { x } else { y });
        });
    }

    fn average(&self, worker: &Worker<'_>, io: &Io<'_>, behind: Option<[usize; 3]>) {
        self.each_line::<f32>(worker, io, |at, image, line| {
            line.fill(0.0);
            self.fold(at, image, line, |y, x| y + x);
            let lines = self.counted(0, at[0], behind) * self.counted(1, at[1], behind);
            for (position, y) in line.iter_mut().enumerate() {
                *y /= (lines * self.counted(2, position, behind)) as f32;
            }
        });
    }

    /// Taps of the window at `position` of an axis that lie in the image or, when it counts, in the padding.
    fn counted(&self, axis: usize, position: usize, behind: Option<[usize; 3]>) -> usize {
        let window = &self.window.axes[axis];
        let inside = |&tap: &usize| match behind {
            None => window.source(position, tap).is_some(),
            Some(behind) => position * window.stride + tap * window.dilation < window.input + window.pad + behind[axis],
        };
        (0..window.kernel).filter(inside).count()
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { op, dtype, planes, window } = self;
        write!(f, "pool {op:?} {dtype} planes={planes} {window}")
    }
}

impl Driver for Pool {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        match (self.op, self.dtype) {
            (PoolOp::Max, DType::F32) => self.max(worker, io, f32::NEG_INFINITY),
            (PoolOp::Max, dtype) => with_number!(dtype, T => self.max(worker, io, T::LOWEST)),
            (PoolOp::Average, _) => self.average(worker, io, None),
            (PoolOp::AveragePadded(behind), _) => self.average(worker, io, Some(behind)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::window::WindowAxis;
    use crate::testing::{floats, run_one};

    /// The elements that the window at position `at` sees, by its definition.
    fn seen<'a>(axes: &'a [WindowAxis; 3], image: &'a [f32], at: [usize; 3]) -> impl Iterator<Item = f32> + 'a {
        let kernel = axes.map(|axis| axis.kernel);
        let taps = (0..kernel.iter().product())
            .map(move |tap: usize| [tap / (kernel[1] * kernel[2]), tap / kernel[2] % kernel[1], tap % kernel[2]]);
        taps.filter_map(move |tap| {
            let place = |i: usize| (at[i] * axes[i].stride + tap[i] * axes[i].dilation).wrapping_sub(axes[i].pad);
            let inside = (0..3).all(|i| place(i) < axes[i].input);
            inside.then(|| image[(place(0) * axes[1].input + place(1)) * axes[2].input + place(2)])
        })
    }

    #[test]
    fn windows_of_all_kinds() {
        let axis =
            |input, kernel, output, stride, dilation, pad| WindowAxis { input, kernel, output, stride, dilation, pad };
        let one = axis(1, 1, 1, 1, 1, 0);
        for axes in [
            [one, one, axis(9, 3, 7, 1, 1, 0)],
            [one, axis(7, 3, 7, 1, 1, 1), axis(40, 2, 21, 2, 1, 1)],
            [one, axis(8, 3, 3, 3, 1, 0), axis(9, 2, 4, 2, 2, 1)],
            [axis(4, 2, 3, 1, 1, 0), axis(5, 3, 5, 1, 1, 1), axis(6, 2, 3, 2, 1, 0)],
        ] {
            let window = Window::new(&axes);
            let (inputs, positions, planes) = (window.inputs(), window.positions(), 3);
            let x = floats(planes * inputs, 1);
            let behind = [0, 1, 0];
            for op in [PoolOp::Max, PoolOp::Average, PoolOp::AveragePadded(behind)] {
                let driver = Pool::new(op, DType::F32, planes, window);
                let what = driver.to_string();
                let y = run_one::<f32>(driver, 3, &[bytemuck::cast_slice(&x)], planes * positions).unwrap();
                for (index, &y) in y.iter().enumerate() {
                    let image = &x[index / positions * inputs..][..inputs];
                    let at = Window::split(index % positions, window.output());
                    let padded = |i: usize| {
                        let end = axes[i].input + axes[i].pad + behind[i];
                        (0..axes[i].kernel).filter(|tap| at[i] * axes[i].stride + tap * axes[i].dilation < end).count()
                    };
                    let sum: f64 = seen(&axes, image, at).map(f64::from).sum();
                    let expected = match op {
                        PoolOp::Max => seen(&axes, image, at).fold(f32::NEG_INFINITY, f32::max).into(),
                        PoolOp::Average => sum / seen(&axes, image, at).count() as f64,
                        PoolOp::AveragePadded(_) => sum / (padded(0) * padded(1) * padded(2)) as f64,
                    };
                    assert!((f64::from(y) - expected).abs() < 1e-6, "{what}: element {index} is {y}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn the_largest_integer() {
        let window = Window::new(&[WindowAxis { input: 4, kernel: 2, output: 3, stride: 1, dilation: 1, pad: 0 }]);
        let driver = Pool::new(PoolOp::Max, DType::I8, 1, window);
        let x = [-128i8, -128, 7, 3];
        assert_eq!(run_one::<i8>(driver, 2, &[bytemuck::cast_slice(&x)], 3).unwrap(), [-128, 7, 7]);
    }
}
