use super::{Accumulators, Activation, Block, Epilogue, EpilogueOperands, Position, Residual};
use crate::rt::Worker;
use crate::tape::SharedOut;
use crate::ukr::binary_f32::Function as Binary;
use crate::ukr::lines;
use crate::ukr::unary_f32::Function as Unary;
use crate::vector;

/// The most numbers that pass through all functions before they are written, so that no line of the output is waited for.
const LINE: usize = 128;

/// Rows whose lines are made zero before they are written: few enough that none of them leaves the first cache in between.
const TOGETHER: usize = 8;

/// The kernels of one epilogue on a core with vectors.
pub(super) struct Vectors<'w> {
    epilogue: Epilogue,
    add: vector::Binary<'w>,
    sub: vector::Binary<'w>,
    activation: Option<vector::Unary<'w>>,
}

impl<'w> Vectors<'w> {
    /// `None` when the worker's core has no vectors, or the epilogue multiplies a residual.
    pub fn new(worker: &Worker<'w>, epilogue: &Epilogue) -> Option<Self> {
        if epilogue.residual.is_some_and(|residual| residual.strides[1] == 1 && residual.factor.abs() != 1.0) {
            return None;
        }
        let activation = match activation(epilogue.activation) {
            Some((function, parameters)) => Some(vector::Unary::new(worker, function, parameters)?),
            None => None,
        };
        let (add, sub) = (vector::Binary::new(worker, Binary::Add)?, vector::Binary::new(worker, Binary::Sub)?);
        Some(Self { epilogue: *epilogue, add, sub, activation })
    }

    /// As [`Epilogue::store`]; `false` when the accumulators have no vector form, before anything is stored.
    ///
    /// # Safety
    /// That of [`Epilogue::store`].
    pub unsafe fn store<A: Accumulators>(
        &self,
        worker: &Worker<'_>,
        accumulators: &A,
        block: &Block,
        operands: &EpilogueOperands<'_>,
        out: SharedOut<'_, f32>,
        n: usize,
    ) -> bool {
        let (rows, columns) = (&block.rows, &block.columns);
        if self.activation.is_none() && self.epilogue.residual.is_none() && !rows.is_empty() {
            let bias = if self.epilogue.bias { &operands.bias[columns.clone()] } else { &[] };
            let y = out.pointer(rows.start * n + columns.start..(rows.end - 1) * n + columns.end);
            let are_done = (0..rows.len()).step_by(TOGETHER).all(|first| {
                let (some, y) = (first..(first + TOGETHER).min(rows.len()), y.wrapping_add(first * n));
                // SAFETY: the pointer is to rows of the block, which the contract of `Epilogue::store` makes ours, in a buffer of
                // the tape, which is main memory.
                unsafe {
                    lines::zero(worker.isa(), y, [some.len(), columns.len()], n);
                    accumulators.rows(worker, some, columns.len(), bias, y, n)
                }
            });
            if are_done {
                return true;
            }
        }
        let mut line = [0.0; LINE];
        for row in rows.clone() {
            // SAFETY: the contract makes the block ours, and rows do not overlap.
            let y = unsafe { out.range(row * n + columns.start..row * n + columns.end) };
            let is_done = match line.get_mut(..columns.len()) {
                Some(line) => {
                    let is_done = self.finish(worker, accumulators, block, operands, row, line);
                    y.copy_from_slice(line);
                    is_done
                }
                None => self.finish(worker, accumulators, block, operands, row, y),
            };
            if !is_done {
                return false;
            }
        }
        true
    }

    /// The results of row `row` of the output; `false` when the accumulators have no vector form.
    fn finish<A: Accumulators>(
        &self,
        worker: &Worker<'_>,
        accumulators: &A,
        block: &Block,
        operands: &EpilogueOperands<'_>,
        row: usize,
        y: &mut [f32],
    ) -> bool {
        if !accumulators.row(worker, row - block.rows.start, y) {
            return false;
        }
        if self.epilogue.bias {
            self.add.map_in_place(y, &operands.bias[block.columns.clone()]);
        }
        let residual = |position| self.epilogue.residual.filter(|residual| residual.position == position);
        if let Some(residual) = residual(Position::BeforeActivation) {
            self.add_residual(residual, operands, row, block.columns.start, y);
        }
        if let Some(activation) = &self.activation {
            activation.map_in_place(y);
        }
        if let Some(residual) = residual(Position::AfterActivation) {
            self.add_residual(residual, operands, row, block.columns.start, y);
        }
        true
    }

    fn add_residual(
        &self,
        Residual { factor, strides, .. }: Residual,
        operands: &EpilogueOperands<'_>,
        row: usize,
        column: usize,
        y: &mut [f32],
    ) {
        let values = &operands.residual[row * strides[0] + column * strides[1]..];
        match strides[1] {
            0 => self.add.map_in_place(y, &[factor * values[0]]),
            _ if factor < 0.0 => self.sub.map_in_place(y, &values[..y.len()]),
            _ => self.add.map_in_place(y, &values[..y.len()]),
        }
    }
}

fn activation(activation: Activation) -> Option<(Unary, [f32; 2])> {
    Some(match activation {
        Activation::Identity => return None,
        Activation::Relu => (Unary::Relu, [0.0; 2]),
        Activation::Gelu => (Unary::Gelu, [0.0; 2]),
        Activation::GeluTanh => (Unary::GeluTanh, [0.0; 2]),
        Activation::Silu => (Unary::Swish, [1.0, 0.0]),
        Activation::QuickGelu { alpha } => (Unary::Swish, [alpha, 0.0]),
        Activation::Sigmoid => (Unary::Sigmoid, [0.0; 2]),
        Activation::Tanh => (Unary::Tanh, [0.0; 2]),
        Activation::Clip { low, high } => (Unary::Clip, [low, high]),
    })
}
