//! What came through on one way, and how late it was.

use hdrhistogram::Histogram;

use super::WayReport;
use crate::record::histogram;

/// The histogram holds no negative figures: it has each lateness and this more, and what was earlier is the least.
const SHIFT_NS: i64 = 100_000;

pub(super) struct Tally {
    pub bytes: u64,
    late_sum_ns: i64,
    late_ns: Histogram<u64>,
}

impl Tally {
    pub fn new() -> Self {
        Self { bytes: 0, late_sum_ns: 0, late_ns: histogram::empty() }
    }

    /// A piece was so late; less than 0: it was early.
    pub fn record(&mut self, late_ns: i64) {
        self.late_sum_ns += late_ns;
        self.late_ns.saturating_record((late_ns + SHIFT_NS).max(1) as u64);
    }

    /// What it has; begins to count the pieces anew.
    pub fn report(&mut self) -> WayReport {
        let (pieces, late_ns) = (self.late_ns.len(), &self.late_ns);
        let shifted = |value_ns: u64| if pieces == 0 { 0 } else { value_ns as i64 - SHIFT_NS };
        let found = WayReport {
            bytes: self.bytes,
            pieces,
            late_mean_ns: self.late_sum_ns as f64 / pieces.max(1) as f64,
            late_p50_ns: shifted(late_ns.value_at_quantile(0.5)),
            late_p99_ns: shifted(late_ns.value_at_quantile(0.99)),
            late_max_ns: shifted(late_ns.max()),
        };
        self.late_sum_ns = 0;
        self.late_ns.reset();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_early_is_less_than_nothing() {
        let mut tally = Tally::new();
        (-5..=10).for_each(|us| tally.record(1000 * us));
        let found = tally.report();
        assert_eq!((found.pieces, found.late_mean_ns), (16, 2_500.0));
        assert!((found.late_p50_ns - 2_000).abs() < 100 && (found.late_max_ns - 10_000).abs() < 100, "{found:?}");
        let none = tally.report();
        assert_eq!((none.pieces, none.late_mean_ns, none.late_p50_ns, none.late_max_ns), (0, 0.0, 0, 0));
    }
}
