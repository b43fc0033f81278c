//! The specification's pseudo-code, one element at a time, in 64-bit numbers.

use half::{bf16, f16};
use ime::{Control, Core, Element, Instruction, Operation, PackKind, Signs};

/// The machine before the instruction.
pub struct State {
    pub core: Core,
    pub control: Control,
    pub bytes: Vec<u8>,
}

impl State {
    fn vlen(&self) -> usize {
        8 * self.core.vlenb()
    }

    /// Element `index` of `bits` bits of the register group from `register` on, sign-extended.
    fn signed(&self, register: u8, bits: usize, index: usize) -> i64 {
        let shift = 64 - bits;
        (self.unsigned(register, bits, index) << shift) as i64 >> shift
    }

    fn unsigned(&self, register: u8, bits: usize, index: usize) -> u64 {
        let start = register as usize * self.vlen() + index * bits;
        (0..bits).map(|bit| (u64::from(self.bytes[(start + bit) / 8]) >> ((start + bit) % 8) & 1) << bit).sum()
    }

    fn number(&self, register: u8, element: Element, signed: bool, index: usize) -> i64 {
        let bits = if element == Element::I4 { 4 } else { 8 };
        if signed { self.signed(register, bits, index) } else { self.unsigned(register, bits, index) as i64 }
    }

    /// A 16-bit float; every f16 and bf16 is an f32.
    fn float(&self, register: u8, index: usize) -> f32 {
        let bits = self.unsigned(register, 16, index) as u16;
        if self.control.bf16 { bf16::from_bits(bits).to_f32() } else { f16::from_bits(bits).to_f32() }
    }

    fn round(&self, value: f32) -> f32 {
        if self.control.bf16 { bf16::from_f32(value).to_f32() } else { f16::from_f32(value).to_f32() }
    }
}

fn set(bytes: &mut [u8], state: &State, register: u8, bits: usize, index: usize, value: u64) {
    let start = register as usize * state.vlen() + index * bits;
    for bit in 0..bits {
        let (byte, mask) = (&mut bytes[(start + bit) / 8], 1 << ((start + bit) % 8));
        *byte = if value >> bit & 1 == 1 { *byte | mask } else { *byte & !mask };
    }
}

/// The registers after the instruction.
pub fn reference(state: &State, instruction: Instruction) -> Vec<u8> {
    let mut after = state.bytes.clone();
    let Instruction { operation, vd, .. } = instruction;
    let m = match state.vlen() {
        256 => 4,
        1024 => 8,
        other => panic!("VLEN {other}"),
    };
    for p in 0..m * m {
        match operation {
            Operation::Dot { element, signs } => dot(state, &mut after, instruction, (element, signs), m, 0, p),
            Operation::SlidingDot { slide, signs } => {
                dot(state, &mut after, instruction, (Element::I8, signs), m, slide, p);
            }
            Operation::SparseDot { .. } => sparse(state, &mut after, instruction, m, p),
            Operation::ScaledDot { .. } => scaled(state, &mut after, instruction, m, p),
            Operation::FloatDot { slide } => {
                let k = m;
                let mut sum = f32::from_bits(state.unsigned(vd, 32, p) as u32);
                for q in 0..k {
                    let a = state.float(instruction.vs1, (p / m + slide as usize) * k + q);
                    sum += a * state.float(instruction.vs2, p % m * k + q);
                }
                let bits = if sum.is_nan() { 0x7fc0_0000 } else { sum.to_bits() };
                set(&mut after, state, vd, 32, p, bits.into());
            }
            Operation::Pack { .. } => {}
        }
    }
    if let Operation::Pack { kind, size } = operation {
        pack(state, &mut after, instruction, kind, size);
    }
    after
}

fn depth(m: usize, element: Element) -> usize {
    if element == Element::I4 { 4 * m } else { 2 * m }
}

fn dot(
    state: &State,
    after: &mut [u8],
    Instruction { vd, vs1, vs2, .. }: Instruction,
    (element, signs): (Element, Signs),
    m: usize,
    slide: u8,
    p: usize,
) {
    let k = depth(m, element);
    let mut sum = state.signed(vd, 32, p);
    for q in 0..k {
        let a = state.number(vs1, element, signs.a(), (p / m + slide as usize) * k + q);
        sum += a * state.number(vs2, element, signs.b(), p % m * k + q);
    }
    set(after, state, vd, 32, p, sum as u64);
}

