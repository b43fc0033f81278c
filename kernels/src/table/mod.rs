//! The list of all micro-kernels. Tests, benchmarks, selection and documentation read these rows.

mod matmul;
mod rows;
mod stream;
mod vector;

use std::marker::PhantomData;

use crate::isa::{BlockShape, Needs, TileShape};
use crate::pack::PackLayout;
use crate::rt::Worker;
use crate::tensor::Element;
use crate::ukr::MatMulArgs;

pub use matmul::{
    MATMUL_BIAS_F16_F16_F32, MATMUL_F16_F16_F32, MATMUL_F32_F32_F32, MATMUL_NBITS, MATMUL_U8_I8_F32, MATMUL_U8_I8_I32,
    MATVEC_NBITS,
};
pub use rows::*;
pub use stream::{ROW_DOTS_F32, ROW_SUMS_F32};
pub use vector::*;

/// Micro-kernels that take the same arguments.
pub trait Family: 'static {
    type Args;
    /// What tells the variants apart, beside what they need: a [`MatMulSpec`], or the function they compute.
    type Spec: 'static;
    /// Name of the folder, `<op>_<lhs>_<rhs>_<out>`.
    const NAME: &'static str;
}

/// One micro-kernel as data. It can be read on every machine; running it needs a core of its kind.
pub struct Variant<F: Family> {
    /// Name of the file in the family's folder.
    pub name: &'static str,
    pub needs: Needs,
    pub spec: F::Spec,
    /// `None` where it cannot be assembled. Unsafe: the contract of `F::Args`, on a core that meets `needs`.
    pub run: Option<unsafe fn(&F::Args)>,
}

/// Geometry of a matrix product.
pub struct MatMulSpec {
    pub tile: TileShape,
    pub block: BlockShape,
    /// Order of the right-hand side.
    pub layout: PackLayout,
}

impl MatMulSpec {
    /// `tile` and `block` as `[m, n, k]`.
    const fn new(tile: [usize; 3], block: [usize; 3], layout: PackLayout) -> Self {
        let [m, n, k] = tile;
        let tile = TileShape { m, n, k };
        let [m, n, k] = block;
        Self { tile, block: BlockShape { m, n, k }, layout }
    }

    /// How often what belongs to a row stands side by side for a kernel that rescales: where a tile has several rows, as often
    /// as it has columns.
    pub const fn copies(&self) -> usize {
        if self.tile.m > 1 { self.tile.n } else { 1 }
    }

    /// How often what belongs to the columns of a tile stands side by side: as often as a register has rows of it, of which a
    /// tile takes two.
    pub const fn column_copies(&self) -> usize {
        self.tile.m.div_ceil(2)
    }
}

/// A family of matrix products.
pub trait ProductFamily: Family<Spec = MatMulSpec> + Sized {
    /// Within a layout, the fastest first and the scalar twin last.
    const VARIANTS: &'static [Variant<Self>];
}

/// A family of matrix products whose operands are plain panels.
pub trait MatMulFamily: ProductFamily<Args = MatMulArgs<Self::A, Self::B, Self::C>> {
    type A: Element;
    type B: Element;
    type C: Element;
}

/// A micro-kernel that the core under one worker can run. It stays on that worker's thread.
pub struct Armed<'w, F: Family> {
    run: unsafe fn(&F::Args),
    worker: PhantomData<(&'w (), *const ())>,
}

impl<F: Family> Armed<'_, F> {
    /// Runs it.
    ///
    /// # Safety
    /// The contract of `F::Args`.
    #[inline]
    pub unsafe fn call(&self, args: &F::Args) {
        // SAFETY: `Variant::arm` saw that the core has the instructions; the caller answers for `args`.
        unsafe { (self.run)(args) }
    }
}

impl<F: Family> Variant<F> {
    /// The kernel for `worker`, or `None` when its core cannot run it.
    pub fn arm<'w>(&self, worker: &Worker<'w>) -> Option<Armed<'w, F>> {
        let run = self.run.filter(|_| self.needs.met_by(worker.isa()))?;
        Some(Armed { run, worker: PhantomData })
    }
}

/// The function in `crate::ukr` where the build is for RISC-V, whose assembler knows its instructions.
macro_rules! riscv {
    ($($path:tt)+) => {{
        #[cfg(target_arch = "riscv64")]
        {
            Some(crate::ukr::$($path)+)
        }
        #[cfg(not(target_arch = "riscv64"))]
        {
            None
        }
    }};
}

use riscv;

#[cfg(test)]
mod tests;
