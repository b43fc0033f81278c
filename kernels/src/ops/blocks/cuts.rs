use crate::isa::CoreKind;

/// The least of [`Cuts::rows`].
const ROWS: usize = 48;

/// How the loops of a product are cut for the caches of a core.
#[derive(Clone, Copy)]
pub(super) struct Cuts {
    /// Bytes of a panel that all packed rows are multiplied with before the next ones.
    pub panel: usize,
    /// Columns that are finished together: numbers in four vector registers.
    pub columns: usize,
    /// Rows that are multiplied with a panel that was packed for them.
    pub rows: usize,
    /// Bytes of rows that are packed and multiplied with all constant panels before the next rows, and of their sums.
    pub left: usize,
}

impl Cuts {
    /// For blocks of `grain` rows.
    pub fn of(core: CoreKind, grain: usize) -> Self {
        let (columns, rows) = (4 * core.isa().vlen / u32::BITS as usize, ROWS.next_multiple_of(grain));
        match core {
            // The second cache gives a line in 2.5 cycles; what costs is the number of loads and stores. Rows and sums take two
            // thirds of the scratchpad of 384 KiB.
            CoreKind::A100 => Self { panel: 1 << 20, columns, rows, left: 256 << 10 },
            // The second cache gives a line in 25 cycles. The first one, of 32 KiB in four ways, has a panel and the next one;
            // rows and sums fit the scratchpad of 128 KiB.
            _ => Self { panel: 12 << 10, columns, rows, left: 112 << 10 },
        }
    }
}
