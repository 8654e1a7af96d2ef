//! What the receivers of one thread count.

use super::sequences::Sequences;
use crate::content::message;
use crate::record::calls::Calls;
use crate::record::histogram::Buckets;
use std::ops::Range;

#[derive(Debug, Default)]
pub struct Tally {
    /// Deliveries of messages that were intended in the measure phase.
    pub delivered: u64,
    /// Deliveries that came in the measure phase.
    pub window_delivered: u64,
    /// All deliveries.
    pub received: u64,
    pub repeated: u64,
    /// Messages that are none of ours.
    pub unreadable: u64,
    /// From the time that a message was intended to its delivery.
    pub delivery: Buckets,
    pub overflowed: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub calls: Calls,
}

impl Tally {
    /// Counts a message that came at `now_ns`; `measure_ns` is the measure phase.
    pub fn take(&mut self, text: &[u8], now_ns: u64, measure_ns: &Range<u64>, sequences: &mut Sequences) {
        let Some(stamp) = message::read(text) else {
            self.unreadable += 1;
            return;
        };
        self.received += 1;
        self.window_delivered += u64::from(measure_ns.contains(&now_ns));
        if sequences.repeats(stamp.seq) {
            self.repeated += 1;
        } else if stamp.intended.is_measured() {
            self.delivered += 1;
            let late_ns = now_ns.saturating_sub(stamp.intended.ns());
            self.overflowed += u64::from(!self.delivery.record(late_ns));
        }
    }

    /// Adds that of another thread.
    pub fn add(&mut self, other: &Tally) {
        self.delivered += other.delivered;
        self.window_delivered += other.window_delivered;
        self.received += other.received;
        self.repeated += other.repeated;
        self.unreadable += other.unreadable;
        self.delivery.add(&other.delivery);
        self.overflowed += other.overflowed;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.calls.add(&other.calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::message::{Intended, STAMP_BYTES, Stamp};

    #[test]
    fn what_was_intended_in_the_measure_phase_is_measured_wherever_it_comes() {
        let (mut tally, mut sequences) = (Tally::default(), Sequences::new(1));
        let mut take = |intended_ns, is_measured, seq, now_ns| {
            let mut text = vec![];
            message::write(
                Stamp { intended: Intended::new(intended_ns, is_measured), seq },
                &[b'x'; STAMP_BYTES],
                &mut text,
            );
            tally.take(&text, now_ns, &(100..200), &mut sequences);
        };
        take(99, false, 0, 101);
        take(100, true, 1, 150);
        take(199, true, 2, 300);
        take(199, true, 2, 300);
        take(200, false, 3, 301);
        tally.take(b"hello", 150, &(100..200), &mut sequences);
        assert_eq!((tally.received, tally.delivered, tally.window_delivered), (5, 2, 2));
        assert_eq!((tally.repeated, tally.unreadable), (1, 1));
        assert_eq!((tally.delivery.histogram().min(), tally.delivery.histogram().max()), (50, 101));
    }
}
