//! `MatMulNBitsMlp`: the gated half of a feed-forward network with weights of few bits, of an input that may be normalised.
//!
//! | # | inputs | remark |
//! |---|---|---|
//! | 0 | A | f32 or f16 `[..., K]` |
//! | 1 | skip | optional: added to A before the normalisation |
//! | 2 | norm_scale | `[K]`, of a root-mean-square normalisation; optional |
//! | 3, 4, 5 | B, scales, bias of the gate, `N` columns | as those of `MatMulNBits`, constant but the bias, which is optional |
//! | 6, 7, 8 | of the other product | likewise |
//!
//! The outputs are `silu(gate) * other`, and optionally the sum of A and skip.

use kernels::ops::matmul_nbits::Gate;
use kernels::tensor::{DType, elements};

use super::nbits_gate::Gated;
use super::norm::Norm;
use super::{Code, Decline, Lower, MICROSOFT, Op, OpRow, Work};
use crate::plan::{Bind, BindError};

pub const ROWS: &[OpRow] = &[OpRow {
    domain: MICROSOFT,
    name: "MatMulNBitsMlp",
    versions: 1..=1,
    inputs: 8..=9,
    outputs: 1..=2,
    attrs: &["K", "N", "bits", "block_size", "accuracy_level", "epsilon", "activation"],
    work: Work::Heavy,
    lower,
}];

struct NBitsMlp {
    norm: Option<Norm>,
    gated: Gated,
}

fn lower(cx: &Lower<'_, '_>) -> Result<Box<dyn Op>, Decline> {
    let activation = cx.attr_str("activation", "")?;
    if activation != "silu" {
        return Err(Decline::new(Code::Attribute, format!("activation '{activation}' of a gate is not known")));
    }
    let norm = match cx.has_input(1) || cx.has_input(2) || cx.has_output(1) {
        true => Some(Norm::of_products(cx, 1)?),
        false => None,
    };
    Ok(Box::new(NBitsMlp { norm, gated: Gated::lower(cx, Gate::Silu, [3, 6], false)? }))
}

impl Op for NBitsMlp {
    fn absorbed_inputs(&self) -> &[usize] {
        &[3, 4, 6, 7]
    }

    fn bind(&self, b: &mut Bind<'_>) -> Result<(), BindError> {
        let dims = b.dims(0)?;
        let a = match &self.norm {
            Some(norm) => {
                let rows = b.temp(DType::F32, elements(&dims))?;
                norm.write(b, rows)?;
                rows
            }
            None => b.input_f32(0)?,
        };
        self.gated.write(b, a, &dims)
    }
}

#[cfg(test)]
mod tests;
