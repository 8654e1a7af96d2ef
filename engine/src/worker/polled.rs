//! Up to when everything that came in was handled: only what is late by that instant is late.
//!
//! A thread that had no CPU for a while finds its deadlines passed, and before it the answers that came in time.

/// Events come in batches; one that is not whole leaves some of them for the next, first come first served.
#[derive(Debug, Default)]
pub(super) struct Polled {
    done_ns: u64,
    /// When the round of batches that is under way began, and how many events it had.
    begun_ns: u64,
    events: usize,
}

impl Polled {
    /// All that had come in by this instant was handled.
    #[inline]
    pub fn done_ns(&self) -> u64 {
        self.done_ns
    }

    /// A batch of so many events was requested at `now_ns` or later and handled, and whether that was all there is; of
    /// `sources` each has one at a time.
    pub fn note(&mut self, now_ns: u64, batch: usize, is_whole: bool, sources: usize) {
        if self.events == 0 {
            self.begun_ns = now_ns;
        }
        self.events += batch;
        if is_whole || self.events >= sources {
            self.done_ns = self.begun_ns;
            self.events = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_done_with_a_batch_that_is_whole_or_when_every_source_had_its_turn() {
        let mut polled = Polled::default();
        let mut done_after = |now_ns, batch| {
            polled.note(now_ns, batch, batch < 10, 25);
            polled.done_ns()
        };
        assert_eq!([done_after(1, 0), done_after(2, 9)], [1, 2]);
        assert_eq!([done_after(3, 10), done_after(4, 3)], [2, 3], "from its beginning");
        assert_eq!([done_after(5, 10), done_after(6, 10), done_after(7, 10)], [3, 3, 5]);
        assert_eq!(done_after(8, 0), 8);
    }
}
