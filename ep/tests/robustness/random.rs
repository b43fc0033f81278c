//! Random numbers, tensors and attributes, the extreme ones among them.

use ep::DType;
use ep::ir::{Attr, Tensor};

pub const DTYPES: [DType; 13] = {
    use DType::*;
    [F32, F16, BF16, F64, I8, U8, I16, U16, I32, U32, I64, U64, Bool]
};

pub const SHAPES: [&[usize]; 20] = [
    &[],
    &[0],
    &[1],
    &[2],
    &[3],
    &[4],
    &[8],
    &[2, 2],
    &[2, 0],
    &[4, 8],
    &[8, 4],
    &[1, 4],
    &[2, 1, 4],
    &[2, 3, 4],
    &[2, 4, 8],
    &[1, 2, 4, 4],
    &[2, 2, 3, 8],
    &[1, 1, 1, 2, 2],
    &[0, usize::MAX, 2],
    &[1 << 40, 0, 1 << 40, 3],
];

/// A linear congruential generator.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub fn integer(&mut self) -> i64 {
        match self.one_in(12) {
            true => self.of(&[i64::MIN, i64::MIN + 1, i64::MAX, 1 << 40, -(1 << 40), 1 << 31]),
            false => self.below(8) as i64 - 3,
        }
    }

    pub fn float(&mut self) -> f32 {
        match self.one_in(12) {
            true => self.of(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -0.0, 1e-40]),
            false => self.below(17) as f32 / 4.0 - 2.0,
        }
    }

    pub fn integers(&mut self) -> Vec<i64> {
        (0..self.below(5)).map(|_| self.integer()).collect()
    }

    /// A tensor on the heap, aligned to eight bytes.
    pub fn words(&mut self, dtype: DType, dims: &[usize]) -> (Vec<u64>, usize) {
        let elements = if dims.contains(&0) { 0 } else { dims.iter().product() };
        let mut bytes = Vec::with_capacity(elements * dtype.size());
        for _ in 0..elements {
            match dtype {
                DType::F32 => bytes.extend(self.float().to_ne_bytes()),
                DType::F64 => bytes.extend(f64::from(self.float()).to_ne_bytes()),
                DType::F16 => bytes.extend(half::f16::from_f32(self.float()).to_ne_bytes()),
                DType::BF16 => bytes.extend(half::bf16::from_f32(self.float()).to_ne_bytes()),
                DType::Bool => bytes.push(self.below(2) as u8),
                _ => bytes.extend(&self.integer().to_le_bytes()[..dtype.size()]),
            }
        }
        let len = bytes.len();
        bytes.resize(len.next_multiple_of(8), 0);
        (bytemuck::pod_collect_to_vec(&bytes), len)
    }

    pub fn tensor(&mut self, dtype: DType, dims: &[usize]) -> Tensor<'static> {
        let (words, len) = self.words(dtype, dims);
        Tensor::borrowed(dtype, dims, &bytemuck::cast_slice(&words)[..len]).into_owned()
    }

    pub fn attr(&mut self) -> Attr<'static> {
        match self.below(12) {
            0 => Attr::Float(self.float()),
            1 => Attr::Str(self.of(&["", "none", "tanh", "linear", "add", "reflect", "edge"]).into()),
            2 | 3 => Attr::Ints(self.integers()),
            4 => {
                let (dtype, dims) = (self.of(&DTYPES), self.of(&SHAPES));
                Attr::Tensor(self.tensor(dtype, dims))
            }
            5 => self.of(&[|| Attr::Graph, || Attr::Other, || Attr::Floats(vec![1.0]), || Attr::Strs(vec![])])(),
            _ => Attr::Int(self.integer()),
        }
    }
}
