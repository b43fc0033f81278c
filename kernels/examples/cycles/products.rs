//! Matrix products as whole drivers: packing of the left side and the epilogue included.

use std::sync::Arc;

use half::f16;
use kernels::driver::Driver;
use kernels::isa::{Target, isa_of_this_thread};
use kernels::mem::AlignedBuf;
use kernels::ops::epilogue::{Activation, Epilogue};
use kernels::ops::matmul::MatMul;
use kernels::ops::matmul_int::{IntOutput, LeftSide, MatMulInt, ZeroPoint};
use kernels::ops::matmul_nbits::{Compute, Engine, MatMulNBits};
use kernels::pack::{Codes, NBitsShape, NBitsWeights, PackedWeights, WeightData, WeightSource};
use kernels::select;

use crate::item::{From, Items, Unit, buffer, floats};

type Made = (Box<dyn Driver>, Vec<AlignedBuf>, Vec<usize>);

/// The chip of this core, with one worker.
fn target() -> Target {
    let chip = if isa_of_this_thread().vlen == 1024 { Target::k3() } else { Target::k1() };
    chip.with_workers(1)
}

pub fn all(items: &mut Items) {
    // Rows, columns, depth.
    for [m, n, k] in [[512, 512, 512], [128, 1536, 384], [128, 384, 1536], [1, 1536, 384]] {
        let name = format!("matmul_int8_{m}x{n}x{k}");
        items.driver(&name, (m * n * k, Unit::Mac), From::L2, || int8(m, n, k));
    }
    for [m, n, k] in [[256, 256, 256], [48, 1536, 384]] {
        items.driver(&format!("matmul_f32_{m}x{n}x{k}"), (m * n * k, Unit::Mac), From::L2, || float(m, n, k, false));
        items.driver(&format!("matmul_f16_{m}x{n}x{k}"), (m * n * k, Unit::Mac), From::L2, || float(m, n, k, true));
    }
    for (bits, [m, n, k]) in [(4, [8, 384, 1536]), (4, [1, 1536, 1536]), (8, [1, 1536, 1536])] {
        let from = if m == 1 { From::Dram } else { From::L2 };
        let name = format!("matmul_q{bits}_{m}x{n}x{k}");
        items.driver(&name, (m * n * k, Unit::Mac), from, || nbits(bits, m, n, k));
    }
}

const BIAS: Epilogue = Epilogue { bias: true, activation: Activation::Identity, residual: None };

/// u8 activations with a zero point, i8 weights with a scale for each column, f32 results.
fn int8(m: usize, n: usize, k: usize) -> Made {
    let bytes = |len| floats(len).into_iter().map(|x| (x * 127.0) as i8).collect::<Vec<i8>>();
    let b = bytes(k * n);
    let source = WeightSource { data: WeightData::I8(&b), k, n, transposed: false };
    let weights = Arc::new(PackedWeights::pack(select::i8_layout(&target()), source).expect("sizes agree"));
    let left = LeftSide { signed: false, zero_point: ZeroPoint::Tensor };
    let output = IntOutput::F32 { b_scales: vec![0.01; n], epilogue: BIAS };
    let driver = MatMulInt::new(&target(), m, left, weights, &[], output);
    let inputs = vec![buffer(&bytes(m * k)), buffer(&[100u8]), buffer(&[0.01f32]), buffer(&floats(n))];
    (Box::new(driver), inputs, vec![m * n * 4])
}

fn float(m: usize, n: usize, k: usize, half: bool) -> Made {
    let halves = |len| floats(len).into_iter().map(f16::from_f32).collect::<Vec<f16>>();
    let (b, b_half) = (floats(k * n), halves(k * n));
    let layout =
        if half { select::f16_layout(&target()).expect("the chips have Zvfh") } else { select::f32_layout(&target()) };
    let data = if half { WeightData::F16(&b_half) } else { WeightData::F32(&b) };
    let source = WeightSource { data, k, n, transposed: false };
    let weights = Arc::new(PackedWeights::pack(layout, source).expect("sizes agree"));
    let driver = MatMul::new(&target(), m, false, 1.0, weights, BIAS);
    let a = if half { buffer(&halves(m * k)) } else { buffer(&floats(m * k)) };
    (Box::new(driver), vec![a, buffer(&floats(n))], vec![m * n * 4])
}

/// Weights of blocks of 32, activations in int8.
fn nbits(bits: usize, m: usize, n: usize, k: usize) -> Made {
    let shape = NBitsShape::new(k, n, bits, 32).expect("a known shape");
    let bytes: Vec<u8> = (0..k * n * bits / 8).map(|i| (i * 37 + i / 7) as u8).collect();
    let codes = Codes { bytes: &bytes, signed: false, row_stride: 1, column_stride: k };
    let scales = vec![0.01; n * shape.blocks()];
    let engine = Engine::new(&target(), Compute::Int8);
    let weights = Arc::new(NBitsWeights::pack(engine.layout(), shape, codes, &scales, None).expect("sizes agree"));
    let driver = MatMulNBits::new(m, engine, weights, Epilogue::NONE);
    (Box::new(driver), vec![buffer(&floats(m * k))], vec![m * n * 4])
}
