use std::fmt;
use std::sync::Arc;

use rten_simd::ops::NumOps;
use rten_simd::{Isa, SimdUnaryOp};
use rten_vecmath::{ApproxGelu, Silu};

use super::engine::Engine;
use super::left::{Left, chunks};
use crate::driver::{Driver, RunError};
use crate::host;
use crate::mem::Scratch;
use crate::ops::epilogue::{Accumulators, Block, Epilogue, Tile, load};
use crate::pack::NBitsWeights;
use crate::rt::Worker;
use crate::tape::Io;
use crate::ukr::binary_f32::Function as Binary;
use crate::ukr::unary_f32::Function;
use crate::vector;

/// What [`GatedNBits`] does to the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// `x sigmoid(x)`
    Silu,
    /// `x/2 (1 + erf(x/sqrt 2))`
    Gelu,
    /// `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    GeluTanh,
}

/// `Y[m, n] = gate(A x G + g) * (A x U + u)` with constant `G` and `U` of 2, 4 or 8 bits and one shape.
///
/// Inputs: `A` (f32, row-major `[m, k]`), then `g` and `u` (f32, `[n]`) as far as there are any. Output: `Y` (f32,
/// row-major).
pub struct GatedNBits {
    m: usize,
    engine: Engine,
    gate: Gate,
    weights: [Arc<NBitsWeights>; 2],
    biases: [bool; 2],
}

impl GatedNBits {
    /// `weights` are `G` and `U`; `biases` tells whether there are `g` and `u`.
    ///
    /// # Panics
    /// When the weights have not one shape, or [`GatedNBits::fits`] denies these rows.
    pub fn new(m: usize, engine: Engine, gate: Gate, weights: [Arc<NBitsWeights>; 2], biases: [bool; 2]) -> Self {
        assert!(Self::fits(engine, m), "too many rows");
        assert_eq!(weights[0].shape(), weights[1].shape(), "one shape");
        Self { m, engine, gate, weights, biases }
    }

    /// Whether the driver takes `m` rows. Of more, each product of its own writes the weight out in f32 once.
    pub fn fits(engine: Engine, m: usize) -> bool {
        !engine.unpacks(m)
    }
}

impl fmt::Display for GatedNBits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { m, gate, .. } = self;
        write!(f, "gated_nbits m={m} {} in {} {gate:?}", self.weights[0].shape(), self.engine.method(*m))
    }
}

impl Driver for GatedNBits {
    fn scratch(&self) -> usize {
        let rows = self.engine.block_rows(self.m, self.weights[0].shape(), 2);
        Scratch::bytes::<u8>(Left::scratch(self.engine, self.weights[0].shape(), rows))
            + 2 * Scratch::bytes::<f32>(rows * self.engine.strip(self.m))
    }

    fn run(&self, worker: &Worker<'_>, io: &Io<'_>, scratch: &mut [u8]) -> Result<(), RunError> {
        let shape = self.weights[0].shape();
        let (rows, panels) = self.engine.share(worker, self.m, shape);
        if rows.is_empty() || panels.is_empty() {
            return Ok(());
        }
        let (most, columns) = (self.engine.block_rows(self.m, shape, 2), self.engine.strip(self.m));
        let mut scratch = Scratch::new(scratch);
        let (gate, up): (&mut [f32], &mut [f32]) = (scratch.take(most * columns), scratch.take(most * columns));
        let bytes: &mut [u8] = scratch.take(Left::scratch(self.engine, shape, most));
        let a = io.input::<f32>(0);
        for rows in chunks(rows, most) {
            let a = &a[rows.start * shape.k()..rows.end * shape.k()];
            let mut left = Left::prepare(worker, (self.engine, self.m), shape, a, bytes);
            for strip in chunks(panels.clone(), columns / self.engine.layout().panel()) {
                left.multiply(worker, &self.weights[0], strip.clone(), gate)?;
                left.multiply(worker, &self.weights[1], strip.clone(), up)?;
                let columns = self.engine.columns(shape, &strip);
                self.store(worker, io, [gate, up], &Block { rows: rows.clone(), columns });
            }
        }
        Ok(())
    }
}

impl GatedNBits {
    /// Stores a block of the output, whose products are `tiles`.
    fn store(&self, worker: &Worker<'_>, io: &Io<'_>, tiles: [&[f32]; 2], block: &Block) {
        let bias = |index: usize, operand: usize| -> &[f32] {
            if self.biases[index] { &io.input(operand)[block.columns.clone()] } else { &[] }
        };
        let biases = [bias(0, 1), bias(1, 1 + usize::from(self.biases[0]))];
        let sums = [0, 1].map(|side| Sums {
            tile: Tile { sums: tiles[side], columns: self.engine.strip(self.m) },
            bias: biases[side],
        });
        let (operands, out, n) = (Epilogue::NONE.operands(io, 1), io.output(0), self.weights[0].shape().n());
        macro_rules! store {
            ($gate:expr, $function:expr) => {{
                let gated = Gated { gate: $gate, function: $function, sums };
                // SAFETY: the blocks of ranks, rows and strips are disjoint.
                unsafe { Epilogue::NONE.store(worker, gated, block, &operands, out, n) }
            }};
        }
        match self.gate {
            Gate::Silu => store!(Silu {}, Function::Swish),
            Gate::Gelu => store!(host::Gelu, Function::Gelu),
            Gate::GeluTanh => store!(ApproxGelu {}, Function::GeluTanh),
        }
    }
}

/// A product with its bias, which is empty where there is none.
struct Sums<'a> {
    tile: Tile<'a>,
    bias: &'a [f32],
}

impl Sums<'_> {
    #[inline(always)]
    fn load<I: Isa>(&self, isa: I, row: usize, column: usize, lanes: usize) -> I::F32 {
        let sums = self.tile.load(isa, row, column, lanes);
        if self.bias.is_empty() { sums } else { isa.f32().add(sums, load(isa.f32(), &self.bias[column..], lanes)) }
    }
}

/// `gate(sums[0]) * sums[1]`
struct Gated<'a, F> {
    gate: F,
    /// The gate in vectors; that of `Swish` has an alpha of 1.
    function: Function,
    sums: [Sums<'a>; 2],
}

impl<F: SimdUnaryOp<f32>> Accumulators for Gated<'_, F> {
    #[inline(always)]
    fn load<I: Isa>(&self, isa: I, row: usize, column: usize, lanes: usize) -> I::F32 {
        let [gate, up] = &self.sums;
        let (gate, up) = (gate.load(isa, row, column, lanes), up.load(isa, row, column, lanes));
        isa.f32().mul(self.gate.eval(isa, gate), up)
    }

    fn row(&self, worker: &Worker<'_>, row: usize, y: &mut [f32]) -> bool {
        let [gate, up] = &self.sums;
        let kernels = (
            vector::Unary::new(worker, self.function, [1.0, 0.0]),
            vector::Binary::new(worker, Binary::Add),
            vector::Binary::new(worker, Binary::Mul),
        );
        let (Some(function), Some(add), Some(multiply)) = kernels else { return false };
        if !up.bias.is_empty() || !gate.tile.row(worker, row, y) {
            return false;
        }
        if !gate.bias.is_empty() {
            add.map_in_place(y, &gate.bias[..y.len()]);
        }
        function.map_in_place(y);
        multiply.map_in_place(y, &up.tile.sums[row * up.tile.columns..][..y.len()]);
        true
    }
}
