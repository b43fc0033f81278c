//! Rows as the left side of products whose groups have 16 bytes, whatever the element.

#[cfg(target_arch = "riscv64")]
pub mod ime2;

use crate::table::Family;

pub enum PackRows {}

impl Family for PackRows {
    type Args = Args;
    /// Rows of a panel.
    type Spec = usize;
    const NAME: &'static str = "pack_rows";
}

/// Bytes of a group.
pub const GROUP: usize = 16;

/// `y` is `[bytes / 16][width][16]`, `bytes` rounded up, with `width` the rows of a panel: byte `j` of group `g` of row `r` is byte
/// `16 g + j` of row `r` of `x`, and 0 where there is none.
#[repr(C)]
pub struct Args {
    pub x: *const u8,
    /// Bytes from one row to the next.
    pub x_stride: usize,
    /// At least one, at most those of a panel.
    pub rows: usize,
    /// Of a row, at least one.
    pub bytes: usize,
    pub y: *mut u8,
}
