//! Attributes of the operators whose windows slide over spatial axes.

use kernels::ops::window::{Window, WindowAxis};

use super::{Code, Decline, Lower};
use crate::plan::BindError;

/// What these attributes and the sizes of an image make of its axes.
pub(super) struct WindowAttrs {
    auto_pad: AutoPad,
    kernel: Option<Vec<usize>>,
    strides: Option<Vec<usize>>,
    dilations: Option<Vec<usize>>,
    /// Begins, then ends.
    pads: Option<Vec<usize>>,
    /// A last window may hang over the end.
    ceil: bool,
    /// Of transposed convolutions.
    output_padding: Option<Vec<usize>>,
    output_shape: Option<Vec<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AutoPad {
    NotSet,
    Valid,
    SameUpper,
    SameLower,
}

impl WindowAttrs {
    /// # Errors
    /// Declines an image whose rank is unknown or has more than three spatial axes, and values out of range.
    pub fn lower(cx: &Lower<'_, '_>) -> Result<Self, Decline> {
        let rank = cx.rank(0).ok_or_else(|| Decline::new(Code::Rank, "the rank of input 0 is not known"))?;
        if !(3..=2 + Window::MAX_AXES).contains(&rank) {
            return Err(Decline::new(Code::Rank, format!("an input of rank {rank} is not supported")));
        }
        let auto_pad = match cx.attr_str("auto_pad", "NOTSET")? {
            "NOTSET" => AutoPad::NotSet,
            "VALID" => AutoPad::Valid,
            "SAME_UPPER" => AutoPad::SameUpper,
            "SAME_LOWER" => AutoPad::SameLower,
            other => return Err(Decline::new(Code::Attribute, format!("auto_pad '{other}' is not known"))),
        };
        let axes = rank - 2;
        Ok(Self {
            auto_pad,
            kernel: sizes(cx, "kernel_shape", axes, 1)?,
            strides: sizes(cx, "strides", axes, 1)?,
            dilations: sizes(cx, "dilations", axes, 1)?,
            pads: sizes(cx, "pads", 2 * axes, 0)?,
            ceil: cx.attr_bool("ceil_mode", false)?,
            output_padding: sizes(cx, "output_padding", axes, 0)?,
            output_shape: sizes(cx, "output_shape", axes, 1)?,
        })
    }

    /// The kernel, which operators without filters must have.
    ///
    /// # Errors
    /// Declines when it is missing.
    pub fn kernel(&self) -> Result<&[usize], Decline> {
        self.kernel.as_deref().ok_or_else(|| Decline::new(Code::Attribute, "'kernel_shape' is missing"))
    }

    /// The axes of an image of sizes `image` under a window of sizes `kernel`, and the padding behind each.
    ///
    /// # Errors
    /// When the window does not fit into the padded image or another one is given as an attribute.
    pub fn axes(&self, image: &[usize], kernel: &[usize]) -> Result<Vec<(WindowAxis, usize)>, BindError> {
        self.check(image, kernel)?;
        (0..image.len()).map(|axis| self.axis(axis, image[axis], kernel[axis], image.len())).collect()
    }

    /// The axes of the output of a transposed convolution of an image of sizes `image`: windows of sizes `kernel` whose
    /// positions are the elements of the image.
    ///
    /// # Errors
    /// As [`Self::axes`], and when nothing is left of the output.
    pub fn transposed_axes(&self, image: &[usize], kernel: &[usize]) -> Result<Vec<WindowAxis>, BindError> {
        self.check(image, kernel)?;
        (0..image.len()).map(|axis| self.transposed_axis(axis, image[axis], kernel[axis], image.len())).collect()
    }

