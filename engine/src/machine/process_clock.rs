//! The CPU time of other processes.

use super::clock::SECOND_NS;
use super::run_delay::RunDelay;

/// CPU time of a process since it began: of all its threads, and of its first one, with what that waited for a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessTimes {
    pub cpu_ns: u64,
    /// None where the system does not report it.
    pub main_ns: Option<u64>,
    pub main_wait_ns: Option<u64>,
}

/// What tells the CPU time of one process.
#[derive(Debug)]
pub struct ProcessClock {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has such a clock"))]
    pid: i32,
    main: RunDelay,
}

impl ProcessClock {
    pub fn of(pid: i32) -> Self {
        Self { pid, main: RunDelay::of_process(pid) }
    }

    /// None if there is no such process any more, or no such clock.
    pub fn read(&self) -> Option<ProcessTimes> {
        let cpu_ns = self.cpu_ns()?;
        let main = self.main.ran_and_waited_ns();
        Some(ProcessTimes { cpu_ns, main_ns: main.map(|(ran, _)| ran), main_wait_ns: main.map(|(_, waited)| waited) })
    }

    /// Of all threads, to the nanosecond.
    #[cfg(target_os = "linux")]
    fn cpu_ns(&self) -> Option<u64> {
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both calls fill in what they are given, which is valid; a clock of a process that ended is refused.
        let is_read = unsafe {
            libc::clock_getcpuclockid(self.pid, &mut clock) == 0 && libc::clock_gettime(clock, &mut time) == 0
        };
        is_read.then_some(time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64)
    }

    #[cfg(not(target_os = "linux"))]
    fn cpu_ns(&self) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn work_of_this_process_costs_its_time_and_no_process_has_none() {
        let own = ProcessClock::of(std::process::id() as i32);
        let before = own.read().expect("this process is there");
        let sum = (0..2_000_000u64).fold(0u64, |sum, i| std::hint::black_box(sum.wrapping_add(i * i)));
        assert_ne!(sum, 1);
        let after = own.read().expect("this process is there");
        assert!(after.cpu_ns > before.cpu_ns);
        assert!(after.main_ns >= before.main_ns && after.main_ns.is_some());
        assert_eq!(ProcessClock::of(1 << 22).read(), None);
    }
}
