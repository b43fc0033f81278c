//! What a matrix product does to its accumulators before they become the output.
//!
//! The order is fixed: accumulate, scale, add the bias, then the residual and the activation in the order that
//! [`Residual::position`] says, store. All of it is f32.

mod portable;
mod stored;
mod vectors;

use std::fmt;
use std::ops::Range;

use rten_simd::Isa;

pub(crate) use portable::{load, store};
use stored::Stored;
use vectors::Vectors;

use crate::rt::Worker;
use crate::tape::{Io, SharedOut};
use crate::ukr::binary_f32::Function;
use crate::vector;

/// An elementwise function at the end of a matrix product. NaN stays NaN.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Activation {
    #[default]
    Identity,
    /// `max(x, 0)`
    Relu,
    /// `x/2 (1 + erf(x/sqrt 2))`
    Gelu,
    /// `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`
    GeluTanh,
    /// `x sigmoid(x)`
    Silu,
    /// `x sigmoid(alpha x)`
    QuickGelu {
        alpha: f32,
    },
    Sigmoid,
    Tanh,
    /// `min(max(x, low), high)`
    Clip {
        low: f32,
        high: f32,
    },
}

/// Where the residual enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    BeforeActivation,
    AfterActivation,
}

/// `factor * residual[row, column]` is added to the product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    pub position: Position,
    pub factor: f32,
    /// Strides of the residual's rows and columns in elements; 0 repeats it. The column stride is 0 or 1.
    pub strides: [usize; 2],
}

/// The end of a matrix product whose output has `n` columns.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Epilogue {
    /// The step has a bias operand: `n` values, one for each column.
    pub bias: bool,
    pub activation: Activation,
    /// The step has a residual operand.
    pub residual: Option<Residual>,
}

impl Epilogue {
    /// Leaves the product as it is.
    pub const NONE: Self = Self { bias: false, activation: Activation::Identity, residual: None };

    /// The operands behind input `first` of the step: bias, then residual.
    pub(crate) fn operands<'a>(&self, io: &Io<'a>, first: usize) -> EpilogueOperands<'a> {
        let residual = first + usize::from(self.bias);
        EpilogueOperands {
            bias: if self.bias { io.input(first) } else { &[] },
            residual: if self.residual.is_some() { io.input(residual) } else { &[] },
        }
    }

    /// Checks the sizes of the operands against an output of `m x n`.
    ///
    /// # Panics
    /// When an operand is too short, which the planner must not let happen.
    pub(crate) fn check(&self, m: usize, n: usize, operands: &EpilogueOperands<'_>) {
        assert_eq!(operands.bias.len(), if self.bias { n } else { 0 }, "bias length");
        if let (Some(residual), false) = (self.residual, m == 0 || n == 0) {
            let [row, column] = residual.strides;
            assert!(column <= 1, "residual column stride");
            assert!(operands.residual.len() > (m - 1) * row + (n - 1) * column, "residual length");
        }
    }

    /// Applies what follows the bias to numbers of `block` that are in `out` already, which has `n` columns.
    ///
    /// # Safety
    /// That of [`Epilogue::store`].
    pub(crate) unsafe fn finish(
        &self,
        worker: &Worker<'_>,
        block: &Block,
        operands: &EpilogueOperands<'_>,
        out: SharedOut<'_, f32>,
        n: usize,
    ) {
        let rest = Self { bias: false, ..*self };
        if rest != Self::NONE {
            // SAFETY: the caller's promise.
            unsafe { rest.store(worker, Stored { block, out, n }, block, operands, out, n) }
        }
    }

    /// Applies the epilogue to the accumulators of `block` and stores the result in `out`, which has `n` columns.
    ///
    /// # Safety
    /// No other rank touches the block of the output, and the caller holds no slice of it.
    pub(crate) unsafe fn store<A: Accumulators>(
        &self,
        worker: &Worker<'_>,
        accumulators: A,
        block: &Block,
        operands: &EpilogueOperands<'_>,
        out: SharedOut<'_, f32>,
        n: usize,
    ) {
        // SAFETY: the caller's promise.
        let in_vectors =
            |vectors: Vectors<'_>| unsafe { vectors.store(worker, &accumulators, block, operands, out, n) };
        if Vectors::new(worker, self).is_some_and(in_vectors) {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe { self.store_portably(accumulators, block, operands, out, n) }
    }
}

