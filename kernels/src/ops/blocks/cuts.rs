use crate::isa::CoreKind;

/// The least of [`Cuts::rows`].
const ROWS: usize = 48;

/// How the loops of a product are cut for the caches of a core.
#[derive(Clone, Copy)]
pub(super) struct Cuts {
    /// Bytes of the right-hand side that are multiplied with all packed rows before the next ones.
    pub right: usize,
    /// Columns of it: numbers in four vector registers, which are finished together.
    pub columns: usize,
    /// Rows that are packed together at least, and that are finished together.
    pub rows: usize,
    /// Rows that read a panel in turn, before the next panel is read.
    pub turn: usize,
    /// Bytes of a constant right-hand side that stay in the second cache, from which other rows may read them again.
    pub stays: usize,
    /// Bytes of rows that are packed together where it does not stay, and comes from memory for them, and of their sums.
    pub left: usize,
}

impl Cuts {
    /// For blocks of `grain` rows.
    pub fn of(core: CoreKind, grain: usize) -> Self {
        let (columns, rows) = (4 * core.isa().vlen / u32::BITS as usize, ROWS.next_multiple_of(grain));
        match core {
            // The second cache gives a line in 2.5 cycles; what costs is the number of loads and stores.
            CoreKind::A100 => Self { right: 1 << 20, columns, rows, turn: rows, stays: 256 << 10, left: 192 << 10 },
            // The second cache, of 512 KiB, gives a line in 25 cycles. The right-hand side takes half of the first one, of
            // 32 KiB in four ways, and is read by one block of rows after the other. Packed rows and their sums fit the
            // scratchpad, of 128 KiB.
            _ => Self { right: 16 << 10, columns, rows, turn: grain, stays: 0, left: 112 << 10 },
        }
    }
}
