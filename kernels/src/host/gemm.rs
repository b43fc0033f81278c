use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;
use rten_gemm::{GemmError, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_tensor::prelude::*;
use rten_tensor::{Matrix, NdTensorView};

use crate::driver::RunError;

/// Columns of a panel: what one rank takes of a weight at least. A multiple of every `rten` tile width.
pub(crate) const PANEL: usize = 64;

fn f32_executor() -> &'static GemmExecutor<f32> {
    static EXECUTOR: OnceLock<&GemmExecutor<f32>> = OnceLock::new();
    EXECUTOR.get_or_init(|| {
        super::init();
        Box::leak(Box::default())
    })
}

/// A constant right-hand side, packed as panels of [`PANEL`] columns (the last may have fewer).
pub(crate) struct F32Panels {
    panels: Vec<PackedBMatrix<f32>>,
}

impl F32Panels {
    /// Packs `b` (`[k, n]`, any strides). The panels are packed in parallel inside the caller's rayon pool.
    pub fn pack(b: Matrix<'_, f32>) -> Self {
        let executor = f32_executor();
        let count = if b.size(0) == 0 { 0 } else { b.size(1).div_ceil(PANEL) };
        let panels = (0..count)
            .into_par_iter()
            .map(|panel| executor.prepack_b(b.slice((.., panel_columns(panel, b.size(1))))))
            .collect();
        Self { panels }
    }

    /// `tile = alpha * a x panel`, where `tile` is row-major with as many columns as the panel has.
    pub fn multiply(&self, a: Matrix<'_, f32>, panel: usize, alpha: f32, tile: &mut [f32]) -> Result<(), RunError> {
        if a.size(1) == 0 {
            tile.fill(0.0);
            return Ok(());
        }
        gemm_f32(a, GemmInputB::Packed(&self.panels[panel]), alpha, 0.0, tile)
    }
}

/// Columns of panel `panel` in a matrix of `n` columns.
pub(crate) fn panel_columns(panel: usize, n: usize) -> Range<usize> {
    panel * PANEL..((panel + 1) * PANEL).min(n)
}

/// `out = alpha * a x b + beta * out`; `out` is row-major and contiguous, and not read when `beta` is 0.
pub(crate) fn gemm_f32(
    a: Matrix<'_, f32>,
    b: GemmInputB<'_, f32>,
    alpha: f32,
    beta: f32,
    out: &mut [f32],
) -> Result<(), RunError> {
    let options = GemmOptions { alpha, beta, ..GemmOptions::default() };
    f32_executor().gemm(out, GemmInputA::Unpacked(a), b, options).map_err(weights_error)
}

fn weights_error(error: GemmError) -> RunError {
    RunError::Weights(format!("the packed weights do not fit the product: {error}"))
}

/// A strided matrix over `data`; `strides` in elements.
pub(crate) fn matrix<T>(data: &[T], shape: [usize; 2], strides: [usize; 2]) -> Matrix<'_, T> {
    NdTensorView::from_slice_with_strides(shape, data, strides).expect("the operand is smaller than its shape")
}
