//! The last writes of a thread, to be read back after the drain.

use std::collections::{HashSet, VecDeque};

/// A write that was answered correctly and overlapped no other write of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Write {
    pub operation: u16,
    pub key: u64,
    pub version: u32,
}

/// Read-backs of one thread: how many were judged, how many of them wrong, and how many keys were skipped
/// because a newer write of the key was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadBackCounts {
    pub checked: u64,
    pub wrong: u64,
    pub skipped: u64,
}

/// Keeps the last `max` writes.
#[derive(Debug)]
pub(super) struct RecentWrites {
    writes: VecDeque<Write>,
    max: usize,
    /// Keys that were taken or skipped.
    taken: HashSet<u64>,
}

impl RecentWrites {
    pub fn new(max: usize) -> Self {
        Self { writes: VecDeque::new(), max, taken: HashSet::new() }
    }

    #[inline]
    pub fn push(&mut self, write: Write) {
        if self.writes.len() >= self.max {
            self.writes.pop_front();
        }
        if self.max > 0 {
            self.writes.push_back(write);
        }
    }

    /// Takes the newest write of another key than those taken before.
    pub fn take(&mut self) -> Option<Write> {
        while let Some(write) = self.writes.pop_back() {
            if self.taken.insert(write.key) {
                return Some(write);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(key: u64, version: u32) -> Write {
        Write { operation: 0, key, version }
    }

    #[test]
    fn the_last_writes_are_kept_each_key_once() {
        let mut recent = RecentWrites::new(4);
        for (key, version) in [(1, 1), (2, 1), (3, 1), (1, 2), (3, 2)] {
            recent.push(write(key, version));
        }
        let taken: Vec<Write> = std::iter::from_fn(|| recent.take()).collect();
        assert_eq!(taken, [write(3, 2), write(1, 2), write(2, 1)]);
    }

    #[test]
    fn none_are_kept_when_none_are_required() {
        let mut recent = RecentWrites::new(0);
        recent.push(write(1, 1));
        assert_eq!(recent.take(), None);
    }
}
