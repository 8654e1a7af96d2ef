//! Rests: between two slices nothing is driven, and the owner of the rounds does what it puts off while slices are measured.

use crate::control::bell::Bell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether there is a rest at this moment. The coordinator begins rests, the owner of the rounds ends them.
#[derive(Debug)]
pub(super) struct Rest {
    is_on: AtomicBool,
    /// Rings for the owner.
    begun: Arc<Bell>,
    /// Rings for the coordinator.
    over: Arc<Bell>,
}

impl Rest {
    pub fn new(begun: Arc<Bell>, over: Arc<Bell>) -> Self {
        Self { is_on: AtomicBool::new(false), begun, over }
    }

    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Acquire)
    }

    /// Rests until the owner ends it, or until `is_cut_short`. The owner may take as long as it likes.
    pub fn take(&self, is_cut_short: impl Fn() -> bool) {
        self.is_on.store(true, Ordering::Release);
        self.begun.ring();
        self.over.wait(None, || !self.is_on() || is_cut_short());
        self.is_on.store(false, Ordering::Release);
    }

    pub fn end(&self) {
        self.is_on.store(false, Ordering::Release);
        self.over.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_rest_lasts_until_its_owner_ends_it_or_the_rounds_are_cut_short() {
        let (begun, over) = (Arc::<Bell>::default(), Arc::<Bell>::default());
        let rest = Rest::new(begun.clone(), over.clone());
        let is_cut_short = AtomicBool::new(false);
        for by_owner in [true, false] {
            std::thread::scope(|scope| {
                let resting = scope.spawn(|| rest.take(|| is_cut_short.load(Ordering::Acquire)));
                assert!(begun.wait(Some(Instant::now() + Duration::from_secs(20)), || rest.is_on()));
                assert!(!resting.is_finished());
                if by_owner {
                    rest.end();
                } else {
                    is_cut_short.store(true, Ordering::Release);
                    over.ring();
                }
                resting.join().unwrap();
            });
            assert!(!rest.is_on());
        }
    }
}
