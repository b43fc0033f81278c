use crate::rt::Worker;
use crate::ukr::quantize_f32_i8::LEAST;
use crate::vector;

/// A row in int8 before it is packed.
pub(super) struct Line<'a> {
    /// As many as the row has numbers.
    pub codes: &'a mut [i8],
    /// Of each group; 0 for groups that the row has not.
    pub scales: &'a mut [f32],
    /// Sums of the codes of each group.
    pub sums: &'a mut [f32],
}

impl Line<'_> {
    /// Rounds the row `a` in groups of `group` numbers.
    pub fn quantize(&mut self, worker: &Worker<'_>, a: &[f32], group: usize) {
        let (scales, no_scales) = self.scales.split_at_mut(a.len().div_ceil(group));
        let (sums, no_sums) = self.sums.split_at_mut(scales.len());
        no_scales.fill(0.0);
        no_sums.fill(0.0);
        if vector::quantize_groups(worker, a, group, self.codes, scales, sums) {
            return;
        }
        let groups = a.chunks(group).zip(self.codes.chunks_mut(group));
        for ((a, codes), (scale, sum)) in groups.zip(scales.iter_mut().zip(sums.iter_mut())) {
            let largest = f32::from_bits(a.iter().map(|a| a.abs().to_bits()).max().unwrap_or(0));
            let factor = if largest < LEAST { 0.0 } else { 127.0 / largest };
            codes.iter_mut().zip(a).for_each(|(code, a)| *code = (a * factor).round_ties_even() as i8);
            *scale = if largest < LEAST { 0.0 } else { largest / 127.0 + largest * 0.0 };
            *sum = codes.iter().map(|&code| f32::from(code)).sum();
        }
    }
}
