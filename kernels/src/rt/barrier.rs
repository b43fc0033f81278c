use std::time::Duration;

use super::spin::Patience;
use super::sync::{AtomicBool, AtomicUsize, Ordering, thread};

/// A barrier cannot be passed any more, because a rank failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poisoned;

/// Keeps a counter alone on its cache lines (two, for adjacent-line prefetch).
#[repr(align(128))]
struct Padded<T>(T);

/// The spinning barrier of one run. A rank that fails poisons it and every other rank leaves with [`Poisoned`].
pub(super) struct Barrier {
    arrived: Padded<AtomicUsize>,
    generation: Padded<AtomicUsize>,
    poisoned: AtomicBool,
    size: usize,
    spin: Duration,
}

impl Barrier {
    pub fn new(size: usize, spin: Duration) -> Self {
        Self {
            arrived: Padded(AtomicUsize::new(0)),
            generation: Padded(AtomicUsize::new(0)),
            poisoned: AtomicBool::new(false),
            size,
            spin,
        }
    }

    pub fn wait(&self) -> Result<(), Poisoned> {
        if self.size > 1 {
            let generation = self.generation.0.load(Ordering::Acquire);
            if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
                self.arrived.0.store(0, Ordering::Relaxed);
                self.generation.0.store(generation.wrapping_add(1), Ordering::Release);
            } else {
                self.wait_for_others(generation)?;
            }
        }
        if self.poisoned.load(Ordering::Acquire) { Err(Poisoned) } else { Ok(()) }
    }

    fn wait_for_others(&self, generation: usize) -> Result<(), Poisoned> {
        let mut patience = Patience::new(self.spin);
        while self.generation.0.load(Ordering::Acquire) == generation {
            if self.poisoned.load(Ordering::Acquire) {
                return Err(Poisoned);
            }
            if !patience.spin() {
                thread::yield_now();
            }
        }
        Ok(())
    }

    pub fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }
}
