//! Which layouts and variants a target uses. Pure functions of the target.

use crate::isa::{CoreKind, Engine, Target};
use crate::pack::PackLayout;
use crate::table::{Family, MATMUL_F32_F32_F32, MATMUL_U8_I8_I32, Variant};
use crate::ukr::matmul_f32_f32_f32::MatMulF32F32F32;
use crate::ukr::matmul_u8_i8_i32::MatMulU8I8I32;

/// Layout of a constant f32 right-hand side.
pub fn f32_layout(target: &Target) -> PackLayout {
    match target.core {
        CoreKind::Host => PackLayout::HostF32,
        CoreKind::X60 | CoreKind::A60 | CoreKind::X100 | CoreKind::A100 => PackLayout::F32P32X1,
    }
}

/// Layout of a constant 8-bit right-hand side.
pub fn i8_layout(target: &Target) -> PackLayout {
    match target.core {
        CoreKind::Host => PackLayout::HostI8,
        CoreKind::X60 | CoreKind::A60 | CoreKind::X100 => PackLayout::I8P4X8,
        CoreKind::A100 => PackLayout::I8P8X16,
    }
}

/// The variant for f32 products with weights of `layout`; `None` when the host engine has them.
pub fn matmul_f32(core: CoreKind, layout: PackLayout) -> Option<&'static Variant<MatMulF32F32F32>> {
    fastest(MATMUL_F32_F32_F32, core, layout)
}

/// The variant for 8-bit products with weights of `layout`; `None` when the host engine has them.
pub fn matmul_int(core: CoreKind, layout: PackLayout) -> Option<&'static Variant<MatMulU8I8I32>> {
    fastest(MATMUL_U8_I8_I32, core, layout)
}

fn fastest<F: Family>(rows: &'static [Variant<F>], core: CoreKind, layout: PackLayout) -> Option<&'static Variant<F>> {
    rows.iter().find(|row| row.layout == layout && row.cores.contains(&core))
}

/// `variant` where this process can run it, else the scalar twin of its layout.
pub(crate) fn runnable<F: Family>(rows: &'static [Variant<F>], variant: &'static Variant<F>) -> &'static Variant<F> {
    if variant.runs_here() {
        return variant;
    }
    let twin = rows.iter().find(|row| row.layout == variant.layout && row.engine == Engine::Scalar);
    twin.expect("every layout has a scalar twin, which a test of the table asserts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_kernels_for_its_layouts() {
        for target in [Target::k1(), Target::k3(), Target::host(2)] {
            let (f32_layout, i8_layout) = (f32_layout(&target), i8_layout(&target));
            let host = target.core == CoreKind::Host;
            assert_eq!(matmul_f32(target.core, f32_layout).is_none(), host);
            assert_eq!(matmul_int(target.core, i8_layout).is_none(), host);
        }
        let layout_of = |target: Target| i8_layout(&target).name();
        assert_eq!((layout_of(Target::k1()), layout_of(Target::k3())), ("i8p4x8", "i8p8x16"));
    }
}
