use std::ops::Range;

use super::dequantized::DequantizedProducts;
use super::engine::{Engine, Kind, Method};
use super::groups::GroupProducts;
use super::halves::HalfProducts;
use super::row::RowProducts;
use super::{Compute, float, integer};
use crate::driver::RunError;
use crate::mem::Scratch;
use crate::pack::{Int8Rows, NBITS_PANEL, NBitsShape, NBitsWeights};
use crate::rt::Worker;

/// Columns of a tile: whole panels of every layout.
pub(crate) const STRIP: usize = 64;
/// Those of a tile of one row on a chip.
pub(super) const ROW_STRIP: usize = 512;

/// `range` in pieces of `len`, the last of what is left.
pub(super) fn chunks(range: Range<usize>, len: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(len).map(move |start| start..(start + len).min(range.end))
}

/// Rows of `A` as panels are multiplied with them.
pub(crate) enum Left<'a> {
    /// Filled up to the depth of the weight with zeros.
    F32(&'a [f32]),
    Int8(Int8Rows<'a>),
    Groups(GroupProducts<'a>),
    Halves(HalfProducts<'a>),
    Row(RowProducts<'a>),
    Dequantized(DequantizedProducts<'a>),
}

impl<'a> Left<'a> {
    /// Bytes of scratch that [`Left::prepare`] needs for up to `rows` rows.
    pub fn scratch(engine: Engine, shape: &NBitsShape, rows: usize) -> usize {
        match engine.kind {
            Kind::Host(Compute::Int8) => Int8Rows::scratch(shape, rows),
            Kind::Host(Compute::F32) => Scratch::bytes::<f32>(rows * shape.depth()),
            Kind::Int8(many, one) => {
                let one = one.map_or(0, |variant| RowProducts::scratch(variant, shape));
                one.max(GroupProducts::scratch(many, shape, rows))
            }
            Kind::F16(many, one) => RowProducts::scratch(one, shape).max(HalfProducts::scratch(many, shape, rows)),
            Kind::F32(blocks) => DequantizedProducts::scratch(blocks, shape, rows),
        }
    }

    /// `a` has rows of the weight's `k`, as many of the `m` of a product as there is scratch for.
    pub fn prepare(
        worker: &Worker<'_>,
        (engine, m): (Engine, usize),
        shape: &NBitsShape,
        a: &[f32],
        scratch: &'a mut [u8],
    ) -> Self {
        let mut scratch = Scratch::new(scratch);
        match engine.method(m) {
            Method::Host(Compute::Int8) => Self::Int8(Int8Rows::quantize(shape, a, &mut scratch)),
            Method::Host(Compute::F32) => {
                let (k, depth) = (shape.k(), shape.depth());
                let rows: &mut [f32] = scratch.take(a.len() / k * depth);
                for (row, a) in rows.chunks_mut(depth).zip(a.chunks(k)) {
                    row[..k].copy_from_slice(a);
                    row[k..].fill(0.0);
                }
                Self::F32(rows)
            }
            Method::Row(variant) => Self::Row(RowProducts::prepare(worker, variant, shape, a, &mut scratch)),
            Method::Int8(variant) => Self::Groups(GroupProducts::prepare(worker, variant, shape, a, &mut scratch)),
            Method::F16(blocks) => Self::Halves(HalfProducts::prepare(worker, blocks, shape, a, &mut scratch)),
            Method::F32(blocks) => Self::Dequantized(DequantizedProducts::prepare(blocks, shape, a, &mut scratch)),
        }
    }

    /// `tile = rows x panels`; `tile` has rows of [`STRIP`] numbers, of which those of the panels come first. That of a single row
    /// may have more.
    pub fn multiply(
        &mut self,
        worker: &Worker<'_>,
        weights: &NBitsWeights,
        panels: Range<usize>,
        tile: &mut [f32],
    ) -> Result<(), RunError> {
        match self {
            Self::F32(rows) => each(panels, |index, panel| {
                float::multiply(weights.panel(panel)?, rows, &mut tile[index * NBITS_PANEL..], STRIP);
                Ok(())
            }),
            Self::Int8(rows) => each(panels, |index, panel| {
                integer::multiply(weights.panel(panel)?, rows, &mut tile[index * NBITS_PANEL..], STRIP);
                Ok(())
            }),
            Self::Groups(products) => products.multiply(worker, weights, panels, tile),
            Self::Halves(products) => products.multiply(worker, weights, panels, tile),
            Self::Row(row) => row.multiply(worker, weights, panels, tile),
            Self::Dequantized(rows) => each(panels, |index, panel| rows.multiply(worker, weights, panel, index, tile)),
        }
    }
}

/// Multiplies with one panel after the other.
fn each(panels: Range<usize>, mut multiply: impl FnMut(usize, usize) -> Result<(), RunError>) -> Result<(), RunError> {
    panels.enumerate().try_for_each(|(index, panel)| multiply(index, panel))
}
