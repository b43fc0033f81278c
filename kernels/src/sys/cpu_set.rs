use std::fmt;
use std::str::FromStr;

const WORDS: usize = 16;

/// A set of logical CPUs, laid out as the kernel's affinity masks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSet([u64; WORDS]);

impl CpuSet {
    /// CPUs are numbered below this, as in glibc's `cpu_set_t`.
    pub const CAPACITY: usize = WORDS * 64;

    pub fn contains(&self, cpu: usize) -> bool {
        cpu < Self::CAPACITY && self.0[cpu / 64] & 1 << (cpu % 64) != 0
    }

    /// Adds a CPU; numbers from [`CpuSet::CAPACITY`] on cannot be in a set.
    pub fn insert(&mut self, cpu: usize) {
        if cpu < Self::CAPACITY {
            self.0[cpu / 64] |= 1 << (cpu % 64);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// CPUs in both sets.
    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// CPUs in either set.
    pub fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// CPUs of this set that are not in `other`.
    pub fn minus(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// The CPUs, in rising order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..Self::CAPACITY).filter(|&cpu| self.contains(cpu))
    }

    pub(super) fn as_words(&self) -> &[u64; WORDS] {
        &self.0
    }

    pub(super) fn as_words_mut(&mut self) -> &mut [u64; WORDS] {
        &mut self.0
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut set = Self::default();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

/// The kernel's list format: `0-3,8`. Empty text is the empty set.
impl FromStr for CpuSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = Self::default();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse().ok().filter(|&cpu| cpu < Self::CAPACITY);
            let (Some(first), Some(last)) = (number(first), number(last)) else {
                return Err(format!("'{part}' is no CPU below {} and no range of them", Self::CAPACITY));
            };
            (first..=last).for_each(|cpu| set.insert(cpu));
        }
        Ok(set)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for first in self.iter().filter(|&cpu| cpu == 0 || !self.contains(cpu - 1)) {
            let last = (first..).take_while(|&cpu| self.contains(cpu)).last().unwrap_or(first);
            if first == last {
                write!(f, "{separator}{first}")?
            } else {
                write!(f, "{separator}{first}-{last}")?
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (text, cpus) in [
            ("", vec![]),
            ("0", vec![0]),
            ("0-3,8", vec![0, 1, 2, 3, 8]),
            ("8,10,12,14", vec![8, 10, 12, 14]),
            ("63-64,1023", vec![63, 64, 1023]),
        ] {
            let set: CpuSet = text.parse().unwrap();
            assert_eq!(set.iter().collect::<Vec<_>>(), cpus);
            assert_eq!((set.to_string().as_str(), set.len(), set.is_empty()), (text, cpus.len(), cpus.is_empty()));
        }
        assert_eq!("0-1\n".parse::<CpuSet>().unwrap().len(), 2);
        for wrong in ["x", "0-", "-1", "1024", "3;4", "0-1-2"] {
            assert!(wrong.parse::<CpuSet>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn sets_combine() {
        let [a, b] = ["0-9", "8-15"].map(|text| text.parse::<CpuSet>().unwrap());
        assert_eq!((a.and(&b).to_string().as_str(), a.minus(&b).to_string().as_str()), ("8-9", "0-7"));
        assert_eq!(a.or(&b).to_string(), "0-15");
        assert!(!a.contains(5000));
    }
}
