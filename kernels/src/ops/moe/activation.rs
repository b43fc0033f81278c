use rten_vecmath::{ApproxGelu, Silu, Swish};

use crate::host::map;

/// What an expert does between its two products.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpertActivation {
    Identity,
    Relu,
    /// `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    Gelu,
    Silu,
    /// `g sigmoid(alpha g) (l + beta)` of neighbours `g`, at most `limit`, and `l`, at most `limit` away from 0.
    SwiGlu {
        alpha: f32,
        beta: f32,
        limit: f32,
    },
}

impl ExpertActivation {
    /// Results for `inputs` numbers.
    pub fn outputs(self, inputs: usize) -> usize {
        if matches!(self, Self::SwiGlu { .. }) { inputs / 2 } else { inputs }
    }

    /// `out = act(sums + bias)`; without bias when that is empty. `line` has room for twice the sums.
    pub(super) fn apply(self, sums: &[f32], bias: &[f32], line: &mut [f32], out: &mut [f32]) {
        let (x, rest) = line.split_at_mut(sums.len());
        x.copy_from_slice(sums);
        x.iter_mut().zip(bias).for_each(|(x, bias)| *x += bias);
        match self {
            Self::Identity => out.copy_from_slice(x),
            // NaN stays NaN.
            Self::Relu => out.iter_mut().zip(x).for_each(|(y, x)| *y = if *x < 0.0 { 0.0 } else { *x }),
            Self::Gelu => map(&ApproxGelu {}, x, out),
            Self::Silu => map(&Silu {}, x, out),
            Self::SwiGlu { alpha, beta, limit } => {
                let gates = &mut rest[..out.len()];
                gates
                    .iter_mut()
                    .zip(x.as_chunks::<2>().0)
                    .for_each(|(gate, [g, _])| *gate = if *g > limit { limit } else { *g });
                map(&Swish { alpha }, gates, out);
                for (y, [_, linear]) in out.iter_mut().zip(x.as_chunks::<2>().0) {
                    *y *= linear.clamp(-limit, limit) + beta;
                }
            }
        }
    }
}
