//! Places intermediate buffers in one arena so that buffers alive at the same time do not overlap.

use kernels::mem::ALIGNMENT;

/// A buffer and the steps, first to last, during which its bytes matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lifetime {
    pub bytes: usize,
    pub first: usize,
    pub last: usize,
}

impl Lifetime {
    fn meets(&self, other: &Lifetime) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Offset of each buffer: the large ones first, each at the lowest place that is free during its whole life.
pub(super) fn place(lifetimes: &[Lifetime]) -> Vec<usize> {
    let mut by_size: Vec<usize> = (0..lifetimes.len()).collect();
    by_size.sort_by_key(|&index| (std::cmp::Reverse(lifetimes[index].bytes), index));
    let mut offsets = vec![0; lifetimes.len()];
    // (offset, end, index), by offset
    let mut placed: Vec<(usize, usize, usize)> = Vec::with_capacity(lifetimes.len());
    for index in by_size {
        let bytes = lifetimes[index].bytes.next_multiple_of(ALIGNMENT);
        let mut offset = 0;
        for &(start, end, other) in &placed {
            if lifetimes[index].meets(&lifetimes[other]) {
                if start >= offset + bytes {
                    break;
                }
                offset = offset.max(end);
            }
        }
        offsets[index] = offset;
        let at = placed.partition_point(|&(start, ..)| start <= offset);
        placed.insert(at, (offset, offset + bytes, index));
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_alive_together_are_apart_and_dead_ones_are_reused() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below as usize
        };
        for count in [0, 1, 2, 50] {
            let lifetimes: Vec<Lifetime> = (0..count)
                .map(|_| {
                    let first = random(20);
                    Lifetime { bytes: random(300), first, last: first + random(5) }
                })
                .collect();
            let offsets = place(&lifetimes);
            for a in 0..count {
                assert_eq!(offsets[a] % ALIGNMENT, 0);
                for b in 0..a {
                    let apart =
                        offsets[a] + lifetimes[a].bytes <= offsets[b] || offsets[b] + lifetimes[b].bytes <= offsets[a];
                    assert!(
                        apart || !lifetimes[a].meets(&lifetimes[b]) || lifetimes[a].bytes * lifetimes[b].bytes == 0
                    );
                }
            }
        }
        let chain: Vec<Lifetime> = (0..10).map(|step| Lifetime { bytes: 64, first: step, last: step + 1 }).collect();
        assert_eq!(place(&chain).into_iter().max(), Some(64), "a chain needs two buffers");
    }
}
