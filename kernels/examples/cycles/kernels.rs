//! Micro-kernels of matrix products with operands in the first cache.

use kernels::isa::{Engine, isa_of_this_thread};
use kernels::table::{MATMUL_F16_F16_F32, MATMUL_F32_F32_F32, MATMUL_U8_I8_I32, MatMulFamily, Variant};
use kernels::ukr::{Ahead, MatMulArgs};

use crate::item::{From, Items, Unit};
use crate::mark;

/// Bytes of the right-hand side, which decide the depth: both sides fit the first cache.
const PANEL: usize = 8 << 10;

pub fn all(items: &mut Items) {
    products(items, MATMUL_U8_I8_I32);
    products(items, MATMUL_F16_F16_F32);
    products(items, MATMUL_F32_F32_F32);
}

fn products<F: MatMulFamily>(items: &mut Items, rows: &[Variant<F>]) {
    for row in rows {
        let can_run = row.needs.engine != Engine::Scalar && row.needs.met_by(isa_of_this_thread());
        let Some(run) = row.run.filter(|_| can_run) else { continue };
        let (m, panel) = (row.spec.block.m, row.spec.layout.panel());
        let depth = PANEL / (panel * size_of::<F::B>());
        let a = vec![<F::A as bytemuck::Zeroable>::zeroed(); m * depth];
        let b = vec![<F::B as bytemuck::Zeroable>::zeroed(); panel * depth];
        let mut c = vec![<F::C as bytemuck::Zeroable>::zeroed(); m * panel];
        let args = MatMulArgs {
            a: a.as_ptr(),
            b: b.as_ptr(),
            c: c.as_mut_ptr(),
            c_stride: panel * size_of::<F::C>(),
            k_groups: depth / row.spec.tile.k,
            rows: m,
            accumulate: false,
            ahead: Ahead::NONE,
        };
        let name = format!("kernel_{}_{}", F::NAME, row.name);
        items.measure(&name, m * panel * depth, Unit::Mac, From::L1, |_| {
            mark::begin();
            // SAFETY: the buffers have the sizes that the contract wants, and the core meets the needs of the row.
            unsafe { run(&args) };
            mark::end();
        });
    }
}
