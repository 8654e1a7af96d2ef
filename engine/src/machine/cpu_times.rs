//! What each CPU of this machine did since it started, as Linux reports it (`/proc/stat`).

use serde::Serialize;
use std::collections::BTreeMap;

/// What one CPU did, in seconds: `steal_s` is what the host gave to others while it had something to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CpuTimes {
    pub busy_s: f64,
    pub idle_s: f64,
    pub steal_s: f64,
}

impl CpuTimes {
    /// Adds what it did from `before` to `after`.
    pub fn add_between(&mut self, before: &CpuTimes, after: &CpuTimes) {
        self.busy_s += after.busy_s - before.busy_s;
        self.idle_s += after.idle_s - before.idle_s;
        self.steal_s += after.steal_s - before.steal_s;
    }
}

/// By the CPU's number; empty where the system does not report it.
pub fn read() -> BTreeMap<usize, CpuTimes> {
    std::fs::read_to_string("/proc/stat").map_or_else(|_| BTreeMap::new(), |text| parse(&text, ticks_per_s()))
}

fn parse(text: &str, ticks_per_s: f64) -> BTreeMap<usize, CpuTimes> {
    let cpu = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        // The line of all CPUs together has no number.
        let number = line.as_bytes().get(3).filter(|letter| letter.is_ascii_digit()).and(words.next())?.parse().ok()?;
        let ticks: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
        let &[user, nice, system, idle, waiting, interrupt, soft_interrupt, steal, ..] = ticks.as_slice() else {
            return None;
        };
        let busy = user + nice + system + interrupt + soft_interrupt;
        let [busy_s, idle_s, steal_s] = [busy, idle + waiting, steal].map(|ticks| ticks / ticks_per_s);
        Some((number, CpuTimes { busy_s, idle_s, steal_s }))
    };
    text.lines().filter_map(cpu).collect()
}

fn ticks_per_s() -> f64 {
    // SAFETY: the call takes a plain number and has no effect.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_has_its_line() {
        let text =
            "cpu  10 0 10 80 0 0 0 2 0 0\ncpu0 100 20 30 400 50 6 7 80 90 0\ncpu12 1 0 0 2 0 0 0 0\nintr 5 0 cpu1\n";
        let times = parse(text, 100.0);
        assert_eq!(times.keys().copied().collect::<Vec<_>>(), [0, 12]);
        assert_eq!(times[&0], CpuTimes { busy_s: 1.63, idle_s: 4.5, steal_s: 0.8 });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_cpus_that_went_on() {
        let (before, after) = (read(), read());
        assert!(!before.is_empty());
        for (number, before) in before {
            let mut passed = CpuTimes::default();
            passed.add_between(&before, &after[&number]);
            assert!(passed.busy_s >= 0.0 && passed.steal_s >= 0.0, "{passed:?}");
        }
    }
}
