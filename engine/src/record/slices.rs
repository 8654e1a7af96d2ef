//! What is recorded of the slices of a drive.

use crate::machine::clock::to_s;
use crate::machine::cpu_times::CpuTimes;
use crate::record::outcome::{Phase, PhaseTimes};
use crate::record::tally::Measured;
use serde::Serialize;
use std::collections::BTreeMap;

/// What one thread, or all of them, did in a slice. Instants are those of the common clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SliceTally {
    pub offered: u64,
    pub completed: u64,
    pub ok: u64,
    /// Of `ok`, those that came in the first half of the window.
    pub ok_first_half: u64,
    pub failed: u64,
    pub ended: u64,
    pub response_sum_ns: u64,
    pub cpu_ns: u64,
    /// Correct replies from when the drive went on until nothing was in flight any more.
    pub turn_ok: u64,
    /// When the measured window ended, and when nothing was in flight any more.
    pub end_ns: u64,
    pub drained_ns: u64,
}

impl SliceTally {
    /// Adds that of another thread.
    pub fn add(&mut self, other: &SliceTally) {
        self.offered += other.offered;
        self.completed += other.completed;
        self.ok += other.ok;
        self.ok_first_half += other.ok_first_half;
        self.failed += other.failed;
        self.ended += other.ended;
        self.response_sum_ns += other.response_sum_ns;
        self.cpu_ns += other.cpu_ns;
        self.turn_ok += other.turn_ok;
        self.end_ns = self.end_ns.max(other.end_ns);
        self.drained_ns = self.drained_ns.max(other.drained_ns);
    }

    /// Counts of all operations so far, as one tally.
    pub fn so_far(measured: &[Measured]) -> Self {
        let mut sum = Self::default();
        for operation in measured {
            sum.offered += operation.tally.offered;
            sum.completed += operation.window_completed;
            sum.ok += operation.window_ok;
            sum.failed += operation.tally.failed();
            sum.ended += operation.tally.ok + operation.tally.failed();
            sum.response_sum_ns += operation.response_sum_ns;
        }
        sum
    }

    /// The same counts since `before`.
    pub fn since(self, before: &SliceTally) -> Self {
        Self {
            offered: self.offered - before.offered,
            completed: self.completed - before.completed,
            ok: self.ok - before.ok,
            failed: self.failed - before.failed,
            ended: self.ended - before.ended,
            response_sum_ns: self.response_sum_ns - before.response_sum_ns,
            ..self
        }
    }
}

/// CPU time of a part in the window; None where that could not be read.
#[derive(Debug, Clone, Serialize)]
pub struct PartSlice {
    pub cpu_s: Option<f64>,
    /// Of it that in the kernel, as the difference of two counts of whole ticks (10 ms): a figure for many slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_s: Option<f64>,
    /// Of a part that is one process: of its main thread, and for how long that was ready to run and had no CPU.
    pub main_s: Option<f64>,
    pub main_wait_s: Option<f64>,
    /// How often that was given a CPU: it had slept, or lost its CPU to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main_runs: Option<u64>,
    /// For how long it waited for the disk: by looking at it every few milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub main_disk_s: Option<f64>,
    /// CPU time while the drive was paused before this slice; None before its first, and of what other drives use, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_cpu_s: Option<f64>,
    /// CPU time of the whole turn, to the nanosecond where the part is idle between turns. The window's ends lie in the
    /// midst of its work, where the kernel's count is behind by up to a tick (4 ms) if a thread runs without a pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_cpu_s: Option<f64>,
}

/// One slice. Times in seconds since the first round began; the measured window lasted from `begin_s` to `end_s`, and
/// nothing was in flight any more at `drained_s`.
#[derive(Debug, Clone, Serialize)]
pub struct SliceRecord {
    pub round: usize,
    pub position: usize,
    /// For how long the drive was paused before; None of its first slice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_s: Option<f64>,
    pub begin_s: f64,
    pub end_s: f64,
    pub drained_s: f64,
    /// Intended in the window.
    pub offered: u64,
    /// Replies that came in the window, and the correct ones among them.
    pub completed: u64,
    pub ok: u64,
    /// Of `ok`, those that came in the first half of the window.
    pub ok_first_half: u64,
    /// Ended in an error or a timeout, of those intended in the window.
    pub failed: u64,
    /// Ended at all, of those intended in the window, and their response times together.
    pub ended: u64,
    pub response_sum_ns: u64,
    /// CPU time of the drive's threads in the window.
    pub cpu_s: f64,
    /// Correct replies of the whole turn: the settling, the window and the drain.
    pub turn_ok: u64,
    /// What all CPUs of this machine did in the window, and what its host took from them: to the system's tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_busy_s: Option<f64>,
    pub parts: BTreeMap<String, PartSlice>,
}

/// All slices of a drive.
#[derive(Debug, Clone, Default)]
pub struct Slices {
    pub slices: Vec<SliceRecord>,
    /// What each CPU did within the windows.
    pub cpus: BTreeMap<usize, CpuTimes>,
    /// The length of all windows.
    pub measured_ns: u64,
}

impl Slices {
    pub fn measure_s(&self) -> f64 {
        to_s(self.measured_ns)
    }

    /// When the phases of the whole drive began and ended.
    pub fn phase_times(&self) -> BTreeMap<Phase, PhaseTimes> {
        let first_s = self.slices.first().map_or(0.0, |slice| slice.begin_s);
        let (last_s, drained_s) = self.slices.last().map_or((0.0, 0.0), |slice| (slice.end_s, slice.drained_s));
        let borders_s = [0.0, 0.0, first_s, last_s, drained_s];
        let times =
            |phase: Phase| PhaseTimes { start_s: borders_s[phase as usize], end_s: borders_s[phase as usize + 1] };
        Phase::ALL.into_iter().map(|phase| (phase, times(phase))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(begin_s: f64) -> SliceRecord {
        SliceRecord {
            round: 0,
            position: 0,
            paused_s: None,
            begin_s,
            end_s: begin_s + 1.0,
            drained_s: begin_s + 1.5,
            offered: 0,
            completed: 0,
            ok: 0,
            ok_first_half: 0,
            failed: 0,
            ended: 0,
            response_sum_ns: 0,
            cpu_s: 0.0,
            turn_ok: 0,
            cpus_busy_s: None,
            parts: BTreeMap::new(),
        }
    }

    #[test]
    fn the_phases_of_a_drive_in_slices_are_those_of_all_its_time() {
        let slices = Slices { slices: vec![slice(2.0), slice(8.0)], measured_ns: 2_000_000_000, ..Slices::default() };
        let times: Vec<_> = slices.phase_times().into_values().map(|phase| (phase.start_s, phase.end_s)).collect();
        assert_eq!(times, [(0.0, 0.0), (0.0, 2.0), (2.0, 9.0), (9.0, 9.5)]);
        assert_eq!(slices.measure_s(), 2.0);
        assert!(Slices::default().phase_times().values().all(|phase| phase.end_s == 0.0));
    }
}
