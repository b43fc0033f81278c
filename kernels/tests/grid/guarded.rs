use std::ops::{Deref, DerefMut};

use bytemuck::Pod;

const PAGE: usize = 4096;

/// Where the numbers stand between their guard pages.
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    /// The first one follows a guard page.
    Start,
    /// A guard page follows the last one.
    End,
}

/// Numbers with an inaccessible page before and behind: a kernel that reads or writes past an edge ends the process.
pub struct Guarded<T> {
    base: *mut u8,
    pages: usize,
    data: *mut T,
    len: usize,
}

impl<T: Pod> Guarded<T> {
    pub const EDGES: [Edge; 2] = [Edge::Start, Edge::End];

    pub fn new(values: &[T], edge: Edge) -> Self {
        let bytes = size_of_val(values);
        let pages = bytes.div_ceil(PAGE).max(1);
        let (flags, total) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, (pages + 2) * PAGE);
        // SAFETY: maps new pages and shares nothing.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), total, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED, "guard pages");
        let base = base.cast::<u8>();
        // SAFETY: these pages are in the middle of the mapping.
        let opened = unsafe { libc::mprotect(base.add(PAGE).cast(), pages * PAGE, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(opened, 0, "guard pages");
        let offset = match edge {
            Edge::Start => 0,
            Edge::End => pages * PAGE - bytes,
        };
        // SAFETY: `offset + bytes` is within the accessible pages, which `values` is no part of.
        let data = unsafe {
            let data = base.add(PAGE + offset).cast::<T>();
            data.copy_from_nonoverlapping(values.as_ptr(), values.len());
            data
        };
        Self { base, pages, data, len: values.len() }
    }
}

impl<T> Deref for Guarded<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `new` wrote `len` values there, and they are ours.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

impl<T> DerefMut for Guarded<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.data, self.len) }
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), (self.pages + 2) * PAGE) };
    }
}
