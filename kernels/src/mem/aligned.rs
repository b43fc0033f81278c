use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::pages::{MemoryBackend, Pages};
use super::{ALIGNMENT, OutOfMemory};

/// Owned bytes aligned to [`ALIGNMENT`]. Large buffers own their pages, of the kind that [`MemoryBackend::serve`] names.
pub struct AlignedBuf {
    data: NonNull<u8>,
    len: usize,
    /// The mapping that holds the bytes; `None` where the heap does.
    pages: Option<Pages>,
    sealed: bool,
}

/// Buffers of so many bytes own their pages.
const LARGE: usize = 64 << 10;

impl AlignedBuf {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        Self::try_zeroed(len).unwrap_or_else(|_| handle_alloc_error(Self::layout(len)))
    }

    /// `len` zero bytes.
    ///
    /// # Errors
    /// The system does not have them.
    pub fn try_zeroed(len: usize) -> Result<Self, OutOfMemory> {
        let out_of_memory = OutOfMemory { bytes: len };
        if len == 0 {
            return Ok(Self { data: NonNull::<Line>::dangling().cast(), len, pages: None, sealed: false });
        }
        // Miri knows only some of the system calls.
        if len >= LARGE && !cfg!(miri) {
            let pages = Pages::map(len, MemoryBackend::current()).ok_or(out_of_memory)?;
            return Ok(Self { data: pages.data(), len, pages: Some(pages), sealed: false });
        }
        let layout = Layout::from_size_align(len, ALIGNMENT).map_err(|_| out_of_memory)?;
        // SAFETY: the layout is of non-zero size.
        let data = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(out_of_memory)?;
        Ok(Self { data, len, pages: None, sealed: false })
    }

    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut buf = Self::zeroed(bytes.len());
        buf.copy_from_slice(bytes);
        buf
    }

    /// The same bytes, never to be written again; pages of their own become read-only.
    pub fn sealed(mut self) -> Self {
        self.sealed = true;
        if let Some(pages) = &self.pages {
            pages.protect();
        }
        self
    }

    fn layout(len: usize) -> Layout {
        match Layout::from_size_align(len, ALIGNMENT) {
            Ok(layout) => layout,
            Err(_) => handle_alloc_error(Layout::new::<Line>()),
        }
    }
}

/// Stands for the alignment of an empty buffer.
#[repr(align(64))]
struct Line;
const _: () = assert!(std::mem::align_of::<Line>() == ALIGNMENT);

impl std::ops::Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `data` points to `len` initialised bytes that `self` owns.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl std::ops::DerefMut for AlignedBuf {
    /// # Panics
    /// When the buffer is sealed.
    fn deref_mut(&mut self) -> &mut [u8] {
        assert!(!self.sealed, "a sealed buffer is not written");
        // SAFETY: as in `deref`, and `&mut self` makes the borrow unique.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if self.len != 0 && self.pages.is_none() {
            // SAFETY: `data` came from the allocator with this same layout.
            unsafe { dealloc(self.data.as_ptr(), Self::layout(self.len)) }
        }
    }
}

// SAFETY: the buffer is plain owned memory without interior mutability.
unsafe impl Send for AlignedBuf {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for AlignedBuf {}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests;
