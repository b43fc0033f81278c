use super::*;
use crate::mem::{AlignedBuf, Workspace};
use crate::rt::Team;
use crate::tape::{Argument, Buffer, Place, Step, Tape};
use crate::testing::{floats, run};

/// The recurrence by its formula, in f64: y, and the states after every token, the past first.
fn expected(op: &LinearAttention, inputs: &[Vec<f32>]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (dk, dv, heads) = (op.key_width, op.value_width, op.q_heads.max(op.kv_heads));
    let mut next = inputs.iter().skip(3);
    let past = if op.past { next.next() } else { None };
    let decay = if op.decay.is_some() { next.next() } else { None };
    let beta = if op.beta_heads.is_some() { next.next() } else { None };
    let state_len = op.batch * op.kv_heads * dk * dv;
    let first =
        past.map_or(vec![0.0; state_len], |past| past[past.len() - state_len..].iter().map(|&x| x.into()).collect());
    let mut states: Vec<Vec<f64>> = vec![first];
    let mut y = vec![0.0; op.batch * op.tokens * heads * dv];
    for token in 0..op.tokens {
        let mut state = states.last().unwrap().clone();
        for (b, h) in (0..op.batch * op.kv_heads).map(|unit| (unit / op.kv_heads, unit % op.kv_heads)) {
            let row = b * op.tokens + token;
            let at = |i: usize, j: usize| ((b * op.kv_heads + h) * dk + i) * dv + j;
            let k = |i: usize| f64::from(inputs[1][(row * op.kv_heads + h) * dk + i]);
            for (i, j) in (0..dk * dv).map(|x| (x / dv, x % dv)) {
                let log = decay.map_or(0.0, |decay| match op.decay {
                    Some(Decay::Key) => decay[(row * op.kv_heads + h) * dk + i],
                    _ => decay[row * op.kv_heads + h],
                });
                state[at(i, j)] *= f64::from(log).exp();
            }
            for j in 0..dv {
                let v = f64::from(inputs[2][(row * op.kv_heads + h) * dv + j]);
                let seen: f64 = (0..dk).map(|i| k(i) * state[at(i, j)]).sum();
                let update = match (beta, op.beta_heads) {
                    (Some(beta), Some(1)) => f64::from(beta[row]) * (v - seen),
                    (Some(beta), _) => f64::from(beta[row * op.kv_heads + h]) * (v - seen),
                    _ => v,
                };
                (0..dk).for_each(|i| state[at(i, j)] += k(i) * update);
            }
            for out in (0..heads).filter(|out| out * op.kv_heads / heads == h) {
                let query = out * op.q_heads / heads;
                let q = |i: usize| f64::from(inputs[0][(row * op.q_heads + query) * dk + i]);
                for j in 0..dv {
                    let dot: f64 = (0..dk).map(|i| q(i) * state[at(i, j)]).sum();
                    y[(row * heads + out) * dv + j] = f64::from(op.scale) * dot;
                }
            }
        }
        states.push(state);
    }
    (y, states)
}

fn inputs(op: &LinearAttention) -> Vec<Vec<f32>> {
    let (rows, dk, dv) = (op.batch * op.tokens, op.key_width, op.value_width);
    let mut all = vec![floats(rows * op.q_heads * dk, 1)];
    // Keys of length one keep delta rules from growing.
    let mut keys = floats(rows * op.kv_heads * dk, 2);
    for key in keys.chunks_exact_mut(dk) {
        let length = key.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-6);
        key.iter_mut().for_each(|x| *x /= length);
    }
    all.extend([keys, floats(rows * op.kv_heads * dv, 3)]);
    if op.past {
        all.push(floats(op.slots * op.batch * op.kv_heads * dk * dv, 4));
    }
    if let Some(decay) = op.decay {
        let len = rows * op.kv_heads * if decay == Decay::Key { dk } else { 1 };
        all.push(floats(len, 5).iter().map(|x| x - 1.0).collect());
    }
    if let Some(heads) = op.beta_heads {
        all.push(floats(rows * heads, 6).iter().map(|x| (x + 1.0) / 2.0).collect());
    }
    all
}

