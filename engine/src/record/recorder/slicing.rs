//! Recording a drive in slices: what is measured is gathered over several of them, and so is what lies outside.
//!
//! A slice is settled, measured and drained. Two sets of data take turns as the current one, so that a border costs no
//! more than its clocks; both are delivered at the end of the slices with which an interval ends, which are of the same
//! rounds for all drives that take turns. Outside, only operations intended in a measured window have latencies: those
//! that ended in the drain.

use super::{Gauges, IntervalData, Phase, Recorder, Timeline};
use crate::record::slices::SliceTally;

/// What the current slice has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Settle,
    /// The window's halves: counted apart, recorded alike.
    FirstHalf,
    SecondHalf,
    /// The load goes on, and is not measured.
    Edge,
    Drain,
    Paused,
}

#[derive(Debug)]
pub(super) struct Slicing {
    stage: Stage,
    /// The set of data that is not the current one.
    aside: Box<IntervalData>,
    /// What the drive's own clock is behind the common one, on which intervals are delivered.
    shift_ns: u64,
    /// The number of sets delivered.
    batch: u32,
    /// Counts before the slice, and the thread's CPU time in its window.
    before: SliceTally,
    window_cpu_ns: u64,
    /// The middle of the window as it was planned, and the correct replies before it, those of earlier slices too.
    half_ns: u64,
    ok_by_half: u64,
    /// Correct replies outside of the window: those of the interval's earlier slices, and those of this one once it ended.
    ok_outside_before: u64,
    ok_outside: u64,
}

impl Slicing {
    /// When the stage ends, where that is known beforehand.
    pub fn border_ns(&self, timeline: &Timeline) -> u64 {
        match self.stage {
            Stage::Settle => timeline.start_ns(Phase::Measure),
            Stage::FirstHalf => self.half_ns.min(timeline.end_ns(Phase::Measure)),
            Stage::SecondHalf => timeline.end_ns(Phase::Measure),
            Stage::Edge => timeline.start_ns(Phase::Drain),
            Stage::Drain | Stage::Paused => u64::MAX,
        }
    }
}

impl Recorder {
    /// The load begins, in slices; it is paused before the first one.
    pub fn begin_in_slices(&mut self, timeline: Timeline) {
        self.begin(timeline);
        let aside = self.empty();
        self.slicing = Some(Slicing {
            stage: Stage::Paused,
            aside,
            shift_ns: 0,
            batch: 0,
            before: SliceTally::default(),
            window_cpu_ns: 0,
            half_ns: 0,
            ok_by_half: 0,
            ok_outside_before: 0,
            ok_outside: 0,
        });
        self.begin_batch();
        self.set_border();
    }

    /// A slice begins with its settling. The current set is the one for what lies outside.
    pub fn begin_slice(&mut self, timeline: Timeline, begin_ns: u64, shift_ns: u64, round: Option<u32>) {
        self.timeline = timeline;
        self.note_usage();
        let before = SliceTally::so_far(&self.measured);
        let rounds = round.map(|round| (round, round));
        self.current.add_rounds(rounds);
        let ok_outside_before = ok_in(&self.current);
        if let Some(slicing) = &mut self.slicing {
            (slicing.ok_outside_before, slicing.ok_outside) = (ok_outside_before, 0);
            slicing.aside.add_rounds(rounds);
            slicing.ok_by_half = before.ok;
            (slicing.stage, slicing.shift_ns, slicing.before) = (Stage::Settle, shift_ns, before);
            slicing.window_cpu_ns = 0;
            slicing.half_ns = timeline.start_ns(Phase::Measure).midpoint(timeline.end_ns(Phase::Measure));
        }
        enter(&mut self.current, begin_ns + shift_ns);
        self.set_border();
    }

    /// Goes past the border at which the window begins, has its middle, or ends, or the load does.
    pub(super) fn cross_within_slice(&mut self, gauges: Gauges) {
        if self.cross_the_middle() || self.cross_the_end_of_the_load() {
            return self.set_border();
        }
        let cpu_ns = self.leave(self.border_ns, gauges);
        let has_window = self.timeline.end_ns(Phase::Measure) > self.timeline.start_ns(Phase::Measure);
        let goes_on = self.timeline.start_ns(Phase::Drain) > self.timeline.end_ns(Phase::Measure);
        if let Some(slicing) = &mut self.slicing {
            let is_end = matches!(slicing.stage, Stage::FirstHalf | Stage::SecondHalf);
            slicing.window_cpu_ns += if is_end { cpu_ns } else { 0 };
            slicing.stage = if has_window && !is_end {
                Stage::FirstHalf
            } else if is_end && goes_on {
                Stage::Edge
            } else {
                Stage::Drain
            };
            if has_window || is_end {
                std::mem::swap(&mut self.current, &mut slicing.aside);
            }
            enter(&mut self.current, self.border_ns + slicing.shift_ns);
        }
        self.set_border();
    }

