//! How much of a response time is the thread's own, in the open model: at most, and for each operation.
//!
//! With a thread that is never late an operation would have been sent when it was intended, or when its connection was
//! free, and its reply noticed when it came. What it was sent later than that, and how long its reply lay, are added up
//! for it; nothing is subtracted from what is recorded, but a second histogram has what is left of each response time.
//!
//! Late requests also come in a bunch, and those behind them wait in the server for longer than they would. Servers that
//! take requests in their order end none of them later than so: each arrival is at most as late as the latest before it,
//! and so is each end. Hence an operation takes over the worst lateness of those before it, until no more requests are
//! under way than before that one was sent: then the bunch is gone. With one server that is exact; of simulated queues with
//! four and random times of service 3 in 1,000 operations had a little more left than they would have taken.

/// How many levels are told apart; more are taken together.
const LEVELS: usize = 16;

/// Since no more than `before` operations were under way, none was sent later than by `worst_ns`.
#[derive(Debug, Clone, Copy, Default)]
struct Level {
    before: usize,
    worst_ns: u64,
}

/// How late the operations that are under way were sent. Higher levels began with more of them, and are worse.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    levels: [Level; LEVELS],
    used: usize,
}

impl Lateness {
    /// An operation was sent so late, while `before` others were under way: by how much it, or one before it that may
    /// still hold it up, was late at most.
    pub fn sent(&mut self, late_ns: u64, before: usize) -> u64 {
        while self.used > 0 && self.levels[self.used - 1].before >= before {
            self.used -= 1;
        }
        let worst_ns = self.used.checked_sub(1).map_or(0, |top| self.levels[top].worst_ns);
        if late_ns <= worst_ns {
            return worst_ns;
        }
        if self.used < LEVELS {
            self.levels[self.used] = Level { before, worst_ns: late_ns };
            self.used += 1;
        } else {
            self.levels[LEVELS - 1].worst_ns = late_ns;
        }
        late_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::rng::Rng;

    #[test]
    fn those_behind_a_late_one_take_its_lateness_over_until_as_few_are_under_way_as_before_it() {
        let mut lateness = Lateness::default();
        let own = [(5, 0), (900, 2), (700, 3), (3, 4), (2, 3), (4, 2), (1, 1), (6, 0), (3, 1)];
        assert_eq!(own.map(|(late_ns, before)| lateness.sent(late_ns, before)), [5, 900, 900, 900, 900, 5, 5, 6, 6]);
    }

    #[test]
    fn more_levels_than_there_are_make_it_worse_and_never_better() {
        let mut lateness = Lateness::default();
        for step in 0..2 * LEVELS {
            assert_eq!(lateness.sent(10 * step as u64 + 1, step), 10 * step as u64 + 1);
        }
        assert_eq!(lateness.sent(0, LEVELS), 10 * (2 * LEVELS as u64 - 1) + 1);
        assert_eq!(lateness.sent(0, 0), 0);
    }

    /// One server that takes requests in their order, in so many ns each; arrivals by when they are intended. What the
    /// bound leaves of each response time is no longer than it would be with a sender that is never late.
    #[test]
    fn what_is_left_of_a_response_time_is_no_longer_than_without_the_lateness() {
        let mut rng = Rng::new(11, 0);
        let mut bounded = 0;
        for trial in 0..200 {
            let mut lateness = Lateness::default();
            let service_ns = 20 + rng.below(75);
            let (mut sent_before_ns, mut free_ns, mut ideal_free_ns) = (0, 0, 0);
            let mut ends: Vec<u64> = Vec::new();
            for number in 0..600u64 {
                let intended_ns = 100 * number;
                let pause_ns = if rng.below(40) == 0 { rng.below(3_000) } else { rng.below(10) };
                let sent_ns = (intended_ns + pause_ns).max(sent_before_ns);
                let before = ends.iter().filter(|&&end_ns| end_ns > sent_ns).count();
                let own_ns = lateness.sent(sent_ns - intended_ns, before);
                let end_ns = sent_ns.max(free_ns) + service_ns;
                let ideal_end_ns = intended_ns.max(ideal_free_ns) + service_ns;
                let left_ns = (end_ns - intended_ns).saturating_sub(own_ns);
                assert!(left_ns <= ideal_end_ns - intended_ns, "trial {trial}, operation {number}");
                bounded += u64::from(own_ns < 10);
                (sent_before_ns, free_ns, ideal_free_ns) = (sent_ns, end_ns, ideal_end_ns);
                ends.push(end_ns);
            }
        }
        assert!(bounded > 200 * 600 / 4, "a pause is forgotten once what it held up is gone: {bounded}");
    }
}
