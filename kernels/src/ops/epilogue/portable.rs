//! The epilogue on the host, and on cores without vectors.

use rten_simd::ops::{BitOps, NumOps};
use rten_simd::{Elem, Isa, Simd, SimdOp, SimdUnaryOp};
use rten_vecmath::{ApproxGelu, Sigmoid, Silu, Swish, Tanh};

use super::{Accumulators, Activation, Block, Epilogue, EpilogueOperands, Position};
use crate::host::Gelu;
use crate::tape::SharedOut;

impl Epilogue {
    /// Applies the epilogue to the accumulators of `block` and stores the result in `out`, which has `n` columns.
    ///
    /// # Safety
    /// No other rank touches the block of the output, and the caller holds no slice of it.
    pub(super) unsafe fn store_portably<A: Accumulators>(
        &self,
        accumulators: A,
        block: &Block,
        operands: &EpilogueOperands<'_>,
        out: SharedOut<'_, f32>,
        n: usize,
    ) {
        macro_rules! store {
            ($activation:expr) => {
                Store { epilogue: self, activation: $activation, accumulators, block, operands, out, n }.dispatch()
            };
        }
        match self.activation {
            Activation::Identity => store!(Identity),
            Activation::Relu => store!(Clamp { low: 0.0, high: f32::INFINITY }),
            Activation::Clip { low, high } => store!(Clamp { low, high }),
            Activation::Gelu => store!(Gelu),
            Activation::GeluTanh => store!(ApproxGelu {}),
            Activation::Silu => store!(Silu {}),
            Activation::QuickGelu { alpha } => store!(Swish { alpha }),
            Activation::Sigmoid => store!(Sigmoid {}),
            Activation::Tanh => store!(Tanh {}),
        }
    }
}

/// The first `lanes` elements of `values`; all of the vector when it has so many lanes.
#[inline(always)]
pub(crate) fn load<T: Elem, O: NumOps<T>>(ops: O, values: &[T], lanes: usize) -> O::Simd {
    if lanes == ops.len() { ops.load(values) } else { ops.load_pad(&values[..lanes]).0 }
}

struct Store<'a, A, F> {
    epilogue: &'a Epilogue,
    activation: F,
    accumulators: A,
    block: &'a Block,
    operands: &'a EpilogueOperands<'a>,
    out: SharedOut<'a, f32>,
    n: usize,
}

impl<A: Accumulators, F: SimdUnaryOp<f32>> SimdOp for Store<'_, A, F> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let Block { rows, columns } = self.block;
        for row in rows.clone() {
            let start = row * self.n;
            // SAFETY: `Epilogue::store`'s contract makes the block ours, and rows do not overlap.
            let out = unsafe { self.out.range(start + columns.start..start + columns.end) };
            for (index, out) in out.chunks_mut(isa.f32().len()).enumerate() {
                let column = index * isa.f32().len();
                let sums = self.accumulators.load(isa, row - rows.start, column, out.len());
                store(isa.f32(), self.finish(isa, sums, row, columns.start + column, out.len()), out);
            }
        }
    }
}

impl<A, F: SimdUnaryOp<f32>> Store<'_, A, F> {
    /// Bias, residual and activation of `lanes` elements from `[row, column]` of the output on.
    #[inline(always)]
    fn finish<I: Isa>(&self, isa: I, sums: I::F32, row: usize, column: usize, lanes: usize) -> I::F32 {
        let ops = isa.f32();
        let mut x = sums;
        if self.epilogue.bias {
            x = ops.add(x, load(ops, &self.operands.bias[column..], lanes));
        }
        let Some(residual) = self.epilogue.residual else {
            return self.activation.eval(isa, x);
        };
        let [row_stride, column_stride] = residual.strides;
        let values = &self.operands.residual[row * row_stride + column * column_stride..];
        let added = if column_stride == 0 { ops.splat(values[0]) } else { load(ops, values, lanes) };
        let factor = ops.splat(residual.factor);
        match residual.position {
            Position::BeforeActivation => self.activation.eval(isa, ops.mul_add(added, factor, x)),
            Position::AfterActivation => ops.mul_add(added, factor, self.activation.eval(isa, x)),
        }
    }
}

/// Stores the first `out.len()` lanes.
#[inline(always)]
pub(crate) fn store<T: Elem, O: NumOps<T>>(ops: O, x: O::Simd, out: &mut [T]) {
    if out.len() == ops.len() {
        ops.store(x, out);
    } else {
        let lanes = x.to_array();
        out.copy_from_slice(&lanes.as_ref()[..out.len()]);
    }
}

struct Identity;

impl SimdUnaryOp<f32> for Identity {
    #[inline(always)]
    fn eval<I: Isa>(&self, _isa: I, x: I::F32) -> I::F32 {
        x
    }
}

struct Clamp {
    low: f32,
    high: f32,
}

impl SimdUnaryOp<f32> for Clamp {
    #[inline(always)]
    fn eval<I: Isa>(&self, isa: I, x: I::F32) -> I::F32 {
        let ops = isa.f32();
        let (low, high) = (ops.splat(self.low), ops.splat(self.high));
        // Selecting by comparison keeps NaN, which no comparison selects against.
        let x = ops.select(low, x, ops.lt(x, low));
        ops.select(high, x, ops.gt(x, high))
    }
}
