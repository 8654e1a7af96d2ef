//! What the threads of one drive share: when it began, when the measure phase ends, why it stopped.

pub mod bell;
pub mod lease;
pub mod turns;

use self::bell::Bell;
use self::lease::Lease;
use self::turns::{Slice, Turns};
use crate::machine::clock::{Clock, SECOND_NS, from_s, to_s};
use crate::net::waiter::Waker;
use crate::record::slices::{SliceTally, Slices};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

const NEVER: u64 = u64::MAX;
/// Notice given to the other threads of an end that could not be foreseen.
const NOTICE_NS: u64 = SECOND_NS / 1000;

#[derive(Debug)]
pub struct Control {
    pub clock: Clock,
    threads: usize,
    gone_ns: u64,
    origin_ns: AtomicU64,
    measure_end_ns: AtomicU64,
    measured: AtomicU64,
    stopped: AtomicBool,
    reason: Mutex<Option<String>>,
    working: AtomicUsize,
    draining: AtomicUsize,
    reach: Mutex<Reach>,
    wakers: Mutex<Vec<Arc<Waker>>>,
    /// Bound to it, the drive ends where it does.
    pub lease: Arc<Lease>,
    /// Of a drive in slices.
    pub turns: Option<Turns>,
}

/// Whether the server can be reached.
#[derive(Debug, Default)]
struct Reach {
    /// Connections that are ready for operations.
    ready: usize,
    /// When the first connection could not be opened while none was ready; None if none has been tried without success.
    failing_since_ns: Option<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Control {
    pub fn new(clock: Clock, threads: usize, gone_s: f64) -> Self {
        Self {
            clock,
            threads,
            gone_ns: from_s(gone_s),
            origin_ns: AtomicU64::new(NEVER),
            measure_end_ns: AtomicU64::new(NEVER),
            measured: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            reason: Mutex::new(None),
            working: AtomicUsize::new(threads),
            draining: AtomicUsize::new(threads),
            reach: Mutex::default(),
            wakers: Mutex::new(Vec::new()),
            lease: Arc::default(),
            turns: None,
        }
    }

    /// The same for a drive in slices; `bell` rings when its threads are done with one, and when it is stopped. All that
    /// take turns have the same lease.
    pub fn in_turns(self, bell: Arc<Bell>, lease: Arc<Lease>) -> Self {
        Self { turns: Some(Turns::new(self.threads, bell)), lease, ..self }
    }

    /// Gives a drive in slices its next one.
    pub fn give(&self, slice: Slice) {
        if let Some(turns) = &self.turns {
            turns.give(slice);
            self.wake_all();
        }
    }

    /// What the threads did in the slice that they got last; None until all are done with it.
    pub fn done(&self) -> Option<SliceTally> {
        self.turns.as_ref().and_then(Turns::done)
    }

    /// Lets a drive in slices, which had all of `slices`, come to its end; `early` is why before the time.
    pub fn end_turns(&self, slices: Slices, early: Option<&str>) {
        if let Some(why) = early {
            self.note_reason(why);
        }
        if let Some(turns) = &self.turns {
            turns.end(slices);
            self.wake_all();
        }
    }

    /// Adds a thread that is to be woken when something changes.
    pub fn add_waker(&self, waker: Waker) {
        lock(&self.wakers).push(Arc::new(waker));
    }

    fn wake_all(&self) {
        for waker in lock(&self.wakers).iter() {
            // A thread that cannot be woken looks by itself at its next timer.
            let _ = waker.wake();
        }
    }

    /// Lets the load begin at `origin_ns`; the measure phase ends at `measure_end_ns` at the latest.
    pub fn go(&self, origin_ns: u64, measure_end_ns: u64) {
        self.measure_end_ns.fetch_min(measure_end_ns, Ordering::SeqCst);
        self.origin_ns.store(origin_ns, Ordering::SeqCst);
        self.wake_all();
    }

    /// When the load begins; None until that is known.
    pub fn origin_ns(&self) -> Option<u64> {
        Some(self.origin_ns.load(Ordering::SeqCst)).filter(|&origin| origin != NEVER)
    }

    #[inline]
    pub fn measure_end_ns(&self) -> u64 {
        self.measure_end_ns.load(Ordering::Relaxed)
    }

    /// Ends the measure phase now, or as soon as the other threads have had notice of it, but not before
    /// `earliest_ns`.
    pub fn end_measure(&self, now_ns: u64, earliest_ns: u64) {
        let notice = if self.threads > 1 { NOTICE_NS } else { 0 };
        self.measure_end_ns.fetch_min(earliest_ns.max(now_ns + notice), Ordering::SeqCst);
        self.wake_all();
    }

    /// Ends the drive if its lease has run out, which its own thread may find out later. Whether it has.
    pub fn ends_with_its_lease(&self) -> bool {
        let has_run_out = self.lease.has_run_out();
        if has_run_out {
            self.stop(lease::RAN_OUT);
        }
        has_run_out
    }

    /// Adds measured operations that ended; returns how many there are.
    pub fn add_measured(&self, operations: u64) -> u64 {
        self.measured.fetch_add(operations, Ordering::Relaxed) + operations
    }

    /// A thread has done all the work there was for it; the last one ends the measure phase.
    pub fn work_done(&self, now_ns: u64) {
        if self.working.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.end_measure(now_ns, 0);
        }
    }

