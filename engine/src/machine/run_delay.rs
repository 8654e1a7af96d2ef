//! How long a thread was ready to run and had no CPU, as Linux reports it (`/proc/thread-self/schedstat`).

use std::fs::File;

/// The run delay of the thread that made it; must be read by that thread.
#[derive(Debug)]
pub struct RunDelay {
    schedstat: Option<File>,
}

impl RunDelay {
    pub fn of_this_thread() -> Self {
        Self { schedstat: File::open("/proc/thread-self/schedstat").ok() }
    }

    /// Nanoseconds since the thread began; None where the system does not report it.
    pub fn read_ns(&self) -> Option<u64> {
        let mut text = [0; 96];
        let length = read_at_start(self.schedstat.as_ref()?, &mut text)?;
        // Time run, time waited, number of time slices.
        std::str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
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
}
