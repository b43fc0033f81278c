//! Guesses of branches, by two bits for each place.

const PLACES: usize = 4096;

/// Above 1 means taken.
pub struct Predictor(Vec<u8>);

impl Default for Predictor {
    fn default() -> Self {
        Self(vec![2; PLACES])
    }
}

impl Predictor {
    /// Learns what the branch at `pc` did; whether that was the guess.
    pub fn guessed(&mut self, pc: u64, taken: bool) -> bool {
        let counter = &mut self.0[(pc >> 1) as usize % PLACES];
        let guess = *counter > 1;
        *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
        guess == taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_loop_is_the_only_surprise() {
        let mut predictor = Predictor::default();
        let surprises = (0..100).filter(|round| !predictor.guessed(0x1000, round % 10 != 9)).count();
        assert_eq!(surprises, 10);
    }
}
