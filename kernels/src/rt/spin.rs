use std::time::{Duration, Instant};

/// How long waiting threads spin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin {
    /// A worker that waits for its next run, before it parks.
    pub idle: Duration,
    /// A rank that waits for the others, before it starts to yield its core: on a busy machine the rank that it waits
    /// for may need that very core.
    pub barrier: Duration,
}

impl Default for Spin {
    fn default() -> Self {
        Self { idle: Duration::from_micros(100), barrier: Duration::from_micros(25) }
    }
}

/// One wait that spins for a while.
pub(super) struct Patience {
    limit: Duration,
    spins: u32,
    deadline: Option<Instant>,
}

/// Spins between two looks at the clock.
const SPINS: u32 = 64;

impl Patience {
    pub fn new(limit: Duration) -> Self {
        Self { limit, spins: 0, deadline: None }
    }

    /// Spins once; false when the time is up.
    pub fn spin(&mut self) -> bool {
        if cfg!(loom) {
            return false;
        }
        std::hint::spin_loop();
        self.spins += 1;
        if !self.spins.is_multiple_of(SPINS) {
            return true;
        }
        let now = Instant::now();
        let limit = self.limit;
        now < *self.deadline.get_or_insert_with(|| now + limit)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_after_its_time() {
        let start = Instant::now();
        let mut patience = Patience::new(Duration::from_millis(2));
        while patience.spin() {}
        assert!(start.elapsed() >= Duration::from_millis(2));
        let mut none = Patience::new(Duration::ZERO);
        assert!((0..=SPINS).any(|_| !none.spin()));
    }
}
