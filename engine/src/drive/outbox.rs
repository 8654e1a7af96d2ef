//! What a drive delivers: intervals while it runs, the record at its end.

use crate::control::bell::Bell;
use crate::record::histogram::Encoder;
use crate::record::outcome::{DriveError, DriveRecord, Interval, Phase};
use crate::wire::ErrorKind;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
struct Contents {
    intervals: VecDeque<Interval>,
    /// Those that wait for a later one; see [`Outbox::hold`].
    held: VecDeque<Interval>,
    hold: Option<Hold>,
    record: Option<Arc<DriveRecord>>,
    /// There will be no record: the collector is gone.
    broken: bool,
}

/// How long intervals that end while something is measured wait for each other.
#[derive(Debug)]
struct Hold {
    length: Duration,
    from_s: f64,
    delivered: Instant,
}

impl Hold {
    /// Whether an interval waits. One in which a server was full does not: whoever watches the room on it must know at
    /// once.
    fn holds(&mut self, interval: &Interval) -> bool {
        /// Ends are sums of lengths.
        const ROUNDING_S: f64 = 1e-6;
        const FULL: &str = ErrorKind::ServerOom.name();
        let is_full = interval.operations.values().any(|operation| operation.errors.contains_key(FULL));
        let ends_s = interval.start_s + interval.duration_s;
        let is_of_these = interval.phase <= Phase::Measure && ends_s > self.from_s + ROUNDING_S;
        let waits = is_of_these && !is_full && self.delivered.elapsed() < self.length;
        if !waits {
            self.delivered = Instant::now();
        }
        waits
    }
}

impl Contents {
    /// What was held comes out, and what comes next.
    fn release(&mut self) {
        self.intervals.append(&mut self.held);
    }

    fn has_ended(&self) -> bool {
        self.record.is_some() || self.broken
    }
}

/// Filled by the collector, emptied by the owner of the drive.
#[derive(Debug, Default)]
pub struct Outbox {
    contents: Mutex<Contents>,
    changed: Condvar,
    encoder: Mutex<Encoder>,
    /// Rings for who waits for several of them.
    bell: Option<Arc<Bell>>,
}

impl Outbox {
    /// An outbox that rings a bell, too, when there is something in it.
    pub fn ringing(bell: Arc<Bell>) -> Self {
        Self { bell: Some(bell), ..Self::default() }
    }

