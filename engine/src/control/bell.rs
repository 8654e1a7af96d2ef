//! A bell: some threads ring it when they changed something, others wait until that is what they wait for.

use std::sync::{Condvar, Mutex};
use std::time::Instant;

#[derive(Debug, Default)]
pub struct Bell {
    held: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    /// Something changed. The caller holds no lock that one who waits may need.
    pub fn ring(&self) {
        // Who looked before the change waits by now, and is woken.
        drop(self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        self.rung.notify_all();
    }

    /// Waits until `is_so`, or until `deadline` if there is one. Whether it is so.
    pub fn wait(&self, deadline: Option<Instant>, mut is_so: impl FnMut() -> bool) -> bool {
        let mut held = self.held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        loop {
            if is_so() {
                return true;
            }
            held = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.rung.wait(held).unwrap_or_else(|poisoned| poisoned.into_inner()),
                Some(left) if left.is_zero() => return false,
                Some(left) => self.rung.wait_timeout(held, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    #[test]
    fn who_waits_is_woken_by_what_it_waits_for() {
        let (bell, count) = (Bell::default(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| bell.wait(None, || count.load(Ordering::SeqCst) == 100));
            for _ in 0..100 {
                count.fetch_add(1, Ordering::SeqCst);
                bell.ring();
            }
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn nobody_waits_longer_than_until_the_deadline() {
        let begun = Instant::now();
        assert!(!Bell::default().wait(Some(begun + Duration::from_millis(5)), || false));
        assert!(begun.elapsed() >= Duration::from_millis(5));
    }
}