/// e.g. ` bias gelu residual`, with a leading space where there is anything to say.
impl fmt::Display for Epilogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.residual.is_some_and(|residual| residual.position == Position::BeforeActivation);
        let after = self.residual.is_some() && !before;
        let words = [(self.bias, " bias"), (before, " residual")];
        words.iter().filter(|word| word.0).try_for_each(|word| f.write_str(word.1))?;
        match self.activation {
            Activation::Identity => Ok(()),
            Activation::Relu => f.write_str(" relu"),
            Activation::Gelu => f.write_str(" gelu"),
            Activation::GeluTanh => f.write_str(" gelu_tanh"),
            Activation::Silu => f.write_str(" silu"),
            Activation::QuickGelu { alpha } => write!(f, " quick_gelu({alpha})"),
            Activation::Sigmoid => f.write_str(" sigmoid"),
            Activation::Tanh => f.write_str(" tanh"),
            Activation::Clip { low, high } => write!(f, " clip({low}, {high})"),
        }?;
        if after { f.write_str(" residual") } else { Ok(()) }
    }
}

/// Part of an output matrix.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

/// Operands of an epilogue; empty where the epilogue has none.
pub(crate) struct EpilogueOperands<'a> {
    pub bias: &'a [f32],
    pub residual: &'a [f32],
}

/// The scaled sums of a block, before the epilogue.
pub(crate) trait Accumulators {
    /// Elements `column..column + lanes` of a row, both counted inside the block; further lanes hold anything.
    fn load<I: Isa>(&self, isa: I, row: usize, column: usize, lanes: usize) -> I::F32;

    /// The first elements of a row of the block, on a core with vectors; `false` when there is no such form.
    fn row(&self, _worker: &Worker<'_>, _row: usize, _y: &mut [f32]) -> bool {
        false
    }

    /// Some rows of the block, of so many columns, with the bias where it is not empty; `y` has rows `n` numbers apart. `false`
    /// when there is no such form.
    ///
    /// # Safety
    /// The caller may write the columns of each row of `y`.
    unsafe fn rows(
        &self,
        _worker: &Worker<'_>,
        _rows: Range<usize>,
        _columns: usize,
        _bias: &[f32],
        _y: *mut f32,
        _n: usize,
    ) -> bool {
        false
    }
}

/// Sums that are final already: row-major, with `columns` in a row, those of the block first.
pub(crate) struct Tile<'a> {
    pub sums: &'a [f32],
    pub columns: usize,
}

impl Accumulators for Tile<'_> {
    #[inline(always)]
    fn load<I: Isa>(&self, isa: I, row: usize, column: usize, lanes: usize) -> I::F32 {
        load(isa.f32(), &self.sums[row * self.columns + column..], lanes)
    }

    fn row(&self, _worker: &Worker<'_>, row: usize, y: &mut [f32]) -> bool {
        y.copy_from_slice(&self.sums[row * self.columns..][..y.len()]);
        true
    }

    unsafe fn rows(
        &self,
        worker: &Worker<'_>,
        rows: Range<usize>,
        columns: usize,
        bias: &[f32],
        y: *mut f32,
        n: usize,
    ) -> bool {
        let Some(add) = vector::Binary::new(worker, Function::Add) else { return false };
        for (at, row) in rows.enumerate() {
            let sums = &self.sums[row * self.columns..][..columns];
            // SAFETY: the caller lends the columns of each row of `y`.
            let y = unsafe { std::slice::from_raw_parts_mut(y.add(at * n), columns) };
            if bias.is_empty() { y.copy_from_slice(sums) } else { add.map(sums, bias, y) }
        }
        true
    }
}
