//! Depthwise convolution along a sequence that sees the past only, with a state to go on from.

use std::fmt;

use super::width::grain;
use crate::driver::{Driver, RunError};
use crate::host::vectorised;
use crate::rt::Worker;
use crate::tape::{Io, SharedOut};

/// `y[t] = bias + sum_j w[j] x[t - (taps - 1 - j) * dilation]` for each channel, in f32; before the first token, `x` is the
/// past.
///
/// Inputs, those left out not counted: x `[batch, channels, len]`, or `[batch, len, channels]` when `channels_last`; w
/// `[channels, taps]`; bias `[channels]`; past states `[slots, batch, channels, state]` (of which the last slot is read) with
/// `state = (taps - 1) * dilation`, in the order of x. Outputs: y like x, and the states after each of the last `slots` tokens,
/// with zeros for tokens that are not there.
#[derive(Clone, Debug)]
pub struct CausalConv {
    pub batch: usize,
    pub channels: usize,
    pub len: usize,
    pub taps: usize,
    pub dilation: usize,
    pub bias: bool,
    pub past: bool,
    /// At least one.
    pub slots: usize,
    pub channels_last: bool,
}

impl fmt::Display for CausalConv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, channels, len, taps, dilation, .. } = self;
        write!(f, "causal_conv batch={batch} channels={channels} len={len} taps={taps}x{dilation}")?;
        let parts = [(self.bias, " bias"), (self.past, " past"), (self.channels_last, " channels_last")];
        parts.iter().filter(|(given, _)| *given).try_for_each(|(_, text)| f.write_str(text))
    }
}

impl Driver for CausalConv {
    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, _scratch: &mut [u8]) -> Result<(), RunError> {
        let (lines, line) = self.lines();
        let share = worker.share(lines, grain(line * self.taps * size_of::<f32>()));
        let source = Source {
            conv: self,
            x: io.input(0),
            past: if self.past { io.input::<f32>(2 + usize::from(self.bias)) } else { &[] },
        };
        let (w, bias) = (io.input::<f32>(1), if self.bias { io.input(2) } else { &[] });
        let y = io.output(0);
        vectorised(
            #[inline(always)]
            || match self.channels_last {
                true => share.for_each(|row| self.row(row, &source, w, bias, y)),
                false => share.for_each(|row| self.channel(row, &source, w, bias, y)),
            },
        );
        self.keep(worker, &source, io.output(1));
        Ok(())
    }
}

/// The sequences, each behind its past.
struct Source<'a> {
    conv: &'a CausalConv,
    x: &'a [f32],
    /// Empty when there is none.
    past: &'a [f32],
}

impl CausalConv {
    /// Elements of a state in one channel.
    fn state(&self) -> usize {
        (self.taps - 1) * self.dilation
    }

    /// Number and length of the contiguous lines of the output.
    fn lines(&self) -> (usize, usize) {
        match self.channels_last {
            true => (self.batch * self.len, self.channels),
            false => (self.batch * self.channels, self.len),
        }
    }

    /// One channel of one sequence; `row` counts them.
    #[inline(always)]
    fn channel(&self, row: usize, source: &Source<'_>, w: &[f32], bias: &[f32], y: SharedOut<'_, f32>) {
        let (channel, state) = (row % self.channels, self.state());
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { y.range(row * self.len..(row + 1) * self.len) };
        y.fill(bias.get(channel).copied().unwrap_or(0.0));
        let x = &source.x[row * self.len..(row + 1) * self.len];
        for (tap, weight) in w[channel * self.taps..][..self.taps].iter().enumerate() {
            let shift = (self.taps - 1 - tap) * self.dilation;
            let early = shift.min(self.len);
            if !source.past.is_empty() {
                let past = &source.last_slot()[row * state..][..state];
                add(&mut y[..early], *weight, &past[state - shift..]);
            }
            add(&mut y[early..], *weight, x);
        }
    }

    /// All channels of one token; `row` counts the tokens of all sequences.
    #[inline(always)]
    fn row(&self, row: usize, source: &Source<'_>, w: &[f32], bias: &[f32], y: SharedOut<'_, f32>) {
        let (batch, token) = (row / self.len, row % self.len);
        // SAFETY: shares of ranks are disjoint.
        let y = unsafe { y.range(row * self.channels..(row + 1) * self.channels) };
        match bias {
            [] => y.fill(0.0),
            bias => y.copy_from_slice(bias),
        }
        for tap in 0..self.taps {
            let shift = (self.taps - 1 - tap) * self.dilation;
            let Some(x) = source.tokens(batch, token + self.state() - shift) else { continue };
            for ((y, x), weight) in y.iter_mut().zip(x).zip(w[tap..].iter().step_by(self.taps)) {
                *y += weight * x;
            }
        }
    }