fn sparse(state: &State, after: &mut [u8], Instruction { operation, vd, vs1, vs2 }: Instruction, m: usize, p: usize) {
    let Operation::SparseDot { element, signs, mask, segment } = operation else { unreachable!() };
    let k = depth(m, element);
    let mut sum = state.signed(vd, 32, p);
    for q in 0..k / 2 {
        let pattern = state.unsigned(mask, 4, segment as usize * m * k / 2 + p % m * k / 2 + q);
        let (first, second) = match pattern {
            0b1001 => (0, 3),
            0b1010 => (1, 3),
            0b1100 => (2, 3),
            0b0101 => (0, 2),
            0b0110 => (1, 2),
            0b0011 => (0, 1),
            _ => continue,
        };
        for (which, at) in [first, second].into_iter().enumerate() {
            let a = state.number(vs1, element, signs.a(), p / m * 2 * k + 4 * q + at);
            sum += a * state.number(vs2, element, signs.b(), p % m * k + 2 * q + which);
        }
    }
    set(after, state, vd, 32, p, sum as u64);
}

fn scaled(state: &State, after: &mut [u8], Instruction { operation, vd, vs1, vs2 }: Instruction, m: usize, p: usize) {
    let Operation::ScaledDot { element, signs, scale, group } = operation else { unreachable!() };
    let k = depth(m, element);
    let sum: i64 = (0..k)
        .map(|q| {
            let a = state.number(vs1, element, signs.a(), p / m * k + q);
            a * state.number(vs2, element, signs.b(), p % m * k + q)
        })
        .sum();
    let scale = state.float(scale, group as usize * m + p % m);
    let c = state.float(vd, p) + state.round(state.round(sum as f32) * scale);
    let bits = match (c.is_nan(), state.control.bf16) {
        (true, true) => 0x7fc0,
        (true, false) => 0x7e00,
        (false, true) => bf16::from_f32(c).to_bits(),
        (false, false) => f16::from_f32(c).to_bits(),
    };
    set(after, state, vd, 16, p, bits.into());
}

fn pack(state: &State, after: &mut [u8], Instruction { vd, vs1, vs2, .. }: Instruction, kind: PackKind, size: u8) {
    let sew = 8 * state.control.vtype.element_bytes();
    let vlen = state.vlen();
    let interleaved = [sew, 128, 256, 512][size as usize];
    let narrowed = [32, 64, 128, 256][size as usize];
    match kind {
        PackKind::Pack => {
            for index in 0..2 * vlen / sew {
                let (block, within) = (index * sew / interleaved, index * sew % interleaved / sew);
                let source = if block % 2 == 0 { vs1 } else { vs2 };
                let value = state.unsigned(source, sew, block / 2 * interleaved / sew + within);
                set(after, state, vd, sew, index, value);
            }
        }
        PackKind::Unpack => {
            for index in 0..2 * vlen / sew {
                let source = if index < vlen / sew { vs1 } else { vs2 };
                let value = state.unsigned(source, sew, index % (vlen / sew));
                let (block, within) = (index * sew / interleaved, index * sew % interleaved / sew);
                set(after, state, vd + block as u8 % 2, sew, block / 2 * interleaved / sew + within, value);
            }
        }
        PackKind::Narrow | PackKind::NarrowSaturate => {
            let saturates = kind == PackKind::NarrowSaturate;
            narrow(state, after, [vd, vs1, vs2], [2 * sew, sew], narrowed / (2 * sew), saturates);
        }
        PackKind::Narrow4 | PackKind::NarrowSaturate4 => {
            let saturates = kind == PackKind::NarrowSaturate4;
            narrow(state, after, [vd, vs1, vs2], [8, 4], narrowed / 4, saturates);
        }
    }
}

/// Narrows elements of `wide` to `slim` bits, `run` elements of each source in turn.
fn narrow(
    state: &State,
    after: &mut [u8],
    [vd, vs1, vs2]: [u8; 3],
    [wide, slim]: [usize; 2],
    run: usize,
    saturates: bool,
) {
    let (low, high) = (-1i64 << (slim - 1), (1i64 << (slim - 1)) - 1);
    for index in 0..state.vlen() / slim {
        let (block, within) = (index / run, index % run);
        let source = if block % 2 == 0 { vs1 } else { vs2 };
        let value = state.signed(source, wide, block / 2 * run + within);
        let value = if saturates { value.max(low).min(high) } else { value };
        set(after, state, vd, slim, index, value as u64);
    }
}
