//! The list of all micro-kernels. Tests, benchmarks, selection and documentation read these rows.

use std::marker::PhantomData;

use crate::isa::{BlockShape, Needs, TileShape};
use crate::pack::PackLayout;
use crate::rt::Worker;
use crate::tensor::Element;
use crate::ukr::MatMulArgs;
use crate::ukr::matmul_f16_f16_f32::{self as f16_f16_f32, MatMulF16F16F32};
use crate::ukr::matmul_f32_f32_f32::{self as f32_f32_f32, MatMulF32F32F32};
use crate::ukr::matmul_u8_i8_i32::{self as u8_i8_i32, MatMulU8I8I32};

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
}

/// A family of matrix products.
pub trait MatMulFamily: Family<Args = MatMulArgs<Self::A, Self::B, Self::C>, Spec = MatMulSpec> + Sized {
    type A: Element;
    type B: Element;
    type C: Element;
    /// Within a layout, the fastest first and the scalar twin last.
    const VARIANTS: &'static [Variant<Self>];
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

/// The function where the build is for RISC-V, whose assembler knows its instructions.
macro_rules! riscv {
    ($run:path) => {{
        #[cfg(target_arch = "riscv64")]
        {
            Some($run)
        }
        #[cfg(not(target_arch = "riscv64"))]
        {
            None
        }
    }};
}

pub static MATMUL_F32_F32_F32: &[Variant<MatMulF32F32F32>] = &[
    Variant {
        name: "rvv_16x32x8",
        needs: Needs::RVV_1024,
        spec: MatMulSpec::new([1, 32, 1], [16, 32, 8], PackLayout::F32P32X1),
        run: riscv!(f32_f32_f32::rvv_16x32x8::run),
    },
    Variant {
        name: "rvv_6x32x1",
        needs: Needs::RVV_256,
        spec: MatMulSpec::new([1, 32, 1], [6, 32, 1], PackLayout::F32P32X1),
        run: riscv!(f32_f32_f32::rvv_6x32x1::run),
    },
    Variant {
        name: "rvv_3x32x1",
        needs: Needs::RVV,
        spec: MatMulSpec::new([1, 32, 1], [3, 32, 1], PackLayout::F32P32X1),
        run: riscv!(f32_f32_f32::rvv_3x32x1::run),
    },
    Variant {
        name: "scalar_4x32x1",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([1, 32, 1], [4, 32, 1], PackLayout::F32P32X1),
        run: Some(f32_f32_f32::scalar::run::<32, 1>),
    },
];

pub static MATMUL_F16_F16_F32: &[Variant<MatMulF16F16F32>] = &[
    Variant {
        name: "ime2_16x32x8",
        needs: Needs::IME2,
        spec: MatMulSpec::new([8, 8, 8], [16, 32, 8], PackLayout::F16P32X8),
        run: riscv!(f16_f16_f32::ime2_16x32x8::run),
    },
    Variant {
        name: "scalar_16x32x8",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([8, 8, 8], [16, 32, 8], PackLayout::F16P32X8),
        run: Some(f16_f16_f32::scalar::run::<32, 8>),
    },
    Variant {
        name: "rvv_6x32x1",
        needs: Needs::ZVFH_256,
        spec: MatMulSpec::new([1, 32, 1], [6, 32, 1], PackLayout::F16P32X1),
        run: riscv!(f16_f16_f32::rvv_6x32x1::run),
    },
    Variant {
        name: "rvv_3x32x1",
        needs: Needs::ZVFH,
        spec: MatMulSpec::new([1, 32, 1], [3, 32, 1], PackLayout::F16P32X1),
        run: riscv!(f16_f16_f32::rvv_3x32x1::run),
    },
    Variant {
        name: "scalar_4x32x1",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([1, 32, 1], [4, 32, 1], PackLayout::F16P32X1),
        run: Some(f16_f16_f32::scalar::run::<32, 1>),
    },
];

pub static MATMUL_U8_I8_I32: &[Variant<MatMulU8I8I32>] = &[
    Variant {
        name: "ime1_12x16x8",
        needs: Needs::IME1,
        spec: MatMulSpec::new([4, 4, 8], [12, 16, 8], PackLayout::I8P16X8),
        run: riscv!(u8_i8_i32::ime1_12x16x8::run),
    },
    Variant {
        name: "scalar_12x16x8",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([4, 4, 8], [12, 16, 8], PackLayout::I8P16X8),
        run: Some(u8_i8_i32::scalar::run::<16, 8>),
    },
    Variant {
        name: "ime2_16x32x16",
        needs: Needs::IME2,
        spec: MatMulSpec::new([8, 8, 16], [16, 32, 16], PackLayout::I8P32X16),
        run: riscv!(u8_i8_i32::ime2_16x32x16::run),
    },
    Variant {
        name: "scalar_16x32x16",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([8, 8, 16], [16, 32, 16], PackLayout::I8P32X16),
        run: Some(u8_i8_i32::scalar::run::<32, 16>),
    },
    Variant {
        name: "rvv_6x32x1",
        needs: Needs::RVV_256,
        spec: MatMulSpec::new([1, 32, 1], [6, 32, 1], PackLayout::I8P32X1),
        run: riscv!(u8_i8_i32::rvv_6x32x1::run),
    },
    Variant {
        name: "rvv_3x32x1",
        needs: Needs::RVV,
        spec: MatMulSpec::new([1, 32, 1], [3, 32, 1], PackLayout::I8P32X1),
        run: riscv!(u8_i8_i32::rvv_3x32x1::run),
    },
    Variant {
        name: "scalar_4x32x1",
        needs: Needs::SCALAR,
        spec: MatMulSpec::new([1, 32, 1], [4, 32, 1], PackLayout::I8P32X1),
        run: Some(u8_i8_i32::scalar::run::<32, 1>),
    },
];

#[cfg(test)]
mod tests;
