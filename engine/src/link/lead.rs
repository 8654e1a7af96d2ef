//! How long before a piece is due the line's thread is to be awake, so that pieces arrive in time on average.
//!
//! Waking up, waiting for a CPU, writing: what all of it takes together is learnt from how late pieces were. So the
//! sum is right without polling, which on a CPU that others use makes the line wait longer than it saves.

use super::way::Way;

/// The line is awake at most so long before a piece is due; one that was later says no more than this.
const MOST_NS: f64 = 100_000.0;
/// Where it begins.
const FIRST_NS: f64 = 25_000.0;
/// After so many pieces each one counts for the same part of what is known.
const MEMORY: u32 = 64;
/// On a way nothing arrives earlier than it is due by more than this part of the round trip's delay. Where much is on its
/// way, what is due so soon leaves together, and one turn of the thread does for it.
const EARLY_PART: u64 = 20;
const EARLY_MOST_NS: u64 = 50_000;

#[derive(Debug)]
pub(super) struct Lead {
    ns: f64,
    /// By the side that sends, as in all of these: so much too early a piece may arrive.
    early_ns: [u64; 2],
    /// On a way without a delay nothing can be sent in advance.
    is_delayed: [bool; 2],
    /// How late pieces are, lately.
    late_ns: [f64; 2],
    learnt: [u32; 2],
}

impl Lead {
    pub fn new(ways: &[Way; 2]) -> Self {
        let delays_ns = [ways[0].mean_ns(), ways[1].mean_ns()];
        let is_delayed = delays_ns.map(|delay_ns| delay_ns > 0);
        let early_ns = ((delays_ns[0] + delays_ns[1]) / EARLY_PART).min(EARLY_MOST_NS);
        Self {
            ns: FIRST_NS,
            early_ns: is_delayed.map(|is| if is { early_ns } else { 0 }),
            is_delayed,
            late_ns: [0.0; 2],
            learnt: [0; 2],
        }
    }

    /// When to be awake for a piece that is due then: earlier, or a little later where the pieces behind it that leave
    /// with it are early.
    pub fn awake_ns(&self, due_ns: u64) -> u64 {
        due_ns.saturating_add_signed(-(self.ns as i64))
    }

    /// So much too early a piece may arrive.
    pub fn early_ns(&self, from: usize) -> u64 {
        self.early_ns[from]
    }

    /// A piece was so late; less than 0: it was early.
    pub fn learn(&mut self, from: usize, late_ns: i64) {
        let late_ns = (late_ns as f64).clamp(-MOST_NS, MOST_NS);
        self.learnt[from] = (self.learnt[from] + 1).min(MEMORY);
        let part = 1.0 / f64::from(self.learnt[from].max(4));
        self.late_ns[from] += part * (late_ns - self.late_ns[from]);
        if self.is_delayed[from] {
            // What is lost on a way without a delay is made up for on this one.
            let owed_ns = if self.is_delayed[1 - from] { 0.0 } else { self.late_ns[1 - from] };
            self.ns = (self.ns + part * (late_ns + owed_ns)).clamp(-(EARLY_MOST_NS as f64), MOST_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::WayOptions;
    use super::*;

    fn lead(to_server_us: f64, to_client_us: f64) -> Lead {
        let way = |delay_us, stream| Way::new(&WayOptions { delay_us, ..WayOptions::default() }, 1, stream);
        Lead::new(&[way(to_server_us, 0), way(to_client_us, 1)])
    }

    /// The mean lateness of a round trip once it has learnt, where waking up takes 10 to 50 us and a way without a
    /// delay costs `pass_us` more than nothing.
    fn settles_at(mut lead: Lead, pass_us: f64) -> f64 {
        let mut sum = 0.0;
        for n in 0..4000u32 {
            for from in 0..2 {
                let waking_ns =
                    10_000.0 + 40_000.0 * f64::from(n.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
                let late_ns = if lead.is_delayed[from] { waking_ns - lead.ns } else { 1e3 * pass_us };
                let late_ns = late_ns.max(-(lead.early_ns(from) as f64));
                lead.learn(from, late_ns as i64);
                sum += if n >= 2000 { late_ns } else { 0.0 };
            }
        }
        sum / 2000.0
    }

    #[test]
    fn what_the_line_takes_is_taken_off_so_that_a_round_trip_is_right_on_average() {
        assert!(settles_at(lead(500.0, 500.0), 0.0).abs() < 2_000.0);
        assert!(settles_at(lead(1000.0, 0.0), 12.0).abs() < 2_000.0, "of the one way what the other costs, too");
    }

    #[test]
    fn nothing_arrives_much_earlier_than_it_is_due() {
        let early = |a, b| [lead(a, b).early_ns(0), lead(a, b).early_ns(1)];
        assert_eq!(early(100.0, 100.0), [10_000, 10_000]);
        assert_eq!(early(500.0, 0.0), [25_000, 0]);
        assert_eq!(early(0.0, 0.0), [0, 0]);
        assert_eq!(early(1e6, 1e6), [50_000, 50_000]);
    }

    #[test]
    fn a_stall_is_not_the_rule() {
        let mut lead = lead(500.0, 500.0);
        (0..1000).for_each(|_| lead.learn(0, 0));
        let before_ns = lead.ns;
        lead.learn(0, 50_000_000);
        assert!(lead.ns - before_ns < 4_000.0);
        (0..10_000).for_each(|_| lead.learn(0, 50_000_000));
        assert_eq!(lead.awake_ns(1_000_000), 1_000_000 - MOST_NS as u64);
        (0..10_000).for_each(|_| lead.learn(0, -50_000_000));
        assert_eq!(lead.awake_ns(1_000_000), 1_000_000 + EARLY_MOST_NS);
    }
}
