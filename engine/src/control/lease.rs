//! A lease: load goes on only as long as someone renews it, whatever became of everyone else.
//!
//! A thread of its own waits for its end by the monotonic clock. It needs nothing of those who renew it: no lock of
//! theirs, no message, no connection.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Why a drive ended whose lease was not renewed.
pub const RAN_OUT: &str = "lease ran out";

#[derive(Debug, Default)]
struct State {
    /// None before the first lease.
    until: Option<Instant>,
    /// It ran out, or is not needed any more.
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when it ran out, which is true, or is not needed any more.
    fn wait(&self) -> bool {
        let mut state = self.state();
        loop {
            let left = match state.until {
                _ if state.is_over => return false,
                None => Duration::MAX,
                Some(until) => until.saturating_duration_since(Instant::now()),
            };
            if left.is_zero() {
                state.is_over = true;
                return true;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// None of it binds before it is renewed for the first time.
#[derive(Debug, Default)]
pub struct Lease {
    shared: Arc<Shared>,
    watching: Mutex<Option<JoinHandle<()>>>,
}

impl Lease {
    /// It ends so long from now on, whatever it was before; `end` is called once if it does. False if it has run out, or
    /// the system has no thread for it: nothing revives it.
    pub fn renew(&self, length: Duration, end: impl FnOnce() + Send + 'static) -> bool {
        let now = Instant::now();
        let mut watching = self.watching.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.shared.state();
        if state.is_over || state.until.is_some_and(|until| until <= now) {
            return false;
        }
        state.until = now.checked_add(length);
        drop(state);
        self.shared.changed.notify_all();
        if watching.is_none() {
            let shared = self.shared.clone();
            let watch = move || {
                if shared.wait() {
                    end();
                }
            };
            *watching = std::thread::Builder::new().name("lease".into()).spawn(watch).ok();
        }
        watching.is_some()
    }

    /// Whether it has run out, by the clock: who has just got a CPU again may know that before the thread that waits.
    pub fn has_run_out(&self) -> bool {
        self.shared.state().until.is_some_and(|until| until <= Instant::now())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
        let watching = self.watching.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = watching.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A thread that panicked has said so on its own.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    const SHORT: Duration = Duration::from_millis(30);

    #[test]
    fn it_runs_out_once_and_nothing_revives_it() {
        let (lease, (ended, ends)) = (Lease::default(), channel());
        let begun = Instant::now();
        let renewed = lease.renew(SHORT, move || ended.send(Instant::now()).unwrap());
        assert!(renewed && ends.recv().unwrap() >= begun + SHORT);
        assert!(lease.has_run_out() && !lease.renew(SHORT, || unreachable!()));
        assert!(ends.recv().is_err(), "it ended once");
    }

    #[test]
    fn it_goes_on_as_long_as_it_is_renewed() {
        let (lease, (ended, ends)) = (Lease::default(), channel());
        assert!(!lease.has_run_out(), "there was none");
        assert!(lease.renew(Duration::from_secs(60), move || ended.send(()).unwrap()));
        assert!(lease.renew(Duration::from_secs(120), || unreachable!()));
        assert!(lease.renew(SHORT, || unreachable!()), "a shorter one counts, too");
        ends.recv().unwrap();
    }

    #[test]
    fn nothing_ends_when_nothing_is_left() {
        let (lease, (ended, ends)) = (Lease::default(), channel::<()>());
        assert!(lease.renew(Duration::from_secs(60), move || ended.send(()).unwrap()));
        drop(lease);
        assert!(ends.recv().is_err(), "its thread is gone, and sent nothing");
    }
}
