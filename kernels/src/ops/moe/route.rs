use crate::mem::Scratch;

/// How tokens find their experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Router {
    pub experts: usize,
    /// Experts of each token.
    pub top: usize,
    /// The weights of a token's experts add up to 1; otherwise those of all experts would.
    pub normalize: bool,
}

/// Which token goes to which expert with which weight. A route is a token and one of its experts.
pub(super) struct Routes<'a> {
    /// For each route, those of an expert side by side: its token.
    pub tokens: &'a [u32],
    pub weights: &'a [f32],
    /// For each expert its first route, and at the end the number of routes.
    pub starts: &'a [u32],
}

impl Router {
    pub fn routes(&self, tokens: usize) -> usize {
        tokens * self.top
    }

    /// Bytes of scratch that [`Router::route`] needs.
    pub(super) fn scratch(&self, tokens: usize) -> usize {
        4 * Scratch::bytes::<u32>(self.routes(tokens))
            + 2 * Scratch::bytes::<u32>(self.experts + 1)
            + Scratch::bytes::<u8>(self.experts)
    }

    /// Routes tokens by their `logits`, `[tokens, experts]`: to those with the largest, of equal ones to the last. A weight
    /// is the expert's share in the softmax.
    pub(super) fn route<'a>(&self, logits: &[f32], scratch: &mut Scratch<'a>) -> Routes<'a> {
        let routes = self.routes(logits.len() / self.experts);
        let (experts, weights): (&mut [u32], &mut [f32]) = (scratch.take(routes), scratch.take(routes));
        let chosen: &mut [u8] = scratch.take(self.experts);
        let by_token = experts.chunks_mut(self.top).zip(weights.chunks_mut(self.top));
        for (logits, (experts, weights)) in logits.chunks(self.experts).zip(by_token) {
            self.choose(logits, chosen, experts, weights);
        }
        let (starts, next): (&mut [u32], &mut [u32]) = (scratch.take(self.experts + 1), scratch.take(self.experts + 1));
        starts.fill(0);
        experts.iter().for_each(|&expert| starts[expert as usize + 1] += 1);
        (0..self.experts).for_each(|expert| starts[expert + 1] += starts[expert]);
        next.copy_from_slice(starts);
        let (sorted, sorted_weights): (&mut [u32], &mut [f32]) = (scratch.take(routes), scratch.take(routes));
        for (route, (&expert, &weight)) in experts.iter().zip(&*weights).enumerate() {
            let place = &mut next[expert as usize];
            sorted[*place as usize] = (route / self.top) as u32;
            sorted_weights[*place as usize] = weight;
            *place += 1;
        }
        Routes { tokens: sorted, weights: sorted_weights, starts }
    }

    /// The experts of one token and their weights.
    fn choose(&self, logits: &[f32], chosen: &mut [u8], experts: &mut [u32], weights: &mut [f32]) {
        chosen.fill(0);
        for expert in experts.iter_mut() {
            let mut best = None;
            for (index, &logit) in logits.iter().enumerate().filter(|&(index, _)| chosen[index] == 0) {
                // Not `<`: NaN gives way to every number, but something is always chosen.
                if best.is_none_or(|best: usize| logit >= logits[best] || logits[best].is_nan()) {
                    best = Some(index);
                }
            }
            let best = best.expect("there are at least as many experts as a token has");
            chosen[best] = 1;
            *expert = best as u32;
        }
        let largest = logits[experts[0] as usize];
        for (weight, &expert) in weights.iter_mut().zip(&*experts) {
            *weight = (logits[expert as usize] - largest).exp();
        }
        let total: f32 = match self.normalize {
            true => weights.iter().sum(),
            false => logits.iter().map(|logit| (logit - largest).exp()).sum(),
        };
        weights.iter_mut().for_each(|weight| *weight /= total);
    }
}
