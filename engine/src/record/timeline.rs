//! The phases of a drive on the clock, and whose phase an operation belongs to.

use crate::machine::clock::from_s;
use crate::plan::Phases;
use crate::record::outcome::Phase;

/// When each phase begins, on the drive's clock. The end of the measure phase may move closer.
#[derive(Debug, Clone, Copy)]
pub struct Timeline {
    /// Starts of ramp-up, warm-up, measure and drain.
    starts_ns: [u64; 4],
    /// When the measure phase ends: where the drain begins, or before that, with load that is not measured between them.
    measured_until_ns: u64,
}

impl Timeline {
    /// Before it is known when the load begins.
    pub const UNKNOWN: Timeline = Timeline { starts_ns: [u64::MAX; 4], measured_until_ns: u64::MAX };

    pub fn new(phases: &Phases, origin_ns: u64, measure_end_ns: u64) -> Self {
        let warm_up_ns = origin_ns + from_s(phases.ramp_up_s);
        let measure_ns = warm_up_ns + from_s(phases.warm_up_s);
        let drain_ns = measure_end_ns.max(measure_ns);
        Self { starts_ns: [origin_ns, warm_up_ns, measure_ns, drain_ns], measured_until_ns: drain_ns }
    }

    /// One slice of a drive whose users or arrivals count from `origin_ns`: what is intended before it is measured is
    /// warm-up, and so is what is intended after that, until the load ends at `until_ns`.
    pub fn of_slice(origin_ns: u64, measure_ns: u64, end_ns: u64, until_ns: u64) -> Self {
        Self { starts_ns: [origin_ns, origin_ns.min(measure_ns), measure_ns, until_ns], measured_until_ns: end_ns }
    }

    pub fn origin_ns(&self) -> u64 {
        self.starts_ns[0]
    }

    /// When a phase begins.
    pub fn start_ns(&self, phase: Phase) -> u64 {
        self.starts_ns[phase as usize]
    }

    /// When a phase ends; the drain's end is not known beforehand.
    pub fn end_ns(&self, phase: Phase) -> u64 {
        if phase == Phase::Measure {
            return self.measured_until_ns;
        }
        self.starts_ns.get(phase as usize + 1).copied().unwrap_or(u64::MAX)
    }

    /// Ends the measure phase at `end_ns`; phases that had not begun by then have no length.
    pub fn end_measure(&mut self, end_ns: u64) {
        let end_ns = end_ns.max(self.origin_ns());
        self.starts_ns[1] = self.starts_ns[1].min(end_ns);
        self.starts_ns[2] = self.starts_ns[2].min(end_ns);
        let ends_with_the_load = self.measured_until_ns == self.starts_ns[3];
        self.measured_until_ns = if ends_with_the_load { end_ns } else { self.measured_until_ns.min(end_ns) };
        self.starts_ns[3] = end_ns;
    }

    /// The phase of an operation intended at that time. In the drain nothing more is begun.
    #[inline]
    pub fn phase_of(&self, intended_ns: u64) -> Phase {
        let [_, warm_up, measure, drain] = self.starts_ns;
        if intended_ns >= measure {
            if intended_ns < self.measured_until_ns {
                Phase::Measure
            } else if intended_ns < drain {
                Phase::WarmUp
            } else {
                Phase::Drain
            }
        } else if intended_ns >= warm_up {
            Phase::WarmUp
        } else {
            Phase::RampUp
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> Timeline {
        let phases = Phases { ramp_up_s: 1e-6, warm_up_s: 2e-6, ..Phases::default() };
        Timeline::new(&phases, 100, 10_100)
    }

    #[test]
    fn an_operation_belongs_to_the_phase_of_its_intended_time() {
        let of = |intended_ns| timeline().phase_of(intended_ns);
        assert_eq!([of(100), of(1_099), of(1_100)], [Phase::RampUp, Phase::RampUp, Phase::WarmUp]);
        assert_eq!([of(3_099), of(3_100), of(10_099)], [Phase::WarmUp, Phase::Measure, Phase::Measure]);
        assert_eq!(of(10_100), Phase::Drain);
    }

    #[test]
    fn phases_of_no_length_have_no_members() {
        let phases = Phases { ramp_up_s: 0.0, warm_up_s: 0.0, ..Phases::default() };
        assert_eq!(Timeline::new(&phases, 100, 200).phase_of(100), Phase::Measure);
    }

    #[test]
    fn in_a_slice_all_that_is_not_measured_is_warm_up_or_drain() {
        let of = |intended_ns| Timeline::of_slice(100, 300, 400, 450).phase_of(intended_ns);
        assert_eq!([of(150), of(299), of(300)], [Phase::WarmUp, Phase::WarmUp, Phase::Measure]);
        assert_eq!([of(399), of(400), of(449), of(450)], [Phase::Measure, Phase::WarmUp, Phase::WarmUp, Phase::Drain]);
        let mut stopped = Timeline::of_slice(100, 300, 400, 450);
        stopped.end_measure(430);
        assert_eq!((stopped.end_ns(Phase::Measure), stopped.start_ns(Phase::Drain)), (400, 430));
        stopped.end_measure(350);
        assert_eq!((stopped.end_ns(Phase::Measure), stopped.start_ns(Phase::Drain)), (350, 350));
    }

    #[test]
    fn ending_early_leaves_later_phases_without_length() {
        let mut timeline = timeline();
        timeline.end_measure(2_000);
        assert_eq!(timeline.phase_of(1_999), Phase::WarmUp);
        assert_eq!(timeline.phase_of(2_000), Phase::Drain);
        assert_eq!(timeline.start_ns(Phase::Measure), timeline.end_ns(Phase::Measure));
    }
}
