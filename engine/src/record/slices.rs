//! What is recorded of the slices of a drive.

use crate::machine::clock::to_s;
use crate::machine::cpu_times::CpuTimes;
use crate::machine::process_clock::ProcessTimes;
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
    pub failed: u64,
    pub cpu_ns: u64,
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
        self.failed += other.failed;
        self.cpu_ns += other.cpu_ns;
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
            ..self
        }
    }
}

/// One slice. Times in seconds since the first round began; the measured window lasted from `begin_s` to `end_s`, and
/// nothing was in flight any more at `drained_s`.
#[derive(Debug, Clone, Serialize)]
pub struct SliceRecord {
    pub round: usize,
    pub position: usize,
    pub begin_s: f64,
    pub end_s: f64,
    pub drained_s: f64,
    /// Intended in the window.
    pub offered: u64,
    /// Replies that came in the window, and the correct ones among them.
    pub completed: u64,
    pub ok: u64,
    /// Ended in an error or a timeout, of those intended in the window.
    pub failed: u64,
    /// CPU time of the drive's threads in the window.
    pub cpu_s: f64,
    /// Of each part; of none of whose processes one was gone.
    pub parts: BTreeMap<String, PartSlice>,
}

/// CPU time of one part in the window of a slice.
#[derive(Debug, Clone, Serialize)]
pub struct PartSlice {
    pub cpu_s: f64,
    /// Of its main thread, and what that waited for a CPU; None where the part has several processes, or the system
    /// does not report it.
    pub main_s: Option<f64>,
    pub main_wait_s: Option<f64>,
}

impl PartSlice {
    /// What its processes used between two readings of them, in the same order; None if one was gone.
    pub fn between(before: &[Option<ProcessTimes>], after: &[Option<ProcessTimes>]) -> Option<Self> {
        let mut cpu_ns = 0;
        for (before, after) in before.iter().zip(after) {
            cpu_ns += after.as_ref()?.cpu_ns.saturating_sub(before.as_ref()?.cpu_ns);
        }
        let only = |of: fn(&ProcessTimes) -> Option<u64>| match (before, after) {
            ([Some(before)], [Some(after)]) => Some(to_s(of(after)?.saturating_sub(of(before)?))),
            _ => None,
        };
        Some(Self { cpu_s: to_s(cpu_ns), main_s: only(|one| one.main_ns), main_wait_s: only(|one| one.main_wait_ns) })
    }
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
            begin_s,
            end_s: begin_s + 1.0,
            drained_s: begin_s + 1.5,
            offered: 0,
            completed: 0,
            ok: 0,
            failed: 0,
            cpu_s: 0.0,
            parts: BTreeMap::new(),
        }
    }

    #[test]
    fn a_part_of_several_processes_has_the_sum_of_their_time_and_no_main_thread() {
        let at = |cpu_ns, main_ns| Some(ProcessTimes { cpu_ns, main_ns, main_wait_ns: Some(7) });
        let one = PartSlice::between(&[at(100, Some(50))], &[at(400, Some(60))]).unwrap();
        assert_eq!((one.cpu_s, one.main_s, one.main_wait_s), (3e-7, Some(1e-8), Some(0.0)));
        assert_eq!(PartSlice::between(&[at(1, None)], &[at(2, None)]).unwrap().main_s, None);
        let two = PartSlice::between(&[at(100, None), at(0, None)], &[at(400, None), at(5, None)]).unwrap();
        assert_eq!((two.cpu_s, two.main_s, two.main_wait_s), (3.05e-7, None, None));
        assert!(PartSlice::between(&[at(1, None), at(1, None)], &[at(2, None), None]).is_none());
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