    /// Writes the states.
    fn keep(&self, worker: &Worker<'_>, source: &Source<'_>, out: SharedOut<'_, f32>) {
        let state = self.state();
        let (lines, line) = match self.channels_last {
            true => (self.slots * self.batch * state, self.channels),
            false => (self.slots * self.batch * self.channels, state),
        };
        for index in worker.share(lines, grain(line * size_of::<f32>())) {
            // SAFETY: shares of ranks are disjoint.
            let out = unsafe { out.range(index * line..(index + 1) * line) };
            let slot = index / (lines / self.slots);
            let tokens = (self.len + slot + 1).checked_sub(self.slots);
            let Some(tokens) = tokens.filter(|&tokens| tokens > 0 || slot + 1 == self.slots) else {
                out.fill(0.0);
                continue;
            };
            let index = index % (lines / self.slots);
            if self.channels_last {
                match source.tokens(index / state, tokens + index % state) {
                    Some(x) => out.copy_from_slice(x),
                    None => out.fill(0.0),
                }
            } else {
                for (i, y) in out.iter_mut().enumerate() {
                    *y = source.element(index, tokens + i);
                }
            }
        }
    }
}

impl<'a> Source<'a> {
    /// The past that is read.
    fn last_slot(&self) -> &'a [f32] {
        &self.past[self.past.len() / self.conv.slots * (self.conv.slots - 1)..]
    }

    /// Channels-last: all channels at `position` of a sequence, its past counted; `None` for zeros.
    #[inline(always)]
    fn tokens(&self, batch: usize, position: usize) -> Option<&'a [f32]> {
        let CausalConv { channels, len, .. } = *self.conv;
        let state = self.conv.state();
        match position.checked_sub(state) {
            Some(token) => Some(&self.x[(batch * len + token) * channels..][..channels]),
            None if self.past.is_empty() => None,
            None => Some(&self.last_slot()[(batch * state + position) * channels..][..channels]),
        }
    }

    /// Channels-first: the element at `position` of a channel, its past counted; `row` counts the channels of the batch.
    fn element(&self, row: usize, position: usize) -> f32 {
        let state = self.conv.state();
        match position.checked_sub(state) {
            Some(token) => self.x[row * self.conv.len + token],
            None if self.past.is_empty() => 0.0,
            None => self.last_slot()[row * state + position],
        }
    }
}

/// `ys += factor * xs`, as far as both go.
#[inline(always)]
fn add(ys: &mut [f32], factor: f32, xs: &[f32]) {
    ys.iter_mut().zip(xs).for_each(|(y, x)| *y += factor * x);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{floats, run};

    /// Channel by channel, over the past followed by the sequence.
    fn check(conv: CausalConv) {
        let CausalConv { batch, channels, len, taps, dilation, slots, .. } = conv;
        let state = (taps - 1) * dilation;
        let (x, w, bias) = (floats(batch * channels * len, 1), floats(channels * taps, 2), floats(channels, 3));
        let past = floats(slots * batch * channels * state, 4);
        // Index of position `t` of a channel in a tensor of `len` positions.
        let at = |b: usize, c: usize, t: usize, len: usize| match conv.channels_last {
            true => (b * len + t) * channels + c,
            false => (b * channels + c) * len + t,
        };
        let seen = |b: usize, c: usize, t: usize| match t.checked_sub(state) {
            Some(t) => f64::from(x[at(b, c, t, len)]),
            None if conv.past => f64::from(past[past.len() / slots * (slots - 1)..][at(b, c, t, state)]),
            None => 0.0,
        };
        let mut inputs: Vec<&[u8]> = vec![bytemuck::cast_slice(&x), bytemuck::cast_slice(&w)];
        if conv.bias {
            inputs.push(bytemuck::cast_slice(&bias));
        }
        if conv.past {
            inputs.push(bytemuck::cast_slice(&past));
        }
        for ranks in 1..=3 {
            let outputs = run(conv.clone(), ranks, &inputs, &[x.len() * 4, past.len() * 4]).unwrap();
            let (y, states): (&[f32], &[f32]) = (bytemuck::cast_slice(&outputs[0]), bytemuck::cast_slice(&outputs[1]));
            for (b, c) in (0..batch * channels).map(|row| (row / channels, row % channels)) {
                for t in 0..len {
                    let tap = |j: usize| f64::from(w[c * taps + j]) * seen(b, c, t + j * dilation);
                    let expected = (0..taps).map(tap).sum::<f64>() + if conv.bias { f64::from(bias[c]) } else { 0.0 };
                    let tolerance = f64::from(f32::EPSILON) * (taps + 2) as f64 * 4.0;
                    assert!((f64::from(y[at(b, c, t, len)]) - expected).abs() <= tolerance, "{conv} {b} {c} {t}");
                }
                for (slot, t) in (0..slots * state).map(|index| (index / state, index % state)) {
                    let tokens = (len + slot + 1) as isize - slots as isize;
                    let there = tokens > 0 || slot + 1 == slots;
                    let expected = if there { seen(b, c, t + tokens as usize) } else { 0.0 };
                    let actual = states[states.len() / slots * slot..][at(b, c, t, state)];
                    assert_eq!(f64::from(actual), expected, "{conv} state {slot} {t}");
                }
            }
        }
    }

    #[test]
    fn sequences_of_all_lengths_go_on_from_their_past() {
        for channels_last in [false, true] {
            for (len, taps, dilation) in [(1, 4, 1), (9, 4, 1), (2, 4, 2), (40, 3, 3), (5, 1, 1), (0, 3, 1)] {
                for (bias, past, slots) in [(false, false, 1), (true, true, 1), (true, true, 3), (false, true, 12)] {
                    check(CausalConv { batch: 2, channels: 5, len, taps, dilation, bias, past, slots, channels_last });
                }
            }
        }
    }
}
