//! A cache with sets of lines, of which the least recently used one makes room.

/// Bytes of a line.
pub const LINE: u64 = 64;

/// Size of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub bytes: usize,
    pub ways: usize,
}

/// Where a line was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Level {
    L1,
    L2,
    Dram,
}

/// A line in a cache.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Address in lines.
    pub number: u64,
    pub is_dirty: bool,
    /// The cycle from which it can be read, and where it came from.
    pub arrival: u64,
    pub from: Level,
}

pub struct Cache {
    /// The most recently used line of a set is first.
    sets: Vec<Vec<Line>>,
    ways: usize,
}

impl Cache {
    pub fn new(shape: Shape) -> Self {
        let sets = shape.bytes / LINE as usize / shape.ways;
        Self { sets: vec![Vec::with_capacity(shape.ways + 1); sets], ways: shape.ways }
    }

    fn set(&mut self, number: u64) -> &mut Vec<Line> {
        let index = number as usize % self.sets.len();
        &mut self.sets[index]
    }

    /// The line, which becomes the most recently used one.
    pub fn find(&mut self, number: u64) -> Option<&mut Line> {
        let set = self.set(number);
        let at = set.iter().position(|line| line.number == number)?;
        set[..=at].rotate_right(1);
        set.first_mut()
    }

    /// Adds a line that is not there and returns the one that made room.
    pub fn insert(&mut self, line: Line) -> Option<Line> {
        let ways = self.ways;
        let set = self.set(line.number);
        set.insert(0, line);
        if set.len() > ways { set.pop() } else { None }
    }

    pub fn clear(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: u64) -> Line {
        Line { number, is_dirty: false, arrival: 0, from: Level::L2 }
    }

    #[test]
    fn the_least_recently_used_line_of_the_set_leaves() {
        // Two sets of two lines.
        let mut cache = Cache::new(Shape { bytes: 256, ways: 2 });
        assert!([0, 2, 1].into_iter().all(|number| cache.insert(line(number)).is_none()));
        assert!(cache.find(0).is_some());
        assert_eq!(cache.insert(line(4)).unwrap().number, 2);
        assert!(cache.find(2).is_none() && cache.find(1).is_some() && cache.find(4).is_some());
        cache.clear();
        assert!(cache.find(0).is_none());
    }
}
