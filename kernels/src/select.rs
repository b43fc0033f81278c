//! Which layouts and variants a target uses. Pure functions of the target.

use crate::isa::{CoreKind, Engine, Target};
use crate::pack::PackLayout;
use crate::rt::Worker;
use crate::table::{Armed, ProductFamily, Variant};

/// Layout of a constant f32 right-hand side.
pub fn f32_layout(target: &Target) -> PackLayout {
    match target.core {
        CoreKind::Host => PackLayout::HostF32,
        _ => PackLayout::F32P32X1,
    }
}

/// Layout of a constant f16 right-hand side; `None` when it is multiplied in f32.
pub fn f16_layout(target: &Target) -> Option<PackLayout> {
    match target.core {
        CoreKind::Host | CoreKind::Scalar | CoreKind::Rvv { f16: false, .. } => None,
        CoreKind::A100 => Some(PackLayout::F16P32X8),
        _ => Some(PackLayout::F16P32X1),
    }
}

/// Layout in which weights of few bits are written out in f16 for rows that may be rounded; `None` when such rows are int8.
pub(crate) fn nbits_f16_layout(target: &Target) -> Option<PackLayout> {
    (target.core == CoreKind::A100).then_some(PackLayout::F16P32X8)
}

/// Layout of a constant 8-bit right-hand side.
pub fn i8_layout(target: &Target) -> PackLayout {
    match target.core {
        CoreKind::Host => PackLayout::HostI8,
        CoreKind::A60 => PackLayout::I8P16X8,
        CoreKind::A100 => PackLayout::I8P32X16,
        _ => PackLayout::I8P32X1,
    }
}

/// The fastest variant for weights of `layout`; `None` when the host engine has them.
pub fn matmul<F: ProductFamily>(core: CoreKind, layout: PackLayout) -> Option<&'static Variant<F>> {
    F::VARIANTS.iter().find(|row| row.spec.layout == layout && row.needs.met_by(core.isa()))
}

/// `variant` where the worker's core can run it, else the scalar twin of its layout.
pub(crate) fn arm<'w, F: ProductFamily>(variant: &Variant<F>, worker: &Worker<'w>) -> Armed<'w, F> {
    let twin = || {
        let is_twin = |row: &&Variant<F>| row.spec.layout == variant.spec.layout && row.needs.engine == Engine::Scalar;
        F::VARIANTS.iter().find(is_twin)?.arm(worker)
    };
    variant.arm(worker).or_else(twin).expect("every layout has a scalar twin, which a test of the table asserts")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ukr::matmul_f16_f16_f32::MatMulF16F16F32;
    use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
    use crate::ukr::matmul_u8_i8_i32::MatMulU8I8I32;

    #[test]
    fn every_target_has_kernels_for_its_layouts() {
        for (target, expected) in [
            (Target::k1(), ["rvv_6x32x1", "rvv_6x32x1", "ime1_12x16x8"]),
            (Target::k3(), ["rvv_16x32x1", "ime2_16x32x8", "ime2_16x32x16"]),
            (Target { core: CoreKind::X60, ..Target::k1() }, ["rvv_6x32x1"; 3]),
            (Target::rvv(512), ["rvv_3x32x1"; 3]),
        ] {
            let f32_kernel = matmul::<MatMulF32F32F32>(target.core, f32_layout(&target)).unwrap().name;
            let f16_kernel = matmul::<MatMulF16F16F32>(target.core, f16_layout(&target).unwrap()).unwrap().name;
            let i8_kernel = matmul::<MatMulU8I8I32>(target.core, i8_layout(&target)).unwrap().name;
            assert_eq!([f32_kernel, f16_kernel, i8_kernel], expected);
        }
        let host = Target::host(2);
        assert!(matmul::<MatMulF32F32F32>(host.core, f32_layout(&host)).is_none());
        assert!(matmul::<MatMulU8I8I32>(host.core, i8_layout(&host)).is_none());
        assert!(f16_layout(&host).is_none());
    }
}
