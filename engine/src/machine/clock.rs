//! Time in nanoseconds on the machine's monotonic clock, and the CPU time of a thread.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// The clock behind [`Instant`].
#[cfg(not(target_vendor = "apple"))]
const MONOTONIC: libc::clockid_t = libc::CLOCK_MONOTONIC;
#[cfg(target_vendor = "apple")]
const MONOTONIC: libc::clockid_t = libc::CLOCK_UPTIME_RAW;

/// A monotonic clock that every thread of a drive shares; readings are nanoseconds since its start.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    base: Instant,
    /// The system's clock at `base`, in nanoseconds.
    base_ns: u64,
    base_unix_ns: u64,
    /// It is that of a thread's simulated network.
    #[cfg(test)]
    is_simulated: bool,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    pub fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            base: Instant::now(),
            base_ns: system_ns(MONOTONIC),
            base_unix_ns: nanoseconds(since_epoch),
            #[cfg(test)]
            is_simulated: false,
        }
    }

    /// The clock of this thread's simulated network.
    #[cfg(test)]
    pub fn simulated() -> Self {
        Self { base_ns: 0, is_simulated: true, ..Self::new() }
    }

    #[cfg(test)]
    pub fn is_simulated(&self) -> bool {
        self.is_simulated
    }

    /// Nanoseconds since the clock's start.
    #[inline]
    pub fn now(&self) -> u64 {
        #[cfg(test)]
        if self.is_simulated {
            return simulated::now_ns().saturating_sub(self.base_ns);
        }
        // As `self.base.elapsed()`, whose checks cost more than the clock.
        system_ns(MONOTONIC).saturating_sub(self.base_ns)
    }

    /// The same clock, set back by so much.
    pub fn set_back(&self, shift_ns: u64) -> Self {
        Self {
            base: self.base + Duration::from_nanos(shift_ns),
            base_ns: self.base_ns + shift_ns,
            base_unix_ns: self.base_unix_ns + shift_ns,
            #[cfg(test)]
            is_simulated: self.is_simulated,
        }
    }

    /// The instant at which the reading is `reading_ns`.
    pub fn instant(&self, reading_ns: u64) -> Instant {
        self.base + Duration::from_nanos(reading_ns)
    }

    /// The reading as nanoseconds since 1970.
    pub fn to_unix_ns(&self, reading_ns: u64) -> u64 {
        self.base_unix_ns + reading_ns
    }

    /// The reading at an instant since 1970; 0 if that was before the clock's start.
    pub fn from_unix_ns(&self, unix_ns: u64) -> u64 {
        unix_ns.saturating_sub(self.base_unix_ns)
    }

    /// The reading at an instant of the system's monotonic clock; 0 if that was before this clock's start.
    pub fn from_monotonic_ns(&self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_sub(self.base_ns)
    }

    /// The reading on the system's monotonic clock, which programs of this machine have in common.
    pub fn to_monotonic_ns(&self, reading_ns: u64) -> u64 {
        self.base_ns + reading_ns
    }

    /// How far the wall clock is ahead of where it was to be by this one, in seconds: someone set it, or the machine slept,
    /// which this one does not count. Less than 0: behind.
    pub fn set_forward_s(&self) -> f64 {
        let wall_ns = nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        (i128::from(wall_ns) - i128::from(self.to_unix_ns(self.now()))) as f64 / SECOND_NS as f64
    }

    /// The smallest gap between distinct consecutive readings, in nanoseconds.
    pub fn quantum_ns(&self) -> u64 {
        const READINGS: usize = 20_000;
        let mut smallest = u64::MAX;
        let mut previous = self.now();
        for _ in 0..READINGS {
            let reading = self.now();
            if reading > previous {
                smallest = smallest.min(reading - previous);
            }
            previous = reading;
        }
        if smallest == u64::MAX { self.wait_for_a_tick() } else { smallest }
    }

    /// The next gap of a clock so coarse that thousands of readings were the same.
    fn wait_for_a_tick(&self) -> u64 {
        let previous = self.now();
        loop {
            let reading = self.now();
            if reading > previous {
                return reading - previous;
            }
        }
    }
}

/// The time of the calling thread's simulated network.
#[cfg(test)]
pub mod simulated {
    use std::cell::Cell;

    thread_local! {
        static NOW_NS: Cell<u64> = const { Cell::new(0) };
    }

    /// What a reading of the clock takes.
    const READING_NS: u64 = 40;

    /// Reads the clock.
    pub fn now_ns() -> u64 {
        set(reached() + READING_NS);
        reached()
    }

    /// How far time has come.
    pub fn reached() -> u64 {
        NOW_NS.get()
    }

    /// Lets time go on until then.
    pub fn set(now_ns: u64) {
        NOW_NS.set(now_ns);
    }
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    system_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// A clock of the system, in nanoseconds.
#[inline]
pub fn system_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec that the call fills in.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    if status == 0 { time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64 } else { 0 }
}

/// Seconds as nanoseconds.
pub fn from_s(seconds: f64) -> u64 {
    (seconds * SECOND_NS as f64).round() as u64
}

/// Nanoseconds as seconds.
pub fn to_s(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / SECOND_NS as f64
}

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_secs() * SECOND_NS + u64::from(duration.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_never_go_back_and_the_quantum_is_positive() {
        let clock = Clock::new();
        let readings: Vec<u64> = (0..1000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
        assert!(clock.quantum_ns() > 0);
    }

    #[test]
    fn unix_time_and_readings_convert_both_ways() {
        let clock = Clock::new();
        assert_eq!(clock.from_unix_ns(clock.to_unix_ns(123_456)), 123_456);
        assert_eq!(clock.from_unix_ns(1), 0);
        assert_eq!(clock.from_monotonic_ns(clock.to_monotonic_ns(123_456)), 123_456);
        assert_eq!(clock.from_monotonic_ns(0), 0);
    }

    #[test]
    fn a_clock_that_was_set_back_is_behind_by_that_and_as_late_in_the_day() {
        let clock = Clock::new();
        let behind = clock.set_back(1_000_000_000_000);
        assert_eq!(behind.now(), 0, "it has not begun");
        assert_eq!(behind.to_unix_ns(0), clock.to_unix_ns(1_000_000_000_000));
        assert_eq!(behind.instant(5), clock.instant(1_000_000_000_005));
        let (before, behind, after) = (clock.now(), clock.set_back(1).now(), clock.now());
        assert!(before.saturating_sub(1) <= behind && behind < after, "{before} {behind} {after}");
    }

    #[test]
    fn work_costs_cpu_time() {
        let before = thread_cpu_ns();
        let sum = (0..2_000_000u64).fold(0u64, |sum, i| std::hint::black_box(sum.wrapping_add(i * i)));
        assert_ne!(sum, 1);
        assert!(thread_cpu_ns() > before);
    }
}
