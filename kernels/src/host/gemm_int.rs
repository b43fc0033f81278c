use std::sync::OnceLock;

use rayon::prelude::*;
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedAMatrix, PackedBMatrix};
use rten_tensor::Matrix;
use rten_tensor::prelude::*;

use super::gemm::{panel_columns, panel_count, weights_error};
use super::recycle::Recycler;
use crate::driver::RunError;

fn executor() -> &'static GemmExecutor<u8, i8, i32> {
    static EXECUTOR: OnceLock<&GemmExecutor<u8, i8, i32>> = OnceLock::new();
    EXECUTOR.get_or_init(|| {
        super::init();
        Box::leak(Box::default())
    })
}

/// Whether some panels want [`Rows`] that are halved.
pub(crate) fn saturates() -> bool {
    executor().may_saturate()
}

/// A constant i8 right-hand side, packed as panels of [`super::PANEL`] columns (the last may have fewer).
pub(crate) struct I8Panels {
    panels: Vec<I8Panel>,
    /// Some panel wants [`Rows`] that are halved.
    halved: bool,
}

impl I8Panels {
    /// Packs `b` (`[k, n]`, any strides). The panels are packed in parallel inside the caller's rayon pool.
    pub fn pack(b: Matrix<'_, i8>) -> Self {
        super::init();
        let panels: Vec<I8Panel> = (0..panel_count(b.size(1)))
            .into_par_iter()
            .map(|panel| {
                let b = b.slice((.., panel_columns(panel, b.size(1))));
                I8Panel {
                    packed: (b.size(0) > 0).then(|| executor().prepack_b(b)),
                    halved: executor().may_saturate() && !is_narrow(b),
                }
            })
            .collect();
        Self { halved: panels.iter().any(I8Panel::halved), panels }
    }

    pub fn panel(&self, panel: usize) -> &I8Panel {
        &self.panels[panel]
    }

    /// Whether some panel wants [`Rows`] that are halved.
    pub fn halved(&self) -> bool {
        self.halved
    }
}

/// Columns of an i8 right-hand side in `rten`'s order.
pub(crate) struct I8Panel {
    /// `None` when the depth is zero, which `rten` does not pack.
    packed: Option<PackedBMatrix<i8>>,
    /// The product with unrestricted u8 could saturate.
    halved: bool,
}

impl I8Panel {
    /// Packs `b` into a buffer that this thread gave back before, if there is one.
    pub fn pack_again(b: Matrix<'_, i8>) -> Self {
        let packed = (b.size(0) > 0).then(|| executor().prepack_b_in(Recycler, b));
        Self { packed, halved: executor().may_saturate() && !is_narrow(b) }
    }

    pub fn halved(&self) -> bool {
        self.halved
    }

    pub fn give_back(self) {
        if let Some(packed) = self.packed {
            Recycler::give_back(packed.into_vec());
        }
    }

    /// `tile = rows x panel`, exactly; `tile` is row-major with as many columns as the panel has.
    pub fn multiply(&self, rows: &Rows, tile: &mut [i32]) -> Result<(), RunError> {
        let (Some(packed), Some(low)) = (&self.packed, &rows.low) else {
            tile.fill(0);
            return Ok(());
        };
        let mut accumulate = false;
        if let Some(high) = &rows.high {
            multiply(high, packed, false, tile)?;
            tile.iter_mut().for_each(|sum| *sum <<= HALF_BITS);
            accumulate = true;
        }
        multiply(low, packed, accumulate, tile)
    }
}

fn multiply(a: &PackedAMatrix<u8>, b: &PackedBMatrix<i8>, accumulate: bool, tile: &mut [i32]) -> Result<(), RunError> {
    let options = GemmOptions { beta: i32::from(accumulate), ..GemmOptions::default() };
    executor().gemm(tile, GemmInputA::Packed(a), GemmInputB::Packed(b), options).map_err(weights_error)
}

/// Kernels without a dot product instruction add two products in i16, which `2 * 255 * 64` still fits.
fn is_narrow(b: Matrix<'_, i8>) -> bool {
    b.iter().all(|&x| (-64..=64).contains(&x))
}

/// Bits of the lower part of a halved left-hand side: `2 * 127 * 128` fits the i16 that saturating kernels add in.
const HALF_BITS: u32 = 7;

/// Rows of a u8 left-hand side in `rten`'s order.
pub(crate) struct Rows {
    /// The rows, or their low bits when they are halved. `None` when the depth is zero.
    low: Option<PackedAMatrix<u8>>,
    /// The remaining bits.
    high: Option<PackedAMatrix<u8>>,
}

impl Rows {
    /// Packs `a` (row-major `[rows, k]`) into buffers that this thread gave back before. `halved` makes the product
    /// exact where [`I8Panel::halved`] asks for it; `stage` then has as many elements as `a`.
    pub fn pack(a: &[u8], k: usize, halved: bool, stage: &mut [u8]) -> Self {
        if k == 0 {
            return Self { low: None, high: None };
        }
        let pack = |a: &[u8]| executor().prepack_a_in(Recycler, super::matrix(a, [a.len() / k, k], [k, 1]));
        if !halved {
            return Self { low: Some(pack(a)), high: None };
        }
        let mut part = |bits: fn(u8) -> u8| {
            stage.iter_mut().zip(a).for_each(|(part, &x)| *part = bits(x));
            Some(pack(&stage[..a.len()]))
        };
        Self { low: part(|x| x & ((1 << HALF_BITS) - 1)), high: part(|x| x >> HALF_BITS) }
    }

    pub fn give_back(self) {
        for packed in [self.low, self.high].into_iter().flatten() {
            Recycler::give_back(packed.into_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halved_rows_give_the_same_product() {
        let (m, k, n) = (9, 37, 5);
        let a: Vec<u8> = (0..m * k).map(|i| if i % 3 == 0 { 255 } else { (i * 7 % 256) as u8 }).collect();
        let b: Vec<i8> = (0..k * n).map(|i| if i % 2 == 0 { -128 } else { 127 }).collect();
        let panel = I8Panel::pack_again(super::super::matrix(&b, [k, n], [n, 1]));
        for halved in [true, false] {
            if !halved && panel.halved() {
                continue;
            }
            let mut tile = vec![i32::MIN; m * n];
            panel.multiply(&Rows::pack(&a, k, halved, &mut vec![0; m * k]), &mut tile).unwrap();
            for (index, &sum) in tile.iter().enumerate() {
                let (row, column) = (index / n, index % n);
                let product = |depth| i32::from(a[row * k + depth]) * i32::from(b[depth * n + column]);
                assert_eq!(sum, (0..k).map(product).sum::<i32>(), "halved {halved}, element {index}");
            }
        }
    }
}
