use std::ops::Range;

use smallvec::SmallVec;

use crate::host::PANEL;
use crate::ops::window::Window;

/// Neighbouring positions on one line of the output.
struct Run {
    /// Depth, height and width of the first one.
    at: [usize; 3],
    /// Its column among those gathered.
    column: usize,
    len: usize,
}

/// Gathers what the windows at `positions` see of `image` (`[channels, inputs]`), each window a column:
/// `columns[(channel * taps + tap) * width + i]` is what window `positions.start + i` sees under `tap`, `outside` where it
/// leaves the image. `columns` has a row for each tap of each channel, as long as `positions`.
pub(super) fn gather<T: Copy>(image: &[T], window: &Window, positions: Range<usize>, outside: T, columns: &mut [T]) {
    let runs = runs(window, &positions);
    let stride = window.axes[2].stride;
    for (index, row) in columns.chunks_exact_mut(positions.len()).enumerate() {
        let channel = &image[index / window.taps() * window.inputs()..][..window.inputs()];
        for run in &runs {
            let out = &mut row[run.column..run.column + run.len];
            let (seen, from) = run.seen(window, index % window.taps());
            out[..seen.start].fill(outside);
            out[seen.end..].fill(outside);
            if !seen.is_empty() {
                copy(&channel[from..], stride, &mut out[seen]);
            }
        }
    }
}

/// The adjoint of [`gather`]: adds what stands in the column of each of the windows at `positions` to the elements of `image`
/// that the window sees.
pub(super) fn scatter(columns: &[f32], width: usize, window: &Window, positions: Range<usize>, image: &mut [f32]) {
    let runs = runs(window, &positions);
    let stride = window.axes[2].stride;
    for (index, row) in columns.chunks_exact(width).enumerate() {
        let channel = &mut image[index / window.taps() * window.inputs()..][..window.inputs()];
        for run in &runs {
            let (seen, from) = run.seen(window, index % window.taps());
            let values = &row[run.column..run.column + run.len][seen];
            channel[from..].iter_mut().step_by(stride).zip(values).for_each(|(y, x)| *y += x);
        }
    }
}

impl Run {
    /// The windows of the run that see the image under tap `index`, and the element that the first of them sees.
    fn seen(&self, window: &Window, index: usize) -> (Range<usize>, usize) {
        let (tap, across) = (Window::split(index, window.kernel()), &window.axes[2]);
        let Some(line) = window.line(self.at, tap) else { return (0..0, 0) };
        let (inside, start, end) = (across.inside(tap[2]), self.at[2], self.at[2] + self.len);
        let first = inside.start.clamp(start, end);
        let last = inside.end.clamp(first, end);
        if first == last {
            return (0..0, 0);
        }
        (first - start..last - start, line + first * across.stride + tap[2] * across.dilation - across.pad)
    }
}

/// `out[i] = from[i * stride]`.
fn copy<T: Copy>(from: &[T], stride: usize, out: &mut [T]) {
    if stride == 1 {
        out.copy_from_slice(&from[..out.len()]);
    } else {
        out.iter_mut().zip(from.iter().step_by(stride)).for_each(|(y, x)| *y = *x);
    }
}

/// The lines of the output that `positions` lie on. A strip has [`PANEL`] positions at most, so nothing is allocated.
fn runs(window: &Window, positions: &Range<usize>) -> SmallVec<[Run; PANEL]> {
    let output = window.output();
    let mut runs = SmallVec::new();
    let mut next = positions.start;
    while next < positions.end {
        let at = Window::split(next, output);
        let len = (output[2] - at[2]).min(positions.end - next);
        runs.push(Run { at, column: next - positions.start, len });
        next += len;
    }
    runs
}
