//! What the threads of one drive share: when it began, when the measure phase ends, why it stopped.

use crate::clock::{Clock, SECOND_NS, from_s, to_s};
use mio::Waker;
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
    ready_connections: AtomicUsize,
    failing_since_ns: AtomicU64,
    last_failure: Mutex<String>,
    wakers: Mutex<Vec<Arc<Waker>>>,
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
            ready_connections: AtomicUsize::new(0),
            failing_since_ns: AtomicU64::new(NEVER),
            last_failure: Mutex::new(String::new()),
            wakers: Mutex::new(Vec::new()),
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

    /// Ends the drive. The first reason stands.
    pub fn stop(&self, reason: impl Into<String>) {
        lock(&self.reason).get_or_insert_with(|| reason.into());
        self.stopped.store(true, Ordering::SeqCst);
        self.wake_all();
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
        self.ready_connections.fetch_add(1, Ordering::SeqCst);
        self.failing_since_ns.store(NEVER, Ordering::SeqCst);
    }

    /// A ready connection was closed on purpose.
    pub fn connection_closed(&self) {
        self.ready_connections.fetch_sub(1, Ordering::SeqCst);
    }

    /// A connection could not be opened, or (after `connection_closed`) was lost.
    pub fn connection_failed(&self, now_ns: u64, why: &str) {
        lock(&self.last_failure).replace_range(.., why);
        if self.ready_connections.load(Ordering::SeqCst) == 0 {
            self.failing_since_ns.fetch_min(now_ns, Ordering::SeqCst);
        }
    }

    /// Ends the drive if there has been no connection at all for too long.
    pub fn check_gone(&self, now_ns: u64) {
        let since = self.failing_since_ns.load(Ordering::SeqCst);
        if since != NEVER && now_ns.saturating_sub(since) > self.gone_ns {
            let why = lock(&self.last_failure).clone();
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
    fn a_server_is_gone_only_when_no_connection_is_left_for_so_long() {
        let control = control(1);
        control.connection_ready();
        control.connection_ready();
        control.connection_closed();
        control.connection_failed(0, "reset");
        control.check_gone(5 * SECOND_NS);
        assert!(!control.is_stopped(), "one connection is left");
        control.connection_closed();
        control.connection_failed(0, "refused");
        control.check_gone(SECOND_NS / 2);
        assert!(!control.is_stopped(), "it is gone for half a second only");
        control.check_gone(2 * SECOND_NS);
        assert_eq!(control.reason().unwrap(), "server gone: no connection for 1.0 s, last: refused");
    }

    #[test]
    fn a_connection_that_comes_back_ends_the_failure() {
        let control = control(1);
        control.connection_failed(0, "refused");
        control.connection_ready();
        control.check_gone(9 * SECOND_NS);
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
