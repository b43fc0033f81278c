use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;
use rten_gemm::{GemmError, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedAMatrix, PackedBMatrix};
use rten_tensor::prelude::*;
use rten_tensor::{Matrix, NdTensorView};

use super::recycle::Recycler;
use crate::driver::RunError;

/// Columns of a panel: what one rank takes of a weight at least. A multiple of every `rten` tile width.
pub(crate) const PANEL: usize = 64;

fn executor() -> &'static GemmExecutor<f32> {
    static EXECUTOR: OnceLock<&GemmExecutor<f32>> = OnceLock::new();
    EXECUTOR.get_or_init(|| {
        super::init();
        Box::leak(Box::default())
    })
}

/// A constant right-hand side, packed as panels of [`PANEL`] columns (the last may have fewer).
pub(crate) struct F32Panels {
    panels: Vec<F32Panel>,
}

impl F32Panels {
    /// Packs `b` (`[k, n]`, any strides). The panels are packed in parallel inside the caller's rayon pool.
    pub fn pack(b: Matrix<'_, f32>) -> Self {
        super::init();
        let panels = (0..panel_count(b.size(1)))
            .into_par_iter()
            .map(|panel| {
                let b = b.slice((.., panel_columns(panel, b.size(1))));
                F32Panel { packed: (b.size(0) > 0).then(|| executor().prepack_b(b)) }
            })
            .collect();
        Self { panels }
    }

    pub fn panel(&self, panel: usize) -> &F32Panel {
        &self.panels[panel]
    }
}

/// Columns of a right-hand side in `rten`'s order.
pub(crate) struct F32Panel {
    /// `None` when the depth is zero, which `rten` does not pack.
    packed: Option<PackedBMatrix<f32>>,
}

impl F32Panel {
    /// Packs `b` into a buffer that this thread gave back before, if there is one.
    pub fn pack_again(b: Matrix<'_, f32>) -> Self {
        Self { packed: (b.size(0) > 0).then(|| executor().prepack_b_in(Recycler, b)) }
    }

    pub fn give_back(self) {
        if let Some(packed) = self.packed {
            Recycler::give_back(packed.into_vec());
        }
    }

    /// `tile = alpha * a x panel`, where `tile` is row-major with as many columns as the panel has.
    pub fn multiply(&self, a: Matrix<'_, f32>, alpha: f32, tile: &mut [f32]) -> Result<(), RunError> {
        let Some(packed) = &self.packed else {
            tile.fill(0.0);
            return Ok(());
        };
        let options = GemmOptions { alpha, ..GemmOptions::default() };
        executor().gemm(tile, GemmInputA::Unpacked(a), GemmInputB::Packed(packed), options).map_err(weights_error)
    }

    /// `tile = block x panel` for the block of `rows` that begins at row `first`.
    pub fn multiply_rows(&self, rows: &F32Rows, first: usize, tile: &mut [f32]) -> Result<(), RunError> {
        let (Some(packed), block) = (&self.packed, &rows.blocks[first / rows.block]) else {
            tile.fill(0.0);
            return Ok(());
        };
        let (a, b) = (GemmInputA::Packed(block), GemmInputB::Packed(packed));
        executor().gemm(tile, a, b, GemmOptions::default()).map_err(weights_error)
    }
}

/// A constant left-hand side in `rten`'s order, in blocks of rows (the last may have fewer).
pub(crate) struct F32Rows {
    blocks: Vec<PackedAMatrix<f32>>,
    /// Rows of a block.
    block: usize,
}

impl F32Rows {
    /// Packs `a` (`[m, k]`, any strides) of a depth other than zero, in blocks of `block` rows.
    pub fn pack(a: Matrix<'_, f32>, block: usize) -> Self {
        let pack = |start: usize| executor().prepack_a(a.slice((start..(start + block).min(a.size(0)), ..)));
        Self { blocks: (0..a.size(0)).step_by(block).map(pack).collect(), block }
    }
}

/// `out = alpha * a x b + beta * out`; `out` is row-major and contiguous, and not read when `beta` is 0.
pub(crate) fn gemm_f32(
    a: Matrix<'_, f32>,
    b: Matrix<'_, f32>,
    alpha: f32,
    beta: f32,
    out: &mut [f32],
) -> Result<(), RunError> {
    let options = GemmOptions { alpha, beta, ..GemmOptions::default() };
    executor().gemm(out, GemmInputA::Unpacked(a), GemmInputB::Unpacked(b), options).map_err(weights_error)
}

/// Panels of a matrix of `n` columns.
pub(super) fn panel_count(n: usize) -> usize {
    n.div_ceil(PANEL)
}

/// Columns of panel `panel` in a matrix of `n` columns.
pub(super) fn panel_columns(panel: usize, n: usize) -> Range<usize> {
    panel * PANEL..((panel + 1) * PANEL).min(n)
}

pub(super) fn weights_error(error: GemmError) -> RunError {
    RunError::Weights(format!("the packed weights do not fit the product: {error}"))
}

/// A strided matrix over `data`; `strides` in elements.
///
/// # Panics
/// When `data` is too short, which the planner must not let happen.
pub(crate) fn matrix<T>(data: &[T], shape: [usize; 2], strides: [usize; 2]) -> Matrix<'_, T> {
    NdTensorView::from_slice_with_strides(shape, data, strides).expect("the operand is smaller than its shape")
}
