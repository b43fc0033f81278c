//! Windows that slide over the spatial axes of an image, as convolutions and poolings have them.

use std::ops::Range;

/// One spatial axis: window `position` sees, under its `tap`, the element `position * stride + tap * dilation - pad`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowAxis {
    /// Elements of the image.
    pub input: usize,
    /// Taps of the window.
    pub kernel: usize,
    /// Positions of the window.
    pub output: usize,
    pub stride: usize,
    pub dilation: usize,
    /// Elements by which the first window begins before the image.
    pub pad: usize,
}

impl WindowAxis {
    /// An axis of one element.
    const POINT: Self = Self { input: 1, kernel: 1, output: 1, stride: 1, dilation: 1, pad: 0 };

    /// The element of the image, `None` when it lies outside.
    pub(crate) fn source(&self, position: usize, tap: usize) -> Option<usize> {
        (position * self.stride + tap * self.dilation).checked_sub(self.pad).filter(|&at| at < self.input)
    }

    /// The positions whose `tap` lies in the image.
    pub(crate) fn inside(&self, tap: usize) -> Range<usize> {
        let offset = tap * self.dilation;
        let first = self.pad.saturating_sub(offset).div_ceil(self.stride).min(self.output);
        let end = (self.input + self.pad).saturating_sub(offset).div_ceil(self.stride).min(self.output);
        first..end.max(first)
    }
}

/// Up to three spatial axes: depth, height, width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub(crate) axes: [WindowAxis; 3],
}

impl Window {
    /// Spatial axes that a window may have.
    pub const MAX_AXES: usize = 3;

    /// A window over `axes`, outermost first.
    ///
    /// # Panics
    /// When there are more than [`Window::MAX_AXES`].
    pub fn new(axes: &[WindowAxis]) -> Self {
        let mut all = [WindowAxis::POINT; Self::MAX_AXES];
        all[Self::MAX_AXES - axes.len()..].copy_from_slice(axes);
        Self { axes: all }
    }

    /// Elements of the image in one channel.
    pub fn inputs(&self) -> usize {
        self.axes.iter().map(|axis| axis.input).product()
    }

    /// Elements of the window.
    pub fn taps(&self) -> usize {
        self.axes.iter().map(|axis| axis.kernel).product()
    }

    /// Positions of the window: elements of one channel of the output.
    pub fn positions(&self) -> usize {
        self.axes.iter().map(|axis| axis.output).product()
    }

    /// Whether each window is one element, in order, so that the image is the matrix of its windows.
    pub(crate) fn is_plain(&self) -> bool {
        self.axes.iter().all(|axis| axis.kernel == 1 && axis.stride == 1 && axis.pad == 0 && axis.input == axis.output)
    }

    /// Depth and height of position or tap `index` among `sizes`, and its place on the last axis.
    pub(crate) fn split(index: usize, sizes: [usize; 3]) -> [usize; 3] {
        [index / (sizes[1] * sizes[2]), index / sizes[2] % sizes[1], index % sizes[2]]
    }

    /// Sizes of the kernel on each axis.
    pub(crate) fn kernel(&self) -> [usize; 3] {
        self.axes.map(|axis| axis.kernel)
    }

    /// Sizes of the output on each axis.
    pub(crate) fn output(&self) -> [usize; 3] {
        self.axes.map(|axis| axis.output)
    }

    /// Calls `see` for each tap under which windows on the line of the output at `at` see the image: the tap, their positions
    /// on the line, and the element that the first of them sees; the next ones see every `stride`-th behind it.
    #[inline(always)]
    pub(crate) fn taps_of_line(&self, at: [usize; 3], mut see: impl FnMut(usize, Range<usize>, usize)) {
        let across = &self.axes[2];
        for index in 0..self.taps() {
            let tap = Self::split(index, self.kernel());
            let inside = across.inside(tap[2]);
            if let (Some(line), false) = (self.line(at, tap), inside.is_empty()) {
                let from = line + inside.start * across.stride + tap[2] * across.dilation - across.pad;
                see(index, inside, from);
            }
        }
    }

    /// First element of the image's line that `tap` sees from a window at `depth` and `height`; `None` outside.
    pub(crate) fn line(&self, [depth, height, _]: [usize; 3], [tap_depth, tap_height, _]: [usize; 3]) -> Option<usize> {
        let depth = self.axes[0].source(depth, tap_depth)?;
        let height = self.axes[1].source(height, tap_height)?;
        Some((depth * self.axes[1].input + height) * self.axes[2].input)
    }
}

/// e.g. `3x3/2 224x224`
impl std::fmt::Display for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sizes = |sizes: [usize; 3]| sizes.map(|size| size.to_string()).join("x");
        write!(f, "{}/{}", sizes(self.kernel()), sizes(self.axes.map(|axis| axis.stride)))?;
        write!(f, " {}", sizes(self.axes.map(|axis| axis.input)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_inside_are_those_with_a_source() {
        for input in [1, 2, 5] {
            for kernel in 1..=3 {
                for (stride, dilation, pad) in [(1, 1, 0), (1, 1, 1), (2, 1, 2), (3, 2, 4), (1, 3, 9), (7, 1, 0)] {
                    let axis = WindowAxis { input, kernel, output: 6, stride, dilation, pad };
                    for tap in 0..kernel {
                        let expected: Vec<usize> = (0..6).filter(|&at| axis.source(at, tap).is_some()).collect();
                        assert_eq!(axis.inside(tap).collect::<Vec<_>>(), expected, "{axis:?} {tap}");
                    }
                }
            }
        }
    }
}
