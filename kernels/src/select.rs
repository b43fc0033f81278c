//! Which layouts and variants a target uses. Pure functions of the target.

use crate::isa::Target;
use crate::pack::PackLayout;

/// Layout of a constant f32 right-hand side.
pub fn f32_layout(_target: &Target) -> PackLayout {
    PackLayout::HostF32
}

/// Layout of a constant 8-bit right-hand side.
pub fn i8_layout(_target: &Target) -> PackLayout {
    PackLayout::HostI8
}
