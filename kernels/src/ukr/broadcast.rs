//! What the vector kernels of matrix products share: a number of `A` from a scalar register times a row of 32 numbers of `B`.

use super::MatMulArgs;

/// Rows of a block from some row on. The layout has groups of one.
pub(super) struct Rows<'a, A, B, C> {
    pub block: &'a MatMulArgs<A, B, C>,
    pub a: *const A,
    pub c: *mut C,
}

impl<A, B, C> MatMulArgs<A, B, C> {
    /// # Safety
    /// The contract of [`MatMulArgs`], with `row` inside the block.
    pub(super) unsafe fn rows_from(&self, row: usize) -> Rows<'_, A, B, C> {
        // SAFETY: both sides have this row.
        unsafe { Rows { block: self, a: self.a.add(row), c: self.c.byte_add(row * self.c_stride) } }
    }
}

/// Computes the rows that are listed, each as `number register sum`, against the panel of 32 columns.
///
/// `$wide` is the register group of 32 sums, `$narrow` the element width and group of 32 numbers of `B`. `$load_b` leaves a
/// step of `B`, `$b_bytes` long, in the register group `$b`; `$load_a` loads a number of `A`, `$a_bytes` long; `$mac` adds
/// their product to the sum.
macro_rules! broadcast_kernel {
    (
        $rows:expr, wide: $wide:literal, narrow: $narrow:literal,
        b: $b:literal = [$($load_b:literal),+] by $b_bytes:literal,
        a: $load_a:literal by $a_bytes:literal, $mac:literal,
        $($row:literal $a:literal $sum:literal),+
    ) => {{
        let rows = $rows;
        std::arch::asm!(
            ".option push",
            ".option arch, +v, +zvfh",
            concat!("vsetvli zero, a6, e32, ", $wide, ", ta, ma"),
            $(concat!("vmv.v.i ", $sum, ", 0"),)+
            "beqz a0, 3f",
            concat!("vsetvli zero, a6, ", $narrow, ", ta, ma"),
            "2:",
            $($load_b,)+
            $(concat!($load_a, " ", $a, ", ", $a_bytes, " * ", $row, "(a1)"),)+
            "addi a0, a0, -1",
            concat!("addi a2, a2, ", $b_bytes),
            "add a1, a1, a5",
            $(concat!($mac, " ", $sum, ", ", $a, ", ", $b),)+
            "bnez a0, 2b",
            concat!("vsetvli zero, a6, e32, ", $wide, ", ta, ma"),
            "3:",
            $(
                concat!("vse32.v ", $sum, ", (a3)"),
                "add a3, a3, a4",
            )+
            ".option pop",
            inout("a0") rows.block.k_groups => _,
            inout("a1") rows.a => _,
            in("a5") $a_bytes * rows.block.rows,
            inout("a2") rows.block.b => _,
            inout("a3") rows.c => _,
            in("a4") rows.block.c_stride,
            in("a6") 32usize,
            clobber_abi("C"),
            options(nostack),
        )
    }};
}

pub(super) use broadcast_kernel;