    /// A thread has drained; the last one wakes the others.
    pub fn drained(&self) {
        if self.draining.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.wake_all();
        }
    }

    pub fn all_drained(&self) -> bool {
        self.draining.load(Ordering::SeqCst) == 0
    }

    /// Why the drive ends before the time. The first reason stands.
    pub fn note_reason(&self, reason: impl Into<String>) {
        lock(&self.reason).get_or_insert_with(|| reason.into());
    }

    /// Ends the drive. The first reason stands.
    pub fn stop(&self, reason: impl Into<String>) {
        self.note_reason(reason);
        self.stopped.store(true, Ordering::SeqCst);
        self.wake_all();
        if let Some(turns) = &self.turns {
            turns.bell.ring();
        }
    }

    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub fn reason(&self) -> Option<String> {
        lock(&self.reason).clone()
    }

    /// A connection is ready for operations.
    pub fn connection_ready(&self) {
        let mut reach = lock(&self.reach);
        reach.ready += 1;
        reach.failing_since_ns = None;
    }

    /// A ready connection was closed, or lost.
    pub fn connection_closed(&self) {
        lock(&self.reach).ready -= 1;
    }

    /// A connection could not be opened. Ends the drive if that has been tried without success for too long, with no
    /// other connection left; that time has passed alone is no proof, for this process may have slept meanwhile.
    pub fn opening_failed(&self, now_ns: u64, why: &str) {
        let mut reach = lock(&self.reach);
        if reach.ready > 0 {
            return;
        }
        let since_ns = *reach.failing_since_ns.get_or_insert(now_ns);
        drop(reach);
        if now_ns.saturating_sub(since_ns) > self.gone_ns {
            self.stop(format!("server gone: no connection for {:.1} s, last: {why}", to_s(self.gone_ns)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(threads: usize) -> Control {
        Control::new(Clock::new(), threads, 1.0)
    }

    #[test]
    fn the_last_thread_to_finish_its_work_ends_the_measure_phase() {
        let control = control(2);
        control.go(0, 10 * SECOND_NS);
        control.work_done(5);
        assert_eq!(control.measure_end_ns(), 10 * SECOND_NS);
        control.work_done(7);
        assert_eq!(control.measure_end_ns(), 7 + NOTICE_NS);
    }

    #[test]
    fn a_server_is_gone_when_no_connection_is_left_and_none_could_be_opened_for_so_long() {
        let control = control(1);
        control.connection_ready();
        control.connection_ready();
        control.connection_closed();
        control.opening_failed(0, "refused");
        control.opening_failed(5 * SECOND_NS, "refused");
        assert!(!control.is_stopped(), "one connection is left");
        control.connection_closed();
        control.opening_failed(9 * SECOND_NS, "reset");
        assert!(!control.is_stopped(), "it was not tried before");
        control.opening_failed(9 * SECOND_NS + SECOND_NS / 2, "reset");
        assert!(!control.is_stopped(), "it is gone for half a second only");
        control.opening_failed(11 * SECOND_NS, "refused");
        assert_eq!(control.reason().unwrap(), "server gone: no connection for 1.0 s, last: refused");
    }

    #[test]
    fn a_connection_that_comes_back_ends_the_failure() {
        let control = control(1);
        control.opening_failed(0, "refused");
        control.connection_ready();
        control.connection_closed();
        control.opening_failed(9 * SECOND_NS, "refused");
        assert!(!control.is_stopped());
    }

    #[test]
    fn the_first_reason_to_stop_stands() {
        let control = control(1);
        control.stop("one");
        control.stop("two");
        assert_eq!(control.reason().as_deref(), Some("one"));
    }
}
