//! The CPU time of other processes, to the nanosecond.

use super::clock::SECOND_NS;

/// The clock of the CPU time of all threads of one process.
#[derive(Debug, Clone, Copy)]
pub struct ProcessClock {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has such a clock"))]
    pid: i32,
}

impl ProcessClock {
    pub fn of(pid: i32) -> Self {
        Self { pid }
    }

    /// Nanoseconds of CPU time since the process began; None if there is no such process, or no such clock.
    #[cfg(target_os = "linux")]
    pub fn read_ns(&self) -> Option<u64> {
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both calls fill in what they are given, which is valid; a clock of a process that ended is refused.
        let is_read = unsafe {
            libc::clock_getcpuclockid(self.pid, &mut clock) == 0 && libc::clock_gettime(clock, &mut time) == 0
        };
        is_read.then_some(time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64)
    }

    #[cfg(not(target_os = "linux"))]
    pub fn read_ns(&self) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn work_of_this_process_costs_its_time_and_no_process_has_none() {
        let own = ProcessClock::of(std::process::id() as i32);
        let before = own.read_ns().expect("this process is there");
        let sum = (0..2_000_000u64).fold(0u64, |sum, i| std::hint::black_box(sum.wrapping_add(i * i)));
        assert_ne!(sum, 1);
        assert!(own.read_ns().expect("this process is there") > before);
        assert_eq!(ProcessClock::of(1 << 22).read_ns(), None);
    }
}
