use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use kernels::mem::{self, AlignedBuf};
use xxhash_rust::xxh3::Xxh3;

use crate::ir::{Bytes, Tensor};

/// Constants and packed weights of the whole process, shared by content: two sessions of one model hold one copy.
///
/// The store keeps nothing alive; a weight goes with the last session that uses it.
#[derive(Default)]
pub struct WeightStore {
    entries: Mutex<HashMap<Key, Weak<dyn Any + Send + Sync>>>,
    /// Weights were made since the heap was trimmed last.
    made: AtomicBool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    /// 128-bit XXH3 of types, shapes and bytes.
    content: u128,
    bytes: usize,
    layout: String,
}

impl WeightStore {
    /// The store of this process.
    pub fn global() -> &'static Self {
        static STORE: LazyLock<WeightStore> = LazyLock::new(WeightStore::default);
        &STORE
    }

    /// What `make` gives for these contents and this layout, made only when no session holds it.
    pub fn get_or_make<T: Send + Sync + 'static>(
        &self,
        tensors: &[&Tensor<'_>],
        layout: &str,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let key = Key::new(tensors, layout);
        if let Some(found) = self.find(&key) {
            return found;
        }
        // Made outside the lock: packing is slow, and packing the same weight twice is rare and harmless.
        let made = Arc::new(make());
        self.made.store(true, Ordering::Relaxed);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| entry.strong_count() > 0);
        let entry = entries.get(&key).and_then(Weak::upgrade).and_then(|entry| entry.downcast().ok());
        entry.unwrap_or_else(|| {
            let erased: Arc<dyn Any + Send + Sync> = made.clone();
            entries.insert(key, Arc::downgrade(&erased));
            made
        })
    }

    /// An aligned copy of a constant; a constant that is already owned is shared as it is.
    pub fn keep(&self, tensor: &Tensor<'_>) -> Arc<AlignedBuf> {
        match &tensor.bytes {
            Bytes::Owned(bytes) => Arc::clone(bytes),
            Bytes::Borrowed(bytes) => self.get_or_make(&[tensor], "plain", || AlignedBuf::copy_of(bytes).sealed()),
        }
    }

    /// To be called when a session is complete. ONNX Runtime has freed the originals of the weights then, which are many pieces of
    /// the heap and together as large as the weights: gives that memory back to the system.
    pub fn give_back_originals(&self) {
        if self.made.swap(false, Ordering::Relaxed) {
            mem::trim_heap();
        }
    }

    fn find<T: Send + Sync + 'static>(&self, key: &Key) -> Option<Arc<T>> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(key)?.upgrade()?.downcast().ok()
    }

    /// Number of weights that some session holds.
    pub fn len(&self) -> usize {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.values().filter(|entry| entry.strong_count() > 0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Key {
    fn new(tensors: &[&Tensor<'_>], layout: &str) -> Self {
        let mut hash = Xxh3::new();
        for tensor in tensors {
            hash.update(tensor.dtype.name().as_bytes());
            tensor.dims.iter().for_each(|dim| hash.update(&dim.to_le_bytes()));
            hash.update(tensor.bytes());
        }
        let bytes = tensors.iter().map(|tensor| tensor.bytes().len()).sum();
        Self { content: hash.digest128(), bytes, layout: layout.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_contents_share_one_copy_until_the_last_user_goes() {
        let store = WeightStore::default();
        let (a, b) = (vec![7u8; 100], vec![7u8; 100]);
        let tensor = |bytes| Tensor::borrowed(kernels::tensor::DType::U8, &[100], bytes);
        let first = store.keep(&tensor(&a));
        let second = store.keep(&tensor(&b));
        assert!(Arc::ptr_eq(&first, &second));
        let packed = store.get_or_make(&[&tensor(&a)], "p4", || 1usize);
        assert_eq!((*packed, store.len()), (1, 2));
        assert_eq!(*store.get_or_make(&[&tensor(&b)], "p4", || 2usize), 1);
        drop((first, second, packed));
        assert!(store.is_empty());
        assert_eq!(*store.get_or_make(&[&tensor(&b)], "p4", || 2usize), 2);
    }
}
