//! Products with weights of few bits, of SmolLM2's shapes: `cargo bench -p kernels --bench matmul_nbits`. Prints the best
//! of many runs.

use std::sync::Arc;
use std::time::Instant;

use kernels::driver::Driver;
use kernels::isa::Target;
use kernels::mem::{AlignedBuf, Workspace};
use kernels::ops::epilogue::Epilogue;
use kernels::ops::matmul_nbits::{Compute, Engine, MatMulNBits};
use kernels::pack::{Codes, NBitsShape, NBitsWeights};
use kernels::rt::Team;
use kernels::tape::{Buffer, Place, Step, Tape};

fn main() {
    println!("{:>5} {:>8} {:>9}  {:<10} step", "m", "threads", "us", "Gop/s");
    for (k, n, bits) in [(576, 576, 4), (576, 1536, 4), (1536, 576, 4), (576, 1536, 8), (576, 1536, 2), (576, 49152, 8)]
    {
        for m in [1, 128] {
            for compute in [Compute::Int8, Compute::F32] {
                for threads in [1, 2] {
                    measure(m, k, n, bits, compute, threads);
                }
            }
        }
    }
}

fn measure(m: usize, k: usize, n: usize, bits: usize, compute: Compute, threads: usize) {
    let shape = NBitsShape::new(k, n, bits, 32).expect("a known shape");
    let bytes: Vec<u8> = (0..k * n * bits / 8).map(|i| (i * 37 + i / 7) as u8).collect();
    let codes = Codes { bytes: &bytes, signed: false, row_stride: 1, column_stride: k };
    let scales = vec![0.01; n * shape.blocks()];
    let engine = Engine::new(&Target::host(threads), compute);
    let weights = Arc::new(NBitsWeights::pack(engine.layout(), shape, codes, &scales, None).expect("sizes agree"));
    let driver = MatMulNBits::new(m, engine, weights, Epilogue::NONE);
    let name = driver.to_string();
    let a: Vec<f32> = (0..m * k).map(|i| (i % 61) as f32 / 30.0 - 1.0).collect();
    let buffers =
        vec![Buffer { place: Place::Input(0), bytes: m * k * 4 }, Buffer { place: Place::Output(0), bytes: m * n * 4 }];
    let driver: Box<dyn Driver> = Box::new(driver);
    let step = Step { driver, inputs: [0].into_iter().collect(), outputs: [1].into_iter().collect(), label: 0 };
    let tape = Tape::new(buffers, vec![step]).expect("operands are distinct");
    let team = Team::new(threads).expect("threads start");
    let (mut workspace, mut output) = (Workspace::new(), AlignedBuf::zeroed(m * n * 4));
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < 0.3 {
        let start = Instant::now();
        tape.run(&team, &mut workspace, &[bytemuck::cast_slice(&a)], &mut [&mut output]).expect("runs");
        best = best.min(start.elapsed().as_secs_f64());
    }
    let rate = 2.0 * (m * k * n) as f64 / best / 1e9;
    println!("{m:>5} {threads:>8} {:>9.1}  {rate:<10.1} {name}", best * 1e6);
}
