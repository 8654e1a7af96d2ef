//! The main thread of another process: how long it ran, how long it was ready to and had no CPU, and how often it began.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Since the thread began: nanoseconds, and how often it was given a CPU, having slept or having lost it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadTimes {
    pub ran_ns: u64,
    pub waited_ns: u64,
    pub runs: u64,
}

impl ThreadTimes {
    /// What was added since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            ran_ns: self.ran_ns.saturating_sub(before.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(before.waited_ns),
            runs: self.runs.saturating_sub(before.runs),
        }
    }
}

/// The kernel's files on it, which are kept open: they stay those of this thread, whoever gets its number later.
#[derive(Debug)]
pub struct MainThread {
    file: Option<File>,
    stat: Option<File>,
}

impl MainThread {
    pub fn of(pid: i32) -> Self {
        let open = |name: &str| File::open(format!("/proc/{pid}/task/{pid}/{name}")).ok();
        Self { file: open("schedstat"), stat: open("stat") }
    }

    /// Whether it waits for the disk at this moment (state D); None if the process is gone, or the system does not say.
    pub fn is_at_the_disk(&self) -> Option<bool> {
        let mut buffer = [0; 80];
        let length = self.stat.as_ref()?.read_at(&mut buffer, 0).ok()?;
        // The name stands in brackets before the state, and may hold anything of at most 15 bytes.
        let end = buffer[..length].iter().rposition(|&byte| byte == b')')?;
        buffer[..length].get(end + 2).map(|&state| state == b'D')
    }

    /// None if the process is gone, or the system has no such file.
    pub fn read(&self) -> Option<ThreadTimes> {
        let mut buffer = [0; 80];
        let length = self.file.as_ref()?.read_at(&mut buffer, 0).ok()?;
        let mut numbers = std::str::from_utf8(&buffer[..length]).ok()?.split_ascii_whitespace();
        let mut next = || numbers.next()?.parse().ok();
        Some(ThreadTimes { ran_ns: next()?, waited_ns: next()?, runs: next()? })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_main_thread_that_works_ran_and_one_that_is_gone_has_no_times() {
        let mut busy = Command::new("sh").args(["-c", "while kill -0 $PPID; do :; done"]).spawn().expect("a shell");
        let thread = MainThread::of(busy.id() as i32);
        let before = thread.read();
        let mut ran_ns = 0;
        for _ in 0..1000 {
            std::thread::sleep(std::time::Duration::from_millis(5));
            let now = thread.read().expect("it runs");
            ran_ns = now.since(before.expect("it runs")).ran_ns;
            if ran_ns > 1_000_000 {
                break;
            }
        }
        busy.kill().expect("it is ours");
        busy.wait().expect("it is ours");
        assert!(ran_ns > 1_000_000, "{ran_ns} ns");
        assert_eq!(thread.read(), None);
        assert_eq!(thread.is_at_the_disk(), None);
        assert_eq!(MainThread::of(std::process::id() as i32).is_at_the_disk(), Some(false));
        assert_eq!(MainThread::of(1 << 22).read(), None);
    }
}