    /// Whether the border is the middle of the window: then what came before it is noted.
    fn cross_the_middle(&mut self) -> bool {
        let ok = SliceTally::so_far(&self.measured).ok;
        match &mut self.slicing {
            Some(slicing) if slicing.stage == Stage::FirstHalf => {
                slicing.ok_by_half = ok;
                let is_middle = self.border_ns < self.timeline.end_ns(Phase::Measure);
                slicing.stage = if is_middle { Stage::SecondHalf } else { Stage::FirstHalf };
                is_middle
            }
            _ => false,
        }
    }

    /// Whether the border is where the load ends that went on after the window.
    fn cross_the_end_of_the_load(&mut self) -> bool {
        match &mut self.slicing {
            Some(slicing) if slicing.stage == Stage::Edge => {
                slicing.stage = Stage::Drain;
                true
            }
            _ => false,
        }
    }

    /// The slice was drained at `now_ns`, and is the last of its interval or not.
    pub fn end_slice(&mut self, now_ns: u64, gauges: Gauges, ends_interval: bool) {
        self.leave(now_ns, gauges);
        let ok_outside = ok_in(&self.current);
        if let Some(slicing) = &mut self.slicing {
            slicing.ok_outside = ok_outside.saturating_sub(slicing.ok_outside_before);
        }
        self.pause();
        if ends_interval && self.has_sets(2) {
            self.deliver_batch();
        } else if ends_interval {
            self.join_batches();
        }
    }

    /// What the thread did in the slice, up to `now_ns`.
    pub fn slice_tally(&self, now_ns: u64) -> SliceTally {
        let Some(slicing) = &self.slicing else {
            return SliceTally::default();
        };
        let in_window = SliceTally::so_far(&self.measured).since(&slicing.before);
        SliceTally {
            ok_first_half: slicing.ok_by_half - slicing.before.ok,
            cpu_ns: slicing.window_cpu_ns,
            turn_ok: in_window.ok + slicing.ok_outside,
            end_ns: self.timeline.end_ns(Phase::Measure) + slicing.shift_ns,
            drained_ns: now_ns + slicing.shift_ns,
            ..in_window
        }
    }

    /// Delivers what is left at the end of the load, which may come in mid-slice.
    pub(super) fn finish_slices(&mut self, now_ns: u64, gauges: Gauges) {
        if self.slicing.as_ref().is_some_and(|slicing| slicing.stage != Stage::Paused) {
            self.leave(now_ns, gauges);
            self.pause();
        }
        self.deliver_batch();
    }

    fn pause(&mut self) {
        if let Some(slicing) = &mut self.slicing {
            slicing.stage = Stage::Paused;
        }
    }

    /// The current set's part ends at `end_ns`; the CPU time that it took.
    fn leave(&mut self, end_ns: u64, gauges: Gauges) -> u64 {
        let shift_ns = self.slicing.as_ref().map_or(0, |slicing| slicing.shift_ns);
        self.read_off(end_ns + shift_ns, gauges)
    }

    /// Both sets go on with the slices of the next interval.
    fn join_batches(&mut self) {
        self.joined += 1;
        if let Some(Slicing { aside, batch, .. }) = &mut self.slicing {
            *batch += 1;
            (self.current.place.0, aside.place.0) = (*batch, *batch);
        }
    }

    /// Delivers both sets, what lies outside first, since that began first.
    fn deliver_batch(&mut self) {
        let (outside, window) = (self.empty(), self.empty());
        let outside = std::mem::replace(&mut self.current, outside);
        self.send(outside);
        if let Some(slicing) = &mut self.slicing {
            let window = std::mem::replace(&mut slicing.aside, window);
            slicing.batch += 1;
            self.send(window);
        }
        self.begin_batch();
    }

    /// Both sets are empty.
    fn begin_batch(&mut self) {
        if let Some(Slicing { aside, batch, .. }) = &mut self.slicing {
            for (data, phase, place) in [(&mut self.current, Phase::Drain, 0), (aside, Phase::Measure, 1)] {
                data.begin(phase, (*batch, place));
                // It has not begun, and may not before it is delivered.
                data.start_ns = u64::MAX;
            }
        }
    }
}

/// Correct replies of a set of data so far.
fn ok_in(data: &IntervalData) -> u64 {
    data.operations.iter().map(|operation| operation.tally.ok).sum()
}

