//! The loops of an executed sequence of instructions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::code::{self, Code};

/// A loop without another one inside.
pub struct Loop {
    /// Address of the first instruction.
    pub start: u64,
    /// How often its closing branch was taken.
    pub rounds: usize,
    pub words: Vec<u32>,
}

impl Loop {
    /// The number of matrix instructions.
    pub fn matrix(&self) -> usize {
        self.words.iter().filter(|word| code::is_matrix(**word)).count()
    }

    pub fn matrix_share(&self) -> f64 {
        self.matrix() as f64 / self.words.len() as f64
    }
}

/// The innermost loops, the one of the most instructions executed first. A branch or jump that was taken backwards closes a
/// loop.
pub fn innermost(executed: &[u64], code: &Code) -> Vec<Loop> {
    let mut rounds = BTreeMap::new();
    for pair in executed.windows(2) {
        let jumps = || code.words.get(&pair[0]).is_some_and(|word| code::is_jump(*word));
        if pair[1] <= pair[0] && jumps() {
            *rounds.entry((pair[1], pair[0])).or_insert(0) += 1;
        }
    }
    let contains = |outer: (u64, u64), inner: (u64, u64)| outer != inner && outer.0 <= inner.0 && inner.1 <= outer.1;
    let is_innermost = |one: &(u64, u64)| !rounds.keys().any(|other| contains(*one, *other));
    let of = |(&(start, end), &rounds): (&(u64, u64), &usize)| {
        let words = code.words.range(start..=end).map(|(_, word)| *word).collect();
        Loop { start, rounds, words }
    };
    let mut loops: Vec<Loop> = rounds.iter().filter(|(bounds, _)| is_innermost(bounds)).map(of).collect();
    loops.sort_by_key(|one| Reverse(one.rounds * one.words.len()));
    loops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_running_innermost_loop_is_first() {
        const ADD: u32 = 0x0015_0513;
        const DOT: u32 = 0xe240_382b;
        const BRANCH: u32 = 0xfe05_1ee3;
        let words = [ADD, DOT, BRANCH, ADD, BRANCH, BRANCH, ADD];
        let code = Code { entry: 0, words: (0..).step_by(4).zip(words).collect() };
        let twice = [0, 4, 8, 4, 8, 4, 8, 12, 16, 12, 16, 20, 0, 4, 8, 12, 16, 20, 24];
        let loops = innermost(&twice, &code);
        let found: Vec<_> = loops.iter().map(|one| (one.start, one.rounds, one.words.len(), one.matrix())).collect();
        assert_eq!(found, [(4, 2, 2, 1), (12, 1, 2, 0)]);
        assert_eq!(loops[0].matrix_share(), 0.5);
    }
}
