use std::fmt;

use super::indices::{Indices, wrap};
use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::rt::Worker;
use crate::tape::Io;
use crate::tensor::DType;

/// `out[o, i, ..] = (data[o, indices[i], ..] - zero_point) * scale` for data `[outer, axis, inner]` of 2, 4 or 8 bits, indices
/// `[count]`, out `[outer, count, inner]` in f32. Where an index is out of bounds, the output is 0.
///
/// Seen by the axis along which they are quantised, the data are `[blocked_outer, blocked_axis, blocked_inner]`, with scales
/// and zero points `[blocked_outer, ceil(blocked_axis / block), blocked_inner]`.
///
/// Operands: data (bytes, the first element in the low bits), indices, scales (f32), zero points (f32).
pub struct GatherNBits {
    pub bits: usize,
    /// Elements are in two's complement.
    pub signed: bool,
    /// `I32` or `I64`.
    pub index: DType,
    pub outer: usize,
    pub axis: usize,
    pub inner: usize,
    pub count: usize,
    pub blocked_axis: usize,
    pub blocked_inner: usize,
    pub block: usize,
}

impl GatherNBits {
    /// Element `index` of `data`.
    fn code(&self, data: &[u8], index: usize) -> f32 {
        let bit = index * self.bits;
        let unused = 8 - self.bits;
        let top = data[bit / 8] << (unused - bit % 8);
        if self.signed { f32::from((top as i8) >> unused) } else { f32::from(top >> unused) }
    }

    /// The scale and zero point of element `index`.
    fn parameter(&self, index: usize) -> usize {
        let (row, column) = (index / self.blocked_inner, index % self.blocked_inner);
        let (outer, depth) = (row / self.blocked_axis, row % self.blocked_axis);
        let blocks = self.blocked_axis.div_ceil(self.block);
        (outer * blocks + depth / self.block) * self.blocked_inner + column
    }

    /// How many elements from `index` on have one parameter, or neighbouring ones, and the step between those: 0 or 1.
    fn span(&self, index: usize) -> (usize, usize) {
        if self.blocked_inner > 1 {
            return (self.blocked_inner - index % self.blocked_inner, 1);
        }
        let depth = index % self.blocked_axis;
        (self.block.min(self.blocked_axis) - depth % self.block, 0)
    }
}

impl fmt::Display for GatherNBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bits, outer, axis, inner, count, block, .. } = self;
        write!(f, "gather_nbits bits={bits} outer={outer} axis={axis} inner={inner} count={count} block={block}")
    }
}

impl Driver for GatherNBits {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let inner = self.inner;
        let share = worker.share(self.outer * self.count, grain(inner * size_of::<f32>()));
        let (data, indices) = (io.input::<u8>(0), Indices::of(io, 1, self.index));
        let (scales, zero_points) = (io.input::<f32>(2), io.input::<f32>(3));
        // SAFETY: shares of ranks are disjoint.
        let out = unsafe { io.output::<f32>(0).range(share.start * inner..share.end * inner) };
        for (row, out) in share.zip(out.chunks_mut(inner.max(1))) {
            let Some(index) = wrap(indices.get(row % self.count), self.axis) else {
                out.fill(0.0);
                continue;
            };
            let first = (row / self.count * self.axis + index) * inner;
            let mut done = 0;
            while done < inner {
                let (len, step) = self.span(first + done);
                let parameter = self.parameter(first + done);
                let end = (done + len).min(inner);
                for (place, out) in out[done..end].iter_mut().enumerate() {
                    let parameter = parameter + place * step;
                    *out = (self.code(data, first + done + place) - zero_points[parameter]) * scales[parameter];
                }
                done = end;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, run_one};

    #[test]
    fn every_element_has_the_scale_of_its_block() {
        // Shape of the data, the axis to gather from, the axis of the blocks, their length.
        let cases = [
            ([4, 6, 8], 0, 2, 4),
            ([4, 6, 8], 0, 2, 16),
            ([3, 5, 8], 1, 0, 2),
            ([3, 5, 8], 2, 1, 2),
            ([2, 9, 4], 1, 1, 4),
        ];
        for (dims, gather, quantized, block) in cases {
            for (bits, signed) in [(2, false), (4, false), (4, true), (8, false)] {
                let elements: usize = dims.iter().product();
                let data: Vec<u8> = (0..(elements * bits).div_ceil(8)).map(|i| (i * 73 + i / 3) as u8).collect();
                let outer = |axis: usize| dims[..axis].iter().product::<usize>();
                let inner = |axis: usize| dims[axis + 1..].iter().product::<usize>();
                let blocks = dims[quantized].div_ceil(block);
                let parameters = outer(quantized) * blocks * inner(quantized);
                let (scales, zero_points) = (floats(parameters, 1), floats(parameters, 2));
                let indices: [i64; 4] = [0, -1, dims[gather] as i64, dims[gather] as i64 - 1];
                let mut want = Vec::new();
                for o in 0..outer(gather) {
                    for index in indices {
                        for i in 0..inner(gather) {
                            let known = (-(dims[gather] as i64)..dims[gather] as i64).contains(&index);
                            let index = index.rem_euclid(dims[gather] as i64) as usize;
                            let flat = (o * dims[gather] + index) * inner(gather) + i;
                            let depth = flat / inner(quantized) % dims[quantized];
                            let place = (flat / inner(quantized) / dims[quantized] * blocks + depth / block)
                                * inner(quantized)
                                + flat % inner(quantized);
                            let code = i32::from(data[flat * bits / 8] >> (flat * bits % 8)) & ((1 << bits) - 1);
                            let code = if signed && code >> (bits - 1) == 1 { code - (1 << bits) } else { code };
                            want.push(if known { (code as f32 - zero_points[place]) * scales[place] } else { 0.0 });
                        }
                    }
                }
                for ranks in 1..=2 {
                    let driver = GatherNBits {
                        bits,
                        signed,
                        index: DType::I64,
                        outer: outer(gather),
                        axis: dims[gather],
                        inner: inner(gather),
                        count: indices.len(),
                        blocked_axis: dims[quantized],
                        blocked_inner: inner(quantized),
                        block,
                    };
                    let inputs = [
                        &data[..],
                        bytemuck::cast_slice(&indices),
                        bytemuck::cast_slice(&scales),
                        bytemuck::cast_slice(&zero_points),
                    ];
                    assert_eq!(
                        run_one::<f32>(driver, ranks, &inputs, want.len()).unwrap(),
                        want,
                        "{dims:?} {bits} {signed}"
                    );
                }
            }
        }
    }
}