fn check(op: LinearAttention) {
    let inputs = inputs(&op);
    let (y, states) = expected(&op, &inputs);
    let state_len = op.batch * op.kv_heads * op.key_width * op.value_width;
    let bytes: Vec<&[u8]> = inputs.iter().map(|x| bytemuck::cast_slice(x)).collect();
    let tolerance = f64::from(f32::EPSILON) * ((op.key_width + 4) * (op.tokens + 4)) as f64 * 4.0;
    for ranks in 1..=3 {
        let outputs = run(op.clone(), ranks, &bytes, &[y.len() * 4, op.slots * state_len * 4]).unwrap();
        let close = |actual: &[f32], expected: &[f64], what: &str| {
            for (index, (&a, &e)) in actual.iter().zip(expected).enumerate() {
                assert!((f64::from(a) - e).abs() <= tolerance, "{op} {what} {index}: {a} for {e}");
            }
        };
        close(bytemuck::cast_slice(&outputs[0]), &y, "output");
        let slots: &[f32] = bytemuck::cast_slice(&outputs[1]);
        for (slot, actual) in slots.chunks_exact(state_len).enumerate() {
            match (op.tokens + 1 + slot).checked_sub(op.slots) {
                Some(after) if after > 0 || slot + 1 == op.slots => close(actual, &states[after], "state"),
                _ => assert!(actual.iter().all(|&x| x == 0.0), "slot {slot} of a token that is not there"),
            }
        }
    }
}

#[test]
fn every_rule_follows_its_recurrence() {
    for decay in [None, Some(Decay::Head), Some(Decay::Key)] {
        for beta_heads in [None, Some(1), Some(2)] {
            for (q_heads, past, tokens) in [(2, false, 1), (4, true, 5), (1, true, 3), (2, true, 0), (6, false, 70)] {
                check(LinearAttention {
                    batch: 2,
                    tokens,
                    q_heads,
                    kv_heads: 2,
                    key_width: 7,
                    value_width: 9,
                    scale: 0.5,
                    past,
                    decay,
                    beta_heads,
                    slots: 1,
                });
            }
        }
    }
}

#[test]
fn a_window_keeps_the_last_states() {
    for (tokens, slots) in [(1, 2), (2, 4), (4, 4), (9, 3), (0, 2)] {
        check(LinearAttention {
            batch: 1,
            tokens,
            q_heads: 3,
            kv_heads: 3,
            key_width: 4,
            value_width: 5,
            scale: 1.0,
            past: true,
            decay: Some(Decay::Head),
            beta_heads: Some(3),
            slots,
        });
    }
}

#[test]
fn a_state_in_place_is_updated() {
    let op = LinearAttention {
        batch: 1,
        tokens: 3,
        q_heads: 2,
        kv_heads: 2,
        key_width: 4,
        value_width: 5,
        scale: 1.0,
        past: true,
        decay: Some(Decay::Head),
        beta_heads: Some(2),
        slots: 1,
    };
    let inputs = inputs(&op);
    let bytes: Vec<&[u8]> = inputs.iter().map(|x| bytemuck::cast_slice(x)).collect();
    let sizes = [3 * 2 * 5 * 4, 2 * 4 * 5 * 4];
    let apart = run(op.clone(), 1, &bytes, &sizes).unwrap();
    let read = bytes.iter().enumerate().map(|(i, bytes)| Buffer { place: Place::Input(i), bytes: bytes.len() });
    let written = sizes.iter().enumerate().map(|(i, &bytes)| Buffer { place: Place::Output(i), bytes });
    let step = Step {
        driver: Box::new(op),
        inputs: (0..bytes.len()).collect(),
        outputs: (bytes.len()..bytes.len() + 2).collect(),
        label: 0,
    };
    let tape = Tape::new(read.chain(written).collect(), vec![step]).unwrap();
    let mut outputs = [AlignedBuf::zeroed(sizes[0]), AlignedBuf::copy_of(bytes[3])];
    let mut arguments: Vec<Argument<'_>> = bytes.iter().map(|bytes| Argument::Bytes(bytes)).collect();
    arguments[3] = Argument::Output(1);
    let mut slices: Vec<&mut [u8]> = outputs.iter_mut().map(|buf| &mut **buf).collect();
    tape.run_sharing(&Team::new(2).unwrap(), &mut Workspace::new(), &arguments, &mut slices).unwrap();
    assert!(outputs.iter().zip(&apart).all(|(in_place, apart)| **in_place == **apart));
}
