//! How long a thread ran, and was ready to run and had no CPU, as Linux reports it (`schedstat`).

use std::fs::File;

/// The run delay of the thread that made it, which alone may read it; or of the first thread of a process.
#[derive(Debug)]
pub struct RunDelay {
    schedstat: Option<File>,
}

impl RunDelay {
    pub fn of_this_thread() -> Self {
        Self { schedstat: File::open("/proc/thread-self/schedstat").ok() }
    }

    pub fn of_process(pid: i32) -> Self {
        Self { schedstat: File::open(format!("/proc/{pid}/schedstat")).ok() }
    }

    /// Nanoseconds since the thread began; None where the system does not report it.
    pub fn read_ns(&self) -> Option<u64> {
        self.ran_and_waited_ns().map(|(_, waited_ns)| waited_ns)
    }

    /// How long the thread ran, to the kernel's tick if it does just now, and how long it waited; in nanoseconds.
    pub fn ran_and_waited_ns(&self) -> Option<(u64, u64)> {
        let mut text = [0; 96];
        let length = read_at_start(self.schedstat.as_ref()?, &mut text)?;
        // Time run, time waited, number of time slices.
        let mut words = std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    }
}

#[cfg(unix)]
fn read_at_start(file: &File, text: &mut [u8]) -> Option<usize> {
    use std::os::unix::fs::FileExt;
    file.read_at(text, 0).ok()
}

#[cfg(not(unix))]
fn read_at_start(_: &File, _: &mut [u8]) -> Option<usize> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn it_only_grows() {
        let delay = RunDelay::of_this_thread();
        let first = delay.read_ns().expect("Linux reports it");
        std::thread::yield_now();
        assert!(delay.read_ns().expect("Linux reports it") >= first);
    }

    #[test]
    fn it_is_that_of_another_process_until_that_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep can be started");
        let delay = RunDelay::of_process(child.id() as i32);
        assert!(delay.ran_and_waited_ns().is_some());
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        assert_eq!(delay.ran_and_waited_ns(), None);
    }
}
