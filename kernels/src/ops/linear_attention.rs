//! Attention without softmax: a state of outer products of keys and values, updated token by token.

use std::fmt;

use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::Io;

/// How the state forgets: `exp` of one number for each head and token, or of one for each of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    Head,
    Key,
}

/// For each token and each head of keys, with a state `S` `[key_width, value_width]` in f32:
///
/// `S *= exp(decay)`; `u = v`, or `beta (v - S^T k)` for delta rules; `S += k u^T`; `y = scale S^T q` for each query of the
/// head.
///
/// Inputs, those left out not counted: q `[batch, tokens, q_heads, key_width]`, k `[batch, tokens, kv_heads, key_width]`, v
/// `[batch, tokens, kv_heads, value_width]`, past states `[slots, batch, kv_heads, key_width, value_width]` (the last slot is
/// read), decay `[batch, tokens, kv_heads]`, with `[.., key_width]` for [`Decay::Key`], beta `[batch, tokens, beta_heads]`.
/// Outputs: y `[batch, tokens, max(q_heads, kv_heads), value_width]`, and the states after each of the last `slots` tokens,
/// with zeros for tokens that are not there. Past and new states may share memory.
#[derive(Clone, Debug)]
pub struct LinearAttention {
    pub batch: usize,
    pub tokens: usize,
    /// One count of heads is a multiple of the other; neighbouring heads share one of the fewer.
    pub q_heads: usize,
    pub kv_heads: usize,
    pub key_width: usize,
    pub value_width: usize,
    pub scale: f32,
    pub past: bool,
    pub decay: Option<Decay>,
    /// Delta rules: heads of beta, 1 or `kv_heads`.
    pub beta_heads: Option<usize>,
    /// At least one.
    pub slots: usize,
}

impl fmt::Display for LinearAttention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, tokens, q_heads, kv_heads, key_width, value_width, .. } = self;
        write!(
            f,
            "linear_attention batch={batch} tokens={tokens} heads={q_heads}/{kv_heads} {key_width}x{value_width}"
        )?;
        let parts = [(self.past, " past"), (self.decay.is_some(), " decay"), (self.beta_heads.is_some(), " delta")];
        parts.iter().filter(|(given, _)| *given).try_for_each(|(_, text)| f.write_str(text))
    }
}

impl Driver for LinearAttention {
    fn in_place(&self) -> Option<[usize; 2]> {
        self.past.then_some([3, 1])
    }

    fn scratch(&self) -> usize {
        self.value_width * size_of::<f32>()
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let mut next = if self.past { 4.. } else { 3.. };
        let mut optional = |given: bool| if given { next.next().map(|index| io.input::<f32>(index)) } else { None };
        let inputs = Inputs {
            q: io.input(0),
            k: io.input(1),
            v: io.input(2),
            past: if self.past { io.separate_input(3) } else { None },
            decay: optional(self.decay.is_some()),
            beta: optional(self.beta_heads.is_some()),
        };
        let update: &mut [f32] = bytemuck::cast_slice_mut(scratch);
        for unit in worker.share(self.batch * self.kv_heads, 1) {
            self.run_head(unit, &inputs, io, update);
        }
        Ok(())
    }
}

struct Inputs<'a> {
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
    /// `None` where there is none, or where it is in the output already.
    past: Option<&'a [f32]>,
    decay: Option<&'a [f32]>,
    beta: Option<&'a [f32]>,
}

impl LinearAttention {
    /// Queries that share a head of keys, at least one.
    fn group(&self) -> usize {
        (self.q_heads / self.kv_heads).max(1)
    }

    /// All tokens of one head of one sequence; `unit` counts the heads of keys of the batch.
    fn run_head(&self, unit: usize, inputs: &Inputs<'_>, io: &Io<'_>, update: &mut [f32]) {
        let (batch, head) = (unit / self.kv_heads, unit % self.kv_heads);
        let (state_len, out) = (self.key_width * self.value_width, io.output::<f32>(0));
        let slot = |slot: usize| {
            let start = (slot * self.batch * self.kv_heads + unit) * state_len;
            // SAFETY: shares of ranks are disjoint, each unit has its own part of each slot, and slots differ.
            unsafe { io.output::<f32>(1).range(start..start + state_len) }
        };
        let state = slot(self.slots - 1);
        match inputs.past {
            Some(past) => state
                .copy_from_slice(&past[past.len() - (self.batch * self.kv_heads - unit) * state_len..][..state_len]),
            None if self.past => {}
            None => state.fill(0.0),
        }
        (0..self.slots.saturating_sub(self.tokens.max(1))).for_each(|early| slot(early).fill(0.0));
        for token in 0..self.tokens {
            let row = batch * self.tokens + token;
            let heads = self.q_heads.max(self.kv_heads);
            let start = (row * heads + head * self.group()) * self.value_width;
            // SAFETY: shares of ranks are disjoint, and each unit has its own heads of the output.
            let y = unsafe { out.range(start..start + self.group() * self.value_width) };
            vectorised(
                #[inline(always)]
                || self.step(row, head, inputs, state, update, y),
            );
            match (token + self.slots).checked_sub(self.tokens) {
                Some(after) if after + 1 < self.slots => slot(after).copy_from_slice(state),
                _ => {}
            }
        }
    }

    /// One token: `row` counts the tokens of the batch, `y` is the output of the queries of the head.
    #[inline(always)]
    fn step(&self, row: usize, head: usize, inputs: &Inputs<'_>, state: &mut [f32], update: &mut [f32], y: &mut [f32]) {
        let (dk, dv, at) = (self.key_width, self.value_width, row * self.kv_heads + head);
        let (k, v) = (&inputs.k[at * dk..][..dk], &inputs.v[at * dv..][..dv]);
        match (inputs.decay, self.decay) {
            (Some(decay), Some(Decay::Key)) => {
                for (line, decay) in state.chunks_exact_mut(dv).zip(&decay[at * dk..][..dk]) {
                    scale(line, decay.exp());
                }
            }
            (Some(decay), _) => scale(state, decay[at].exp()),
            (None, _) => {}
        }
        update.copy_from_slice(v);
        if let (Some(beta), Some(heads)) = (inputs.beta, self.beta_heads) {
            for (line, k) in state.chunks_exact(dv).zip(k) {
                add(update, -k, line);
            }
            scale(update, beta[row * heads + head % heads]);
        }
        let first = (row * self.q_heads + head * self.q_heads / self.kv_heads) * dk;
        y.fill(0.0);
        for (index, (line, k)) in state.chunks_exact_mut(dv).zip(k).enumerate() {
            add(line, *k, update);
            for (query, y) in y.chunks_exact_mut(dv).enumerate() {
                add(y, self.scale * inputs.q[first + query * dk + index], line);
            }
        }
    }
}

#[inline(always)]
fn scale(xs: &mut [f32], factor: f32) {
    xs.iter_mut().for_each(|x| *x *= factor);
}

/// `ys += factor * xs`
#[inline(always)]
fn add(ys: &mut [f32], factor: f32, xs: &[f32]) {
    ys.iter_mut().zip(xs).for_each(|(y, x)| *y += factor * x);
}

#[cfg(test)]
mod tests;
