//! The CPU time of other processes, to the nanosecond; and that of it in the kernel, in ticks of 10 ms.

use super::clock::SECOND_NS;
use std::fs::File;
use std::os::unix::fs::FileExt;

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

/// Where `stat` of a process has its time in the kernel, counted from behind its name.
const SYSTEM_TIME: usize = 12;

/// The CPU time in the kernel of all threads of one process.
#[derive(Debug)]
pub struct SystemTime {
    /// Kept open: it stays that of this process, whoever gets its number later.
    stat: Option<File>,
}

impl SystemTime {
    pub fn of(pid: i32) -> Self {
        Self { stat: File::open(format!("/proc/{pid}/stat")).ok() }
    }

    /// Nanoseconds since the process began, in whole ticks; None if it is gone, or the system has no such file.
    pub fn read_ns(&self) -> Option<u64> {
        let mut buffer = [0; 512];
        let length = self.stat.as_ref()?.read_at(&mut buffer, 0).ok()?;
        // The name stands in brackets, and may hold anything.
        let end = buffer[..length].iter().rposition(|&byte| byte == b')')?;
        let fields = std::str::from_utf8(&buffer[end + 1..length]).ok()?;
        let ticks: u64 = fields.split_ascii_whitespace().nth(SYSTEM_TIME)?.parse().ok()?;
        // SAFETY: it only returns a setting of the system.
        let ticks_a_second =
            u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&rate| rate > 0)?;
        Some(ticks * (SECOND_NS / ticks_a_second))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn time_in_the_kernel_is_a_part_of_the_time_and_no_process_has_none() {
        let pid = std::process::id() as i32;
        let (all, own) = (ProcessClock::of(pid), SystemTime::of(pid));
        let before = own.read_ns().expect("this process is there");
        let mut asked = 0u64;
        while own.read_ns().expect("this process is there") < before + 5 * SECOND_NS / 100 && asked < 10_000_000 {
            asked += 1; // each is a call of the kernel
        }
        let after = own.read_ns().expect("this process is there");
        assert!(after >= before + 5 * SECOND_NS / 100, "{before} ns, then {after} ns");
        assert!(after <= all.read_ns().expect("this process is there") + SECOND_NS / 10);
        assert_eq!(SystemTime::of(1 << 22).read_ns(), None);
    }

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
