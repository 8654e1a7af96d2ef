//! A driver that costs more than it must, by a known amount: for the proof of the gain rule, never in a release.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

static SLOWED_NS: AtomicU64 = AtomicU64::new(0);

/// From now on every operation costs the driver's thread so much more time on its CPU.
pub fn set_ns(nanoseconds: u64) {
    SLOWED_NS.store(nanoseconds, Ordering::Relaxed);
}

/// Spends it.
pub(crate) fn spend() {
    let length = Duration::from_nanos(SLOWED_NS.load(Ordering::Relaxed));
    if length.is_zero() {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < length {
        std::hint::spin_loop();
    }
}
