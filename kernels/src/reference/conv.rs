/// One spatial axis of a convolution.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub input: usize,
    pub kernel: usize,
    pub output: usize,
    pub stride: usize,
    pub dilation: usize,
    pub pad: usize,
}

/// Convolution over three spatial axes in f64, by its definition: `x` is `[batch, groups * channels, spatial..]`, `w`
/// `[groups * filters, channels, kernel..]`; `sizes` are batch, groups, channels and filters, the last two of one group.
pub fn conv(x: &[f64], w: &[f64], sizes: [usize; 4], axes: [Axis; 3]) -> Vec<f64> {
    let [batch, groups, channels, filters] = sizes;
    let total = |size: fn(&Axis) -> usize| axes.iter().map(size).product::<usize>();
    let (inputs, taps, outputs) = (total(|a| a.input), total(|a| a.kernel), total(|a| a.output));
    let place = |index: usize, size: fn(&Axis) -> usize| {
        [index / (size(&axes[1]) * size(&axes[2])), index / size(&axes[2]) % size(&axes[1]), index % size(&axes[2])]
    };
    let mut y = Vec::with_capacity(batch * groups * filters * outputs);
    for index in 0..batch * groups * filters * outputs {
        let (plane, position) = (index / outputs, place(index % outputs, |a| a.output));
        let (image, filter) = (plane / (groups * filters), plane % (groups * filters));
        let mut sum = 0.0;
        for channel in 0..channels {
            for tap in 0..taps {
                let at = place(tap, |a| a.kernel);
                let source = |i: usize| {
                    let seen =
                        (position[i] * axes[i].stride + at[i] * axes[i].dilation) as isize - axes[i].pad as isize;
                    usize::try_from(seen).ok().filter(|&seen| seen < axes[i].input)
                };
                if let (Some(z), Some(row), Some(column)) = (source(0), source(1), source(2)) {
                    let source = (z * axes[1].input + row) * axes[2].input + column;
                    let plane = (image * groups + filter / filters) * channels + channel;
                    sum += x[plane * inputs + source] * w[(filter * channels + channel) * taps + tap];
                }
            }
        }
        y.push(sum);
    }
    y
}

/// The adjoint of [`conv`] in f64: each element of `x`, an output of the convolution, adds its filter to what its window sees.
pub fn conv_transpose(x: &[f64], w: &[f64], sizes: [usize; 4], axes: [Axis; 3]) -> Vec<f64> {
    let [batch, groups, channels, filters] = sizes;
    let total = |size: fn(&Axis) -> usize| axes.iter().map(size).product::<usize>();
    let (inputs, taps, outputs) = (total(|a| a.input), total(|a| a.kernel), total(|a| a.output));
    let mut y = vec![0.0; batch * groups * channels * inputs];
    for (index, x) in x.iter().enumerate() {
        let (plane, position) = (index / outputs, index % outputs);
        let (image, filter) = (plane / (groups * filters), plane % (groups * filters));
        for (channel, tap) in (0..channels * taps).map(|at| (at / taps, at % taps)) {
            let (mut rest, mut window, mut source, mut stride) = (position, tap, Some(0), 1);
            for axis in axes.iter().rev() {
                let seen = rest % axis.output * axis.stride + window % axis.kernel * axis.dilation;
                let at = seen.checked_sub(axis.pad).filter(|&at| at < axis.input);
                source = source.zip(at).map(|(source, at)| source + at * stride);
                (rest, window, stride) = (rest / axis.output, window / axis.kernel, stride * axis.input);
            }
            if let Some(source) = source {
                let plane = (image * groups + filter / filters) * channels + channel;
                y[plane * inputs + source] += x * w[(filter * channels + channel) * taps + tap];
            }
        }
    }
    y
}
