//! The products of one row that is quantised to int8 with panels of a chip's layout, as they are in memory.

use std::ops::Range;

use super::groups::layout;
use super::line::Line;
use crate::driver::RunError;
use crate::mem::Scratch;
use crate::pack::{NBitsShape, NBitsWeights};
use crate::rt::Worker;
use crate::select;
use crate::table::Variant;
use crate::ukr::matvec_nbits::{Args, MatVecNBits};

/// The row as the micro-kernel reads it.
pub(crate) struct RowProducts<'a> {
    variant: &'static Variant<MatVecNBits>,
    codes: &'a [i8],
    scales: &'a [f32],
    sums: &'a [f32],
}

/// Numbers of scales, each as often as a tile has columns, for all rows of the last tile.
fn scales_len(variant: &Variant<MatVecNBits>, shape: &NBitsShape) -> usize {
    layout(variant).groups(shape).next_multiple_of(variant.spec.tile.m) * variant.spec.tile.n
}

impl<'a> RowProducts<'a> {
    /// Bytes of scratch that [`RowProducts::prepare`] needs.
    pub fn scratch(variant: &Variant<MatVecNBits>, shape: &NBitsShape) -> usize {
        let layout = layout(variant);
        Scratch::bytes::<i8>(layout.depth(shape) * variant.spec.tile.m)
            + 2 * Scratch::bytes::<f32>(scales_len(variant, shape))
            + Scratch::bytes::<i8>(shape.k())
            + 2 * Scratch::bytes::<f32>(layout.groups(shape))
    }

    /// Quantises the row `a` in the groups of the weight.
    pub fn prepare(
        worker: &Worker<'_>,
        variant: &'static Variant<MatVecNBits>,
        shape: &NBitsShape,
        a: &[f32],
        scratch: &mut Scratch<'a>,
    ) -> Self {
        let (layout, tile) = (layout(variant), variant.spec.tile);
        let (group, groups) = (layout.group(shape), layout.groups(shape));
        let codes: &mut [i8] = scratch.take(layout.depth(shape) * tile.m);
        let [scales, sums]: [&mut [f32]; 2] = [(); 2].map(|()| scratch.take(scales_len(variant, shape)));
        let line_codes = scratch.take(shape.k());
        let [line_scales, line_sums] = [(); 2].map(|()| scratch.take(groups));
        let mut line = Line { codes: line_codes, scales: line_scales, sums: line_sums };
        line.quantize(worker, a, group);
        codes.fill(0);
        for (index, k_group) in line.codes.chunks(tile.k).enumerate() {
            let row = index * tile.k / group % tile.m;
            codes[(index * tile.m + row) * tile.k..][..k_group.len()].copy_from_slice(k_group);
        }
        spread(line.scales, tile.n, scales);
        spread(line.sums, tile.n, sums);
        Self { variant, codes, scales, sums }
    }

    /// Columns of `panels`, side by side in `tile`.
    pub fn multiply(
        &self,
        worker: &Worker<'_>,
        weights: &NBitsWeights,
        panels: Range<usize>,
        tile: &mut [f32],
    ) -> Result<(), RunError> {
        let (layout, shape) = (layout(self.variant), weights.shape());
        let (kernel, all) = (select::arm(self.variant, worker), weights.panels(layout)?);
        let (groups, planes) = (layout.groups(shape), layout.planes(shape));
        let k_groups = layout.group(shape) / self.variant.spec.tile.k;
        for (c, panel) in tile.chunks_exact_mut(layout.panel()).zip(panels) {
            let blocks = all.get(panel);
            let args = Args {
                a: self.codes.as_ptr(),
                b: blocks.codes.as_ptr(),
                a_scales: self.scales.as_ptr(),
                a_sums: self.sums.as_ptr(),
                b_scales: blocks.scales.as_ptr(),
                b_zero_points: blocks.zero_points.map_or(std::ptr::null(), <[f32]>::as_ptr),
                c: c.as_mut_ptr(),
                groups,
                k_groups,
                planes,
            };
            // SAFETY: `prepare` made a row for a weight of this shape, `blocks` is a panel of one, and `c` is ours alone.
            unsafe { kernel.call(&args) };
        }
        Ok(())
    }
}

/// Each number `times` times, and zeros behind them.
fn spread(numbers: &[f32], times: usize, to: &mut [f32]) {
    let (all, padding) = to.split_at_mut(numbers.len() * times);
    all.chunks_mut(times).zip(numbers).for_each(|(all, number)| all.fill(*number));
    padding.fill(0.0);
}
