//! What a drive delivers: intervals while it runs, the record at its end.

use crate::control::bell::Bell;
use crate::record::outcome::{DriveError, DriveRecord, Interval};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

#[derive(Debug, Default)]
struct Contents {
    intervals: VecDeque<String>,
    record: Option<Arc<DriveRecord>>,
    /// There will be no record: the collector is gone.
    broken: bool,
}

impl Contents {
    fn has_ended(&self) -> bool {
        self.record.is_some() || self.broken
    }
}

/// Filled by the collector, emptied by the owner of the drive.
#[derive(Debug, Default)]
pub struct Outbox {
    contents: Mutex<Contents>,
    changed: Condvar,
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

    pub fn add_interval(&self, interval: &Interval) {
        let text = serde_json::to_string(interval).expect("an interval has text keys only");
        self.contents().intervals.push_back(text);
        self.announce();
    }

    /// The collector holds the guard; if that is dropped without a record, no caller waits for one.
    pub fn guard(self: &Arc<Self>) -> Guard {
        Guard(self.clone())
    }

    /// The drive has ended.
    pub fn finish(&self, record: DriveRecord) {
        self.contents().record = Some(Arc::new(record));
        self.announce();
    }

    /// The next interval as JSON; None after `timeout`, or at once when all were taken.
    pub fn next_interval(&self, timeout: Duration) -> Option<String> {
        let is_there = |contents: &Contents| !contents.intervals.is_empty() || contents.has_ended();
        self.wait(timeout, is_there).intervals.pop_front()
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
        self.0.contents().broken = true;
        self.0.announce();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
