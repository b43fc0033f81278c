use super::workspace::align_up;

/// Cuts one rank's scratch into typed, 64-byte aligned pieces.
pub(crate) struct Scratch<'a>(&'a mut [u8]);

impl<'a> Scratch<'a> {
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self(bytes)
    }

    /// Bytes that [`Scratch::take`] uses for `len` elements.
    pub fn bytes<T>(len: usize) -> usize {
        align_up(len * size_of::<T>())
    }

    /// The next `len` elements. They may hold anything.
    ///
    /// # Panics
    /// When the driver's `scratch()` asked for too little.
    pub fn take<T: bytemuck::Pod>(&mut self, len: usize) -> &'a mut [T] {
        let (piece, rest) = std::mem::take(&mut self.0).split_at_mut(Self::bytes::<T>(len));
        self.0 = rest;
        bytemuck::cast_slice_mut(&mut piece[..len * size_of::<T>()])
    }
}
