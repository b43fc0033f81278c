use std::cell::RefCell;

use rten_tensor::storage::Alloc;

thread_local! {
    /// Buffers of matrices that were packed and dropped on this thread.
    static SPARE: RefCell<Vec<Vec<u32>>> = const { RefCell::new(Vec::new()) };
}

/// Serves `rten`'s packing buffers from those given back on the same thread, so that a rank that packs the same sizes
/// again and again allocates nothing.
pub(super) struct Recycler;

impl Recycler {
    pub fn give_back(mut buffer: Vec<u32>) {
        buffer.clear();
        SPARE.with_borrow_mut(|spare| spare.push(buffer));
    }
}

impl Alloc for Recycler {
    fn alloc<T>(&self, capacity: usize) -> Vec<T> {
        if size_of::<T>() != size_of::<u32>() || align_of::<T>() != align_of::<u32>() {
            return Vec::with_capacity(capacity);
        }
        let mut buffer = SPARE.with_borrow_mut(|spare| {
            let fits = spare.iter().position(|buffer| buffer.capacity() >= capacity);
            fits.map(|index| spare.swap_remove(index)).or_else(|| spare.pop()).unwrap_or_default()
        });
        buffer.reserve_exact(capacity);
        let mut buffer = std::mem::ManuallyDrop::new(buffer);
        // SAFETY: the parts come from an empty vector whose elements have the same size and alignment.
        unsafe { Vec::from_raw_parts(buffer.as_mut_ptr().cast(), 0, buffer.capacity()) }
    }

    fn dealloc<T>(&self, buffer: Vec<T>) {
        drop(buffer);
    }
}
