use crate::isa::CoreKind;

/// Rows that are packed together at least, and that read a panel in turn.
pub(super) const ROWS: usize = 48;
/// Bytes of a constant right-hand side that stay in the second cache, from which other rows may read them again.
pub(super) const STAYS: usize = 256 << 10;
/// Bytes of rows that are packed together where it does not stay, and comes from memory for them.
pub(super) const LEFT: usize = 192 << 10;

/// How the loops of a product are cut for the caches of a core.
#[derive(Clone, Copy)]
pub(super) struct Cuts {
    /// Bytes of the right-hand side that are multiplied with all packed rows before the next ones.
    pub right: usize,
    /// Columns of it: numbers in four vector registers, which are finished together.
    pub columns: usize,
}

impl Cuts {
    pub fn of(core: CoreKind) -> Self {
        let columns = 4 * core.isa().vlen / u32::BITS as usize;
        match core {
            // The second cache gives a line in 2.5 cycles; what costs is the number of loads and stores.
            CoreKind::A100 => Self { right: 1 << 20, columns },
            // The second cache gives a line in 25 cycles: the right-hand side takes a quarter of the first one, of 32 KiB, and
            // the depth of the rows and the sums that it is multiplied with share the rest.
            _ => Self { right: 8 << 10, columns },
        }
    }
}
