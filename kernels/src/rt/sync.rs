//! Primitives of threads. Under `--cfg loom` they are those of the model checker, which tries every order of events.

#[cfg(loom)]
pub(super) use loom::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
    thread::{self, Thread},
};
#[cfg(not(loom))]
pub(super) use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
    thread::{self, Thread},
};

use std::sync::PoisonError;
use std::time::Duration;

/// Locks; a thread that panicked with the lock held left whole data, because none panics between two writes.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the bell, or for the time to pass; may also return early.
pub(super) fn wait<'g, T>(bell: &Condvar, guard: MutexGuard<'g, T>, time: Duration) -> MutexGuard<'g, T> {
    bell.wait_timeout(guard, time).map_or_else(|poisoned| poisoned.into_inner().0, |(guard, _)| guard)
}
