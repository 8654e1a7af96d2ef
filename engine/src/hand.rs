//! What a drive has to hand out: intervals while it runs, the record at its end.

use crate::outcome::{DriveError, DriveRecord, Interval};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

#[derive(Debug, Default)]
struct Contents {
    intervals: VecDeque<String>,
    record: Option<Arc<DriveRecord>>,
    /// There will be no record: whoever was to make it is gone.
    broken: bool,
}

impl Contents {
    fn has_ended(&self) -> bool {
        self.record.is_some() || self.broken
    }
}

/// Filled by the collector, emptied by whoever drives.
#[derive(Debug, Default)]
pub struct Hand {
    contents: Mutex<Contents>,
    news: Condvar,
}

impl Hand {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits at most `timeout` until `is_there`.
    fn wait(&self, timeout: Duration, is_there: impl Fn(&Contents) -> bool) -> MutexGuard<'_, Contents> {
        let waited = self.news.wait_timeout_while(self.contents(), timeout, |contents| !is_there(contents));
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    pub fn add_interval(&self, interval: &Interval) {
        let text = serde_json::to_string(interval).expect("an interval has text keys only");
        self.contents().intervals.push_back(text);
        self.news.notify_all();
    }

    /// Whoever fills it holds the guard; if that is dropped without a record, nobody waits for one.
    pub fn guard(self: &Arc<Self>) -> Guard {
        Guard(self.clone())
    }

    /// The drive has ended.
    pub fn finish(&self, record: DriveRecord) {
        self.contents().record = Some(Arc::new(record));
        self.news.notify_all();
    }

    /// The next interval as JSON; None after `timeout`, or at once when all were handed out.
    pub fn next_interval(&self, timeout: Duration) -> Option<String> {
        let is_there = |contents: &Contents| !contents.intervals.is_empty() || contents.has_ended();
        self.wait(timeout, is_there).intervals.pop_front()
    }

    /// Whether the drive has ended and every interval was handed out.
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

/// See [`Hand::guard`].
#[derive(Debug)]
pub struct Guard(Arc<Hand>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.contents().broken = true;
        self.0.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_collector_that_is_gone() {
        let hand = Arc::new(Hand::default());
        assert_eq!(hand.record(Duration::ZERO).unwrap().map(drop), None);
        drop(hand.guard());
        assert!(hand.finished());
        assert_eq!(hand.next_interval(Duration::from_secs(60)), None);
        assert_eq!(hand.record(Duration::from_secs(60)).unwrap_err(), DriveError::Broken);
    }
}