    fn announce(&self) {
        self.changed.notify_all();
        if let Some(bell) = &self.bell {
            bell.ring();
        }
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits at most `timeout` until `is_there`.
    fn wait(&self, timeout: Duration, is_there: impl Fn(&Contents) -> bool) -> MutexGuard<'_, Contents> {
        let waited = self.changed.wait_timeout_while(self.contents(), timeout, |contents| !is_there(contents));
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    pub fn add_interval(&self, interval: Interval) {
        let mut contents = self.contents();
        let waits = contents.hold.as_mut().is_some_and(|hold| hold.holds(&interval));
        contents.held.push_back(interval);
        if waits {
            return;
        }
        contents.release();
        drop(contents);
        self.announce();
    }

    /// Intervals that end later than `from_s`, and in which no server was full, are handed out together after `length`,
    /// or when the measured phase is over: whoever takes one takes time from the CPU of the load.
    pub fn hold(&self, length: Duration, from_s: f64) {
        self.contents().hold = Some(Hold { length, from_s, delivered: Instant::now() });
    }

    /// The collector holds the guard; if that is dropped without a record, no caller waits for one.
    pub fn guard(self: &Arc<Self>) -> Guard {
        Guard(self.clone())
    }

    /// The drive has ended.
    pub fn finish(&self, record: DriveRecord) {
        let mut contents = self.contents();
        contents.release();
        contents.record = Some(Arc::new(record));
        drop(contents);
        self.announce();
    }

    /// The next interval as JSON; None after `timeout`, or at once when all were taken.
    pub fn next_interval(&self, timeout: Duration) -> Option<String> {
        let is_there = |contents: &Contents| !contents.intervals.is_empty() || contents.has_ended();
        let interval = self.wait(timeout, is_there).intervals.pop_front()?;
        let mut encoder = self.encoder.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Some(interval.into_json(&mut encoder))
    }

    /// Whether the drive has ended.
    pub fn has_ended(&self) -> bool {
        self.contents().has_ended()
    }

    /// Whether the drive has ended and every interval was taken.
    pub fn finished(&self) -> bool {
        let contents = self.contents();
        contents.has_ended() && contents.intervals.is_empty()
    }

    /// The record; None if the drive has not ended after `timeout`.
    pub fn record(&self, timeout: Duration) -> Result<Option<Arc<DriveRecord>>, DriveError> {
        let contents = self.wait(timeout, Contents::has_ended);
        match &contents.record {
            None if contents.broken => Err(DriveError::Broken),
            record => Ok(record.clone()),
        }
    }
}

/// See [`Outbox::guard`].
#[derive(Debug)]
pub struct Guard(Arc<Outbox>);

impl Drop for Guard {
    fn drop(&mut self) {
        let mut contents = self.0.contents();
        contents.release();
        contents.broken = true;
        drop(contents);
        self.0.announce();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::histogram::Latencies;
    use crate::record::tally::Tally;

    fn interval(phase: Phase, refused: u64) -> Interval {
        let errors = if refused > 0 { vec![(ErrorKind::ServerOom, refused)] } else { Vec::new() };
        let tally = Tally { offered: 1, sent: 1, ok: 1 - refused, errors, ..Tally::default() };
        let operation = tally.of_interval(Latencies::default());
        Interval {
            index: 0,
            phase,
            start_s: 0.0,
            duration_s: 1.0,
            joined: 0,
            first_round: None,
            last_round: None,
            start_unix_ns: 0,
            operations: [("set".into(), operation)].into(),
            bytes_sent: 0,
            bytes_received: 0,
            connections: 1,
            users: 1,
            backlog: 0,
            cpu_s: Vec::new(),
        }
    }

    /// How many intervals can be taken after each of these, a second each.
    fn ready(hold: Duration, from_s: f64, intervals: &[(Phase, u64)]) -> Vec<usize> {
        let outbox = Outbox::default();
        outbox.hold(hold, from_s);
        let after = |(second, &(phase, refused)): (usize, &(Phase, u64))| {
            outbox.add_interval(Interval { start_s: second as f64, ..interval(phase, refused) });
            std::iter::from_fn(|| outbox.next_interval(Duration::ZERO)).count()
        };
        intervals.iter().enumerate().map(after).collect()
    }

    #[test]
    fn what_is_measured_is_handed_out_at_its_ends() {
        use Phase::{Drain, Measure, WarmUp};
        let phases = [WarmUp, WarmUp, Measure, Measure, Measure, Drain].map(|phase| (phase, 0));
        assert_eq!(ready(Duration::from_secs(3600), 2.0, &phases), [1, 1, 0, 0, 0, 4]);
        assert_eq!(ready(Duration::from_secs(3600), 1.0, &phases), [1, 0, 0, 0, 0, 5]);
        assert_eq!(ready(Duration::from_secs(3600), 3.0, &phases), [1, 1, 1, 0, 0, 3]);
        assert_eq!(ready(Duration::ZERO, 2.0, &phases), [1; 6]);
    }

    #[test]
    fn that_a_server_is_full_is_handed_out_at_once() {
        let phases = [0, 0, 1, 0, 0].map(|refused| (Phase::Measure, refused));
        assert_eq!(ready(Duration::from_secs(3600), 1.0, &phases), [1, 0, 2, 0, 0]);
    }

    #[test]
    fn nothing_that_was_held_is_lost_with_the_collector() {
        let outbox = Arc::new(Outbox::default());
        outbox.hold(Duration::from_secs(3600), 0.0);
        let guard = outbox.guard();
        (0..3).for_each(|_| outbox.add_interval(interval(Phase::Measure, 0)));
        drop(guard);
        assert_eq!(std::iter::from_fn(|| outbox.next_interval(Duration::ZERO)).count(), 3);
        assert!(outbox.finished());
    }

    #[test]
    fn no_caller_waits_for_a_collector_that_is_gone() {
        let outbox = Arc::new(Outbox::default());
        assert_eq!(outbox.record(Duration::ZERO).unwrap().map(drop), None);
        drop(outbox.guard());
        assert!(outbox.finished());
        assert_eq!(outbox.next_interval(Duration::from_secs(60)), None);
        assert_eq!(outbox.record(Duration::from_secs(60)).unwrap_err(), DriveError::Broken);
    }
}
