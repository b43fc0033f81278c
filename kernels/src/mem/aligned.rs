use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::ALIGNMENT;

/// Owned bytes aligned to [`ALIGNMENT`].
pub struct AlignedBuf {
    data: NonNull<u8>,
    len: usize,
}

impl AlignedBuf {
    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        Self::try_zeroed(len).unwrap_or_else(|| handle_alloc_error(Self::layout(len)))
    }

    /// `len` zero bytes, or `None` when the system does not have them.
    pub fn try_zeroed(len: usize) -> Option<Self> {
        // SAFETY: `allocate` passes a layout of non-zero size, and the bytes come initialised.
        Self::allocate(len, |layout| unsafe { alloc_zeroed(layout) })
    }

    pub fn copy_of(bytes: &[u8]) -> Self {
        // SAFETY: `allocate` passes a layout of non-zero size.
        let buf = Self::allocate(bytes.len(), |layout| unsafe { alloc(layout) });
        let buf = buf.unwrap_or_else(|| handle_alloc_error(Self::layout(bytes.len())));
        // SAFETY: both are `bytes.len()` bytes long, and the new one is nobody else's. This initialises it whole.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buf.data.as_ptr(), bytes.len()) }
        buf
    }

    /// `len` bytes from `alloc`, which the caller has to initialise; `None` when the system does not have them.
    fn allocate(len: usize, alloc: impl FnOnce(Layout) -> *mut u8) -> Option<Self> {
        if len == 0 {
            return Some(Self { data: NonNull::<Line>::dangling().cast(), len });
        }
        let layout = Layout::from_size_align(len, ALIGNMENT).ok()?;
        Some(Self { data: NonNull::new(alloc(layout))?, len })
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
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the borrow unique.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if self.len != 0 {
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
mod tests {
    use super::*;

    #[test]
    fn is_aligned_and_zeroed() {
        for len in [0, 1, 63, 64, 4097] {
            let buf = AlignedBuf::zeroed(len);
            assert_eq!(buf.as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(buf.len(), len);
            assert!(buf.iter().all(|&byte| byte == 0));
        }
        assert_eq!(&*AlignedBuf::copy_of(&[1, 2, 3]), [1, 2, 3]);
    }
}
