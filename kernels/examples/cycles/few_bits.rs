//! Products with weights of few bits as whole drivers: rounding of the left side and the epilogue included.

use std::sync::Arc;

use kernels::isa::Target;
use kernels::ops::epilogue::Epilogue;
use kernels::ops::matmul_nbits::{Compute, Engine, MatMulNBits};
use kernels::pack::{Codes, NBitsShape, NBitsWeights};

use crate::item::{From, Items, Unit, buffer, floats};
use crate::products::{Made, target};

pub fn all(items: &mut Items) {
    let q4 = Weight { bits: 4, block: 32, zero_points: false };
    let q8 = Weight { bits: 8, ..q4 };
    let weights = [
        ("q4", q4),
        ("q4_zero_points", Weight { zero_points: true, ..q4 }),
        ("q4_block_128", Weight { block: 128, ..q4 }),
        ("q8", q8),
        ("q2", Weight { bits: 2, ..q4 }),
    ];
    for (name, weight) in weights {
        row(items, name, weight, [1536, 1536]);
        rows(items, name, weight, Compute::Int8, [8, 384, 1536]);
        rows(items, name, weight, Compute::Int8, [128, 256, 1536]);
    }
    rows(items, "q4", q4, Compute::Int8, [128, 1536, 1536]);
    rows(items, "q4_f32", q4, Compute::F32, [128, 256, 1536]);
    // SmolLM2-135M: down, and a part of its words.
    row(items, "q4", q4, [576, 1536]);
    row(items, "q8", q8, [4096, 576]);
}

/// 4 bits in blocks of 32, multiplied in int8.
pub fn q4(target: &Target, shape: [usize; 3]) -> Made {
    product(target, Weight { bits: 4, block: 32, zero_points: false }, Compute::Int8, shape)
}

#[derive(Clone, Copy)]
struct Weight {
    bits: usize,
    block: usize,
    zero_points: bool,
}

impl Weight {
    fn shape(self, n: usize, k: usize) -> NBitsShape {
        NBitsShape::new(k, n, self.bits, self.block).expect("a known shape")
    }

    /// Bytes of the model's weight with scales and zero points in f32.
    fn bytes(self, n: usize, k: usize) -> usize {
        let blocks = self.shape(n, k).blocks();
        n * (k * self.bits / 8 + 4 * blocks * (1 + usize::from(self.zero_points)))
    }
}

fn rows(items: &mut Items, name: &str, weight: Weight, compute: Compute, [m, n, k]: [usize; 3]) {
    let name = format!("matmul_{name}_{m}x{n}x{k}");
    items.driver(&name, (m * n * k, Unit::Mac), From::L2, || product(&target(), weight, compute, [m, n, k]));
}

/// One row in int8, with the weight in DRAM.
fn row(items: &mut Items, name: &str, weight: Weight, [n, k]: [usize; 2]) {
    let name = format!("matmul_{name}_1x{n}x{k}");
    let work = (weight.bytes(n, k), Unit::Byte);
    items.driver(&name, work, From::Dram, || product(&target(), weight, Compute::Int8, [1, n, k]));
}

fn product(target: &Target, weight: Weight, compute: Compute, [m, n, k]: [usize; 3]) -> Made {
    let shape = weight.shape(n, k);
    let bytes: Vec<u8> = (0..k * n * weight.bits / 8).map(|i| (i * 37 + i / 7) as u8).collect();
    let codes = Codes { bytes: &bytes, signed: false, row_stride: 1, column_stride: k };
    let scales = vec![0.01; n * shape.blocks()];
    let zero_points = weight.zero_points.then(|| vec![5.0; scales.len()]);
    let engine = Engine::new(target, compute);
    let weights = NBitsWeights::pack(engine.layout(), shape, codes, &scales, zero_points.as_deref());
    let driver = MatMulNBits::new(m, engine, Arc::new(weights.expect("sizes agree")), Epilogue::NONE);
    (Box::new(driver), vec![buffer(&floats(m * k))], vec![m * n * 4])
}