    fn transposed_axis(&self, axis: usize, len: usize, kernel: usize, axes: usize) -> Result<WindowAxis, BindError> {
        let (stride, dilation) = (at(&self.strides, axis, 1), at(&self.dilations, axis, 1));
        let wrong =
            || BindError::new(format!("{len} windows of {kernel} taps do not make the output that is asked for"));
        let reach = |count: usize, step: usize| count.checked_sub(1).and_then(|steps| steps.checked_mul(step));
        let padding = at(&self.output_padding, axis, 0);
        let whole = reach(len, stride)
            .zip(reach(kernel, dilation))
            .and_then(|(a, b)| a.checked_add(b)?.checked_add(1 + padding));
        let whole = whole.ok_or_else(wrong)?;
        let same = matches!(self.auto_pad, AutoPad::SameUpper | AutoPad::SameLower);
        let asked = self.output_shape.as_ref().map(|sizes| sizes[axis]).or_else(|| same.then_some(len * stride));
        let (pad, output) = match asked {
            Some(output) => {
                let total = whole.saturating_sub(output);
                let small = total / 2;
                (if self.auto_pad == AutoPad::SameUpper { small } else { total - small }, output)
            }
            None if self.auto_pad == AutoPad::Valid => (0, whole),
            None => {
                let (before, behind) = (at(&self.pads, axis, 0), at(&self.pads, axes + axis, 0));
                (before, whole.checked_sub(before + behind).filter(|&output| output > 0).ok_or_else(wrong)?)
            }
        };
        Ok(WindowAxis { input: output, kernel, output: len, stride, dilation, pad })
    }

    /// Checks that the lists of sizes are as long as those of the image, and that the window is the one of the attribute.
    fn check(&self, image: &[usize], kernel: &[usize]) -> Result<(), BindError> {
        let fits = |sizes: &Option<Vec<usize>>| sizes.as_ref().is_none_or(|sizes| sizes.len() == image.len());
        let same = self.kernel.as_ref().is_none_or(|sizes| sizes.as_slice() == kernel);
        if image.len() != kernel.len() || !same || !fits(&self.strides) {
            let given = &self.kernel;
            return Err(BindError::new(format!(
                "a window of {kernel:?} ({given:?}) does not fit an image of {image:?}"
            )));
        }
        Ok(())
    }

    fn axis(&self, axis: usize, input: usize, kernel: usize, axes: usize) -> Result<(WindowAxis, usize), BindError> {
        let (stride, dilation) = (at(&self.strides, axis, 1), at(&self.dilations, axis, 1));
        let wrong = || BindError::new(format!("a window of {kernel} taps does not fit an axis of {input} elements"));
        let span =
            kernel.checked_sub(1).and_then(|steps| steps.checked_mul(dilation)?.checked_add(1)).ok_or_else(wrong)?;
        let (pad, behind) = match self.auto_pad {
            AutoPad::NotSet => (at(&self.pads, axis, 0), at(&self.pads, axes + axis, 0)),
            AutoPad::Valid => (0, 0),
            AutoPad::SameUpper | AutoPad::SameLower => {
                let last = (input.div_ceil(stride).saturating_sub(1)) * stride;
                let total = (last + span).saturating_sub(input);
                let small = total / 2;
                if self.auto_pad == AutoPad::SameUpper { (small, total - small) } else { (total - small, small) }
            }
        };
        let free =
            input.checked_add(pad).and_then(|size| size.checked_add(behind)?.checked_sub(span)).ok_or_else(wrong)?;
        let mut output = free / stride + 1;
        // A window that would begin behind the image sees nothing of it and is left out.
        if self.ceil && !free.is_multiple_of(stride) && output * stride < input + pad {
            output += 1;
        }
        Ok((WindowAxis { input, kernel, output, stride, dilation, pad }, behind))
    }
}

/// Element `index` of a list that may be absent.
fn at(sizes: &Option<Vec<usize>>, index: usize, default: usize) -> usize {
    sizes.as_ref().map_or(default, |sizes| sizes[index])
}

/// Attribute `name`: `count` sizes of at least `least`.
fn sizes(cx: &Lower<'_, '_>, name: &str, count: usize, least: usize) -> Result<Option<Vec<usize>>, Decline> {
    let Some(values) = cx.attr_ints(name)? else { return Ok(None) };
    let size = |&value: &i64| u32::try_from(value).ok().map(|value| value as usize).filter(|&value| value >= least);
    let sizes: Option<Vec<usize>> = values.iter().map(size).collect();
    match sizes.filter(|sizes| sizes.len() == count) {
        Some(sizes) => Ok(Some(sizes)),
        None => {
            Err(Decline::new(Code::Attribute, format!("'{name}' is {values:?}, not {count} sizes of {least} or more")))
        }
    }
}
