//! Matrix products of MiniLM's shapes: `cargo bench -p kernels --bench matmul`. Prints the best of many runs.

use std::sync::Arc;
use std::time::Instant;

use kernels::driver::Driver;
use kernels::isa::Target;
use kernels::mem::{AlignedBuf, Workspace};
use kernels::ops::epilogue::{Activation, Epilogue, Position, Residual};
use kernels::ops::matmul::MatMul;
use kernels::ops::matmul_int::{IntOutput, LeftSide, MatMulInt, ZeroPoint};
use kernels::pack::{PackLayout, PackedWeights, WeightData, WeightSource};
use kernels::rt::Team;
use kernels::tape::{Buffer, Place, Step, Tape};

fn main() {
    println!("{:>5} {:>5} {:>5} {:>8} {:>9}  {:<10} step", "m", "k", "n", "threads", "us", "Gop/s");
    for (k, n) in [(384, 384), (384, 1152), (384, 1536), (1536, 384)] {
        for m in [1, 32, 1024] {
            for threads in [1, 2] {
                f32_product(m, k, n, threads);
                int_product(m, k, n, threads);
            }
        }
    }
}

fn f32_product(m: usize, k: usize, n: usize, threads: usize) {
    let b = numbers(k * n);
    let source = WeightSource { data: WeightData::F32(&b), k, n, transposed: false };
    let weights = Arc::new(PackedWeights::pack(PackLayout::HostF32, source).expect("sizes agree"));
    let residual = Residual { position: Position::AfterActivation, factor: 1.0, strides: [n, 1] };
    let epilogue = match n {
        1536 => Epilogue { bias: true, activation: Activation::Gelu, residual: None },
        384 => Epilogue { bias: true, activation: Activation::Identity, residual: Some(residual) },
        _ => Epilogue { bias: true, activation: Activation::Identity, residual: None },
    };
    let mut inputs = vec![numbers(m * k), numbers(n)];
    if epilogue.residual.is_some() {
        inputs.push(numbers(m * n));
    }
    let inputs: Vec<&[u8]> = inputs.iter().map(|input| bytemuck::cast_slice(input)).collect();
    measure(Box::new(MatMul::new(&Target::host(threads), m, false, 1.0, weights, epilogue)), &inputs, m, k, n, threads);
}

fn int_product(m: usize, k: usize, n: usize, threads: usize) {
    let bytes = |len| numbers(len).into_iter().map(|x| (x * 127.0) as i8).collect::<Vec<i8>>();
    let b = bytes(k * n);
    let source = WeightSource { data: WeightData::I8(&b), k, n, transposed: false };
    let weights = Arc::new(PackedWeights::pack(PackLayout::HostI8, source).expect("sizes agree"));
    let activation = if n == 1536 { Activation::Gelu } else { Activation::Identity };
    let epilogue = Epilogue { bias: true, activation, residual: None };
    let left = LeftSide { signed: false, zero_point: ZeroPoint::Tensor };
    let output = IntOutput::F32 { b_scales: vec![0.01], epilogue };
    let (a, bias) = (bytes(m * k), numbers(n));
    let inputs: [&[u8]; 4] =
        [bytemuck::cast_slice(&a), &[100], bytemuck::bytes_of(&0.01f32), bytemuck::cast_slice(&bias)];
    measure(Box::new(MatMulInt::new(&Target::host(threads), m, left, weights, &[], output)), &inputs, m, k, n, threads);
}

fn measure(driver: Box<dyn Driver>, inputs: &[&[u8]], m: usize, k: usize, n: usize, threads: usize) {
    let name = driver.to_string();
    let mut buffers: Vec<Buffer> =
        inputs.iter().enumerate().map(|(i, input)| Buffer { place: Place::Input(i), bytes: input.len() }).collect();
    buffers.push(Buffer { place: Place::Output(0), bytes: m * n * 4 });
    let step =
        Step { driver, inputs: (0..inputs.len()).collect(), outputs: [inputs.len()].into_iter().collect(), label: 0 };
    let tape = Tape::new(buffers, vec![step]).expect("operands are distinct");
    let team = Team::new(threads).expect("threads start");
    let (mut workspace, mut output) = (Workspace::new(), AlignedBuf::zeroed(m * n * 4));
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 0.3 {
        let start = Instant::now();
        tape.run(&team, &mut workspace, inputs, &mut [&mut output]).expect("runs");
        best = best.min(start.elapsed().as_secs_f64());
    }
    let rate = 2.0 * (m * k * n) as f64 / best / 1e9;
    println!("{m:>5} {k:>5} {n:>5} {threads:>8} {:>9.1}  {rate:<10.1} {name}", best * 1e6);
}

/// A fixed sequence of numbers in -1..1.
fn numbers(len: usize) -> Vec<f32> {
    let mut state = 1u32;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        })
        .collect()
}
