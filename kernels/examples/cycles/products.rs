//! Matrix products as whole drivers: packing of the left side and the epilogue included.

use std::sync::Arc;

use half::f16;
use kernels::driver::Driver;
use kernels::isa::{Target, isa_of_this_thread};
use kernels::mem::AlignedBuf;
use kernels::ops::epilogue::{Activation, Epilogue};
use kernels::ops::matmul::MatMul;
use kernels::ops::matmul_int::{IntOutput, LeftSide, MatMulInt, ZeroPoint};
use kernels::pack::{PackedWeights, WeightData, WeightSource};
use kernels::select;

use crate::item::{From, Items, Unit, buffer, floats};

pub type Made = (Box<dyn Driver>, Vec<AlignedBuf>, Vec<usize>);

/// The chip of this core, with one worker.
pub fn target() -> Target {
    let chip = if isa_of_this_thread().vlen == 1024 { Target::k3() } else { Target::k1() };
    chip.with_workers(1)
}

pub fn all(items: &mut Items) {
    // Rows, columns, depth.
    for [m, n, k] in [[512, 512, 512], [128, 1536, 384], [128, 384, 1536], [1, 1536, 384]] {
        let name = format!("matmul_int8_{m}x{n}x{k}");
        items.driver(&name, (m * n * k, Unit::Mac), From::L2, || int8(&target(), [m, n, k]));
    }
    for [m, n, k] in [[256, 256, 256], [48, 1536, 384]] {
        items.driver(&format!("matmul_f32_{m}x{n}x{k}"), (m * n * k, Unit::Mac), From::L2, || {
            float(&target(), [m, n, k], false)
        });
        items.driver(&format!("matmul_f16_{m}x{n}x{k}"), (m * n * k, Unit::Mac), From::L2, || {
            float(&target(), [m, n, k], true)
        });
    }
}

const BIAS: Epilogue = Epilogue { bias: true, activation: Activation::Identity, residual: None };

/// u8 activations with a zero point, i8 weights with a scale for each column, f32 results.
pub fn int8(target: &Target, [m, n, k]: [usize; 3]) -> Made {
    let bytes = |len| floats(len).into_iter().map(|x| (x * 127.0) as i8).collect::<Vec<i8>>();
    let b = bytes(k * n);
    let source = WeightSource { data: WeightData::I8(&b), k, n, transposed: false };
    let weights = Arc::new(PackedWeights::pack(select::i8_layout(target), source).expect("sizes agree"));
    let left = LeftSide { signed: false, zero_point: ZeroPoint::Tensor };
    let output = IntOutput::F32 { b_scales: vec![0.01; n], epilogue: BIAS };
    let driver = MatMulInt::new(target, m, left, weights, &[], output);
    let inputs = vec![buffer(&bytes(m * k)), buffer(&[100u8]), buffer(&[0.01f32]), buffer(&floats(n))];
    (Box::new(driver), inputs, vec![m * n * 4])
}

/// f32 or f16 on both sides, f32 results.
pub fn float(target: &Target, [m, n, k]: [usize; 3], half: bool) -> Made {
    let halves = |len| floats(len).into_iter().map(f16::from_f32).collect::<Vec<f16>>();
    let (b, b_half) = (floats(k * n), halves(k * n));
    let layout =
        if half { select::f16_layout(target).expect("the chips have Zvfh") } else { select::f32_layout(target) };
    let data = if half { WeightData::F16(&b_half) } else { WeightData::F32(&b) };
    let source = WeightSource { data, k, n, transposed: false };
    let weights = Arc::new(PackedWeights::pack(layout, source).expect("sizes agree"));
    let driver = MatMul::new(target, m, false, 1.0, weights, BIAS);
    let a = if half { buffer(&halves(m * k)) } else { buffer(&floats(m * k)) };
    (Box::new(driver), vec![a, buffer(&floats(n))], vec![m * n * 4])
}
