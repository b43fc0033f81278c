//! Masks of attention whose contents are known when a program is planned, as those that the graph computes from shapes, or
//! are known in part.

use half::f16;
use kernels::ops::attention::AttentionDims;
use kernels::tensor::{DType, elements};

use super::attention_mask::broadcast;
use crate::plan::Bind;

/// Added to a score, this or less leaves no weight to a key beside one that is seen: scores are far smaller.
const HIDDEN: f32 = -1e9;

/// What a known mask does to the scores.
#[derive(Debug, PartialEq)]
pub(super) struct KnownMask {
    /// Query `s` sees no key behind `s + offset`.
    pub causal: Option<isize>,
    /// Nothing else is done to the scores.
    pub nothing_else: bool,
}

impl KnownMask {
    /// Reads input `index`, which broadcasts to `[batch, heads, queries, keys]`, or what is known of it; `None` when that is
    /// nothing or it does not.
    ///
    /// Where the mask is not `alone`, another one may hide all keys that a query sees, and then a key that is hidden by a
    /// finite number would have a weight: only -inf hides.
    pub fn read(b: &Bind<'_>, index: usize, to: &AttentionDims, alone: bool) -> Option<Self> {
        let hidden = if alone { HIDDEN } else { f32::NEG_INFINITY };
        let dims = b.dims(index).ok()?;
        broadcast(&dims, to).ok()?;
        let flags = |dims: &[usize], bytes: &[u8]| {
            Self::of(dims, to, hidden, |at| if bytes[at] == 0 { f32::NEG_INFINITY } else { 0.0 })
        };
        let Some(bytes) = b.known_bytes(index) else {
            let bound = b.upper_bound(index)?;
            broadcast(&bound.dims, to).ok()?;
            return Some(Self { nothing_else: false, ..flags(&bound.dims, &bound.bytes) });
        };
        match b.dtype(index).ok()? {
            DType::Bool => Some(flags(&dims, bytes)),
            DType::F16 => {
                let terms: &[f16] = bytemuck::try_cast_slice(bytes).ok()?;
                Some(Self::of(&dims, to, hidden, |at| terms[at].to_f32()))
            }
            _ => {
                let terms: &[f32] = bytemuck::try_cast_slice(bytes).ok()?;
                Some(Self::of(&dims, to, hidden, |at| terms[at]))
            }
        }
    }

    /// `term` gives what is added to the scores, by the place in a dense tensor of shape `dims`.
    fn of(dims: &[usize], to: &AttentionDims, hidden: f32, term: impl Fn(usize) -> f32) -> Self {
        let count = elements(dims);
        let sees = |at: usize| term(at) > hidden || term(at).is_nan();
        let is_matrix = dims.ends_with(&[to.queries, to.keys]);
        let offset = is_matrix.then(|| causal_offset([count, to.queries, to.keys], sees)).flatten();
        // Where nothing is hidden there is nothing to gain.
        let causal = offset.filter(|offset| offset + 1 < to.keys);
        let visible = |at: &usize| causal.is_none_or(|offset| at % to.keys <= at / to.keys % to.queries + offset);
        let nothing_else = (0..count).filter(visible).all(|at| term(at) == 0.0);
        Self { causal: causal.map(usize::cast_signed), nothing_else }
    }
}

/// The last key that query 0 sees, when in all matrices `[queries, keys]` query `s` sees no key that is more than `s`
/// behind that one, and at least one that is not.
fn causal_offset([count, queries, keys]: [usize; 3], sees: impl Fn(usize) -> bool) -> Option<usize> {
    let offset = (0..keys.min(count)).rev().find(|&key| sees(key))?;
    let fits = |row: usize| {
        let first = row * keys;
        let behind = first + keys.min(offset + row % queries + 1);
        (first..behind).any(&sees) && !(behind..first + keys).any(&sees)
    };
    (0..count / keys).all(fits).then_some(offset)
}

#[cfg(test)]
mod tests;