/// A set of data has its next part from `at_ns` on.
fn enter(data: &mut IntervalData, at_ns: u64) {
    if data.end_ns == 0 {
        (data.start_ns, data.end_ns) = (at_ns, at_ns);
    } else {
        data.gaps_ns += at_ns.saturating_sub(data.end_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Message, Times};
    use super::*;
    use crate::record::tally::End;
    use std::sync::mpsc::{Receiver, channel};

    const MS: u64 = 1_000_000;

    /// A recorder of slices.
    fn recorder() -> (Recorder, Receiver<Message>) {
        let (to_collector, messages) = channel();
        let (_, spares) = channel();
        let mut recorder = Recorder::new(0, (1, false), 1.0, spares, to_collector);
        recorder.begin_in_slices(Timeline::of_slice(0, 0, 0, 0));
        (recorder, messages)
    }

    fn cross(recorder: &mut Recorder, now_ns: u64) {
        while recorder.border_ns() <= now_ns {
            recorder.cross_border(Gauges { bytes_sent: 10, ..Gauges::default() });
        }
    }

    /// One operation that ended as it should.
    fn operate(recorder: &mut Recorder, intended_ns: u64, completed_ns: u64) {
        cross(recorder, intended_ns);
        let member = recorder.timeline.phase_of(intended_ns);
        recorder.offered(0, member);
        recorder.sent(0, member);
        cross(recorder, completed_ns);
        recorder.ended(
            0,
            member,
            End::Correct,
            Times { intended_ns, sent_ns: intended_ns + 1, completed_ns, own_ns: 0 },
        );
    }

    /// A slice on the drive's own clock: 10 ms that settle, 20 ms that are measured, 5 ms that drain. An interval ends
    /// with every second round.
    fn slice(recorder: &mut Recorder, round: u32, begin_ns: u64, shift_ns: u64) -> SliceTally {
        let timeline = Timeline::of_slice(0, begin_ns + 10 * MS, begin_ns + 30 * MS, begin_ns + 30 * MS);
        recorder.begin_slice(timeline, begin_ns, shift_ns, Some(round));
        for (intended_ms, completed_ms) in [(1, 2), (9, 11), (12, 13), (29, 32)] {
            operate(recorder, begin_ns + intended_ms * MS, begin_ns + completed_ms * MS);
        }
        recorder.end_slice(begin_ns + 35 * MS, Gauges::default(), round % 2 == 1);
        recorder.slice_tally(begin_ns + 35 * MS)
    }

    fn delivered(messages: &Receiver<Message>) -> Vec<IntervalData> {
        let interval = |message| match message {
            Message::Interval { data, .. } => Some(*data),
            Message::End { .. } => None,
        };
        messages.try_iter().filter_map(interval).collect()
    }

    #[test]
    fn a_slice_has_the_operations_of_its_window_followed_to_their_end_and_the_replies_that_came_in_it() {
        let (mut recorder, _messages) = recorder();
        for (round, begin_ns, shift_ns) in [(0, 0, 0), (1, 35 * MS, 1000 * MS), (2, 70 * MS, 1000 * MS)] {
            let tally = slice(&mut recorder, round, begin_ns, shift_ns);
            assert_eq!((tally.offered, tally.completed, tally.ok, tally.failed), (2, 2, 2, 0));
            // Those of 1 ms and of 2, then that of 3.
            assert_eq!((tally.ok_first_half, tally.ended, tally.response_sum_ns), (2, 2, 4 * MS));
            // And before the window that of 2, and after it that of 32.
            assert_eq!(tally.turn_ok, 4);
            assert_eq!(tally.end_ns, begin_ns + shift_ns + 30 * MS);
            assert_eq!(tally.drained_ns, begin_ns + shift_ns + 35 * MS);
        }
        let measured = &recorder.measured[0];
        assert_eq!((measured.tally.ok, measured.window_ok, measured.earlier_ns), (6, 6, 3 * MS));
    }

    #[test]
    fn intervals_are_gathered_over_slices_and_stand_on_the_common_clock() {
        let (mut recorder, messages) = recorder();
        slice(&mut recorder, 6, 0, 100 * MS);
        assert!(delivered(&messages).is_empty());
        slice(&mut recorder, 7, 35 * MS, 1000 * MS);
        let [outside, window] = delivered(&messages).try_into().unwrap();
        assert_eq!(
            (outside.phase, outside.place, window.phase, window.place),
            (Phase::Drain, (0, 0), Phase::Measure, (0, 1))
        );
        assert_eq!([outside.rounds, window.rounds], [Some((6, 7)); 2]);
        assert_eq!((outside.start_ns, outside.end_ns, outside.length_ns()), (100 * MS, 1070 * MS, 30 * MS));
        assert_eq!((window.start_ns, window.end_ns, window.length_ns()), (110 * MS, 1065 * MS, 40 * MS));
        let counted = |data: &IntervalData| (data.operations[0].tally.ok, data.operations[0].response.len());
        // What settles has no latency; what was measured and ended in the drain has one there.
        assert_eq!((counted(&outside), counted(&window)), ((4, 2), (4, 2)));
        assert_eq!((outside.gauges.bytes_sent, window.gauges.bytes_sent), (20, 20));
        recorder.finish(80 * MS, Gauges::default());
        assert!(delivered(&messages).iter().all(|data| data.length_ns() == 0 && data.place.0 == 1));
    }

    #[test]
    fn where_the_collector_does_not_keep_up_intervals_go_on_over_more_rounds() {
        let (mut recorder, messages) = recorder();
        let rounds = 400;
        for round in 0..rounds {
            slice(&mut recorder, round, u64::from(round) * 35 * MS, 0);
        }
        recorder.finish(u64::from(rounds) * 35 * MS, Gauges::default());
        let all = delivered(&messages);
        assert!(all.len() <= super::super::most_sets(1, false) + 2, "{} sets", all.len());
        for (phase, ok, length_ns) in [(Phase::Measure, 2, 20 * MS), (Phase::Drain, 2, 15 * MS)] {
            let own: Vec<_> = all.iter().filter(|data| data.phase == phase && data.length_ns() > 0).collect();
            assert_eq!(own.iter().map(|data| data.operations[0].tally.ok).sum::<u64>(), ok * u64::from(rounds));
            assert_eq!(own.iter().map(|data| data.length_ns()).sum::<u64>(), length_ns * u64::from(rounds));
            let spans: Vec<_> = own.iter().map(|data| data.rounds.unwrap()).collect();
            assert!(spans.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{spans:?}");
            assert_eq!((spans[0].0, spans.last().unwrap().1), (0, rounds - 1));
            let held: u64 = own.iter().map(|data| u64::from(data.joined())).sum();
            assert_eq!((held, own.len() as u64 + held), (recorder.joined, 1 + u64::from(rounds) / 2));
        }
    }

    #[test]
    fn a_slice_that_is_stopped_is_as_long_as_it_was() {
        let (mut recorder, messages) = recorder();
        recorder.begin_slice(Timeline::of_slice(0, 10 * MS, 30 * MS, 30 * MS), 0, 0, Some(0));
        operate(&mut recorder, 12 * MS, 13 * MS);
        recorder.end_measure(15 * MS);
        cross(&mut recorder, 15 * MS);
        recorder.finish(15 * MS, Gauges::default());
        assert_eq!((recorder.slice_tally(15 * MS).completed, recorder.slice_tally(15 * MS).end_ns), (1, 15 * MS));
        let lengths: Vec<u64> = delivered(&messages).iter().map(IntervalData::length_ns).collect();
        assert_eq!(lengths, [10 * MS, 5 * MS]);
    }

    #[test]
    fn load_after_the_window_is_not_measured() {
        let (mut recorder, messages) = recorder();
        recorder.begin_slice(Timeline::of_slice(0, 10 * MS, 30 * MS, 34 * MS), 0, 0, Some(0));
        for (intended_ms, completed_ms) in [(12, 13), (29, 32), (31, 33), (33, 36)] {
            operate(&mut recorder, intended_ms * MS, completed_ms * MS);
            // The middle of the window, the end of the load, none.
            let border_ns =
                [20 * MS, 34 * MS, u64::MAX][usize::from(completed_ms > 20) + usize::from(completed_ms > 34)];
            assert_eq!(recorder.border_ns(), border_ns, "the thread is woken where the load ends");
        }
        recorder.end_slice(37 * MS, Gauges::default(), true);
        let tally = recorder.slice_tally(37 * MS);
        assert_eq!((tally.offered, tally.completed, tally.ended, tally.turn_ok), (2, 1, 2, 4));
        assert_eq!((tally.end_ns, tally.drained_ns), (30 * MS, 37 * MS));
        let counted = |data: &IntervalData| (data.operations[0].tally.offered, data.operations[0].response.len());
        // Of what ended outside only that of 29 ms was measured.
        assert_eq!(delivered(&messages).iter().map(counted).collect::<Vec<_>>(), [(2, 1), (2, 1)]);
    }

    #[test]
    fn a_slice_without_a_window_measures_nothing() {
        let (mut recorder, messages) = recorder();
        recorder.begin_slice(Timeline::of_slice(0, 30 * MS, 30 * MS, 30 * MS), 0, 0, None);
        operate(&mut recorder, 12 * MS, 13 * MS);
        operate(&mut recorder, 29 * MS, 31 * MS);
        recorder.end_slice(32 * MS, Gauges::default(), false);
        assert_eq!(recorder.slice_tally(32 * MS).completed, 0);
        recorder.finish(40 * MS, Gauges::default());
        let all: Vec<_> = delivered(&messages).iter().map(|data| (data.length_ns(), data.cpu_ns > 0)).collect();
        assert_eq!(all, [(32 * MS, true), (0, false)]);
    }
}
