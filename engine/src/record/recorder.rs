//! What one thread observed: counts and histograms of the current interval and of the measure phase.
//!
//! Nothing is allocated per operation. At the end of an interval its data go to the collector and an
//! empty set that came back from there takes their place. A thread has so many sets at most: where all are with the
//! collector, which then has not kept up, the interval goes on with the next one. So the thread never waits, all counts
//! remain exact, and what is only coarser is counted. Of a drive in slices see `recorder/slicing.rs`.

mod slicing;

use crate::machine::clock::{from_s, thread_cpu_ns};
use crate::machine::run_delay::RunDelay;
use crate::record::histogram::Buckets;
use crate::record::outcome::Phase;
use crate::record::tally::{End, Gauges, IntervalData, Measured};
use crate::record::thread_end::ThreadEnd;
use crate::record::timeline::Timeline;
use slicing::Slicing;
use std::sync::mpsc::{Receiver, Sender};

/// Memory of the sets that a thread may have, unless that were fewer than `FEWEST_SETS`.
const SETS_BYTES: usize = 32 << 20;
/// In slices: two that are filled, two that are merged, two that wait for that.
const FEWEST_SETS: usize = 6;
/// Sets that the collector makes, beforehand.
pub const SETS_AHEAD: usize = 2;

/// From a thread to the collector.
#[derive(Debug)]
pub enum Message {
    Interval { thread: usize, data: Box<IntervalData> },
    End { thread: usize, end: Box<ThreadEnd> },
}

/// Times of one operation that ended.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub intended_ns: u64,
    pub sent_ns: u64,
    pub completed_ns: u64,
    /// How much of the response time is the thread's own at most; counts where that is measured.
    pub own_ns: u64,
}

/// Sets of data that a thread may have at the same time.
fn most_sets(operations: usize, bounded: bool) -> usize {
    (SETS_BYTES / IntervalData::bytes(operations, bounded).max(1)).max(FEWEST_SETS)
}

/// Records what one thread observes.
#[derive(Debug)]
pub struct Recorder {
    thread: usize,
    pub timeline: Timeline,
    interval_ns: u64,
    /// The next end of an interval or of a phase.
    border_ns: u64,
    current: Box<IntervalData>,
    cpu_at_start_ns: u64,
    run_delay: RunDelay,
    waited_at_start_ns: Option<u64>,
    /// How long the thread was ready to run and had no CPU in the measure phase.
    pub measure_waited_ns: Option<u64>,
    spares: Receiver<Box<IntervalData>>,
    /// Empty sets that came back.
    #[expect(clippy::vec_box, reason = "sets go to the collector and come back without being copied")]
    ready: Vec<Box<IntervalData>>,
    /// How many more may be made.
    sets_left: usize,
    collector: Sender<Message>,
    /// Intervals that went on with the next one, because the collector had not kept up.
    pub joined: u64,
    pub measured: Vec<Measured>,
    /// Measured operations that ended.
    pub measured_ended: u64,
    pub pool_wait: Buckets,
    pub schedule_lag: Buckets,
    /// How long replies lay before the thread noticed them; None where that is not measured.
    pub notice_lag: Option<Buckets>,
    pub overflowed: u64,
    /// Of a drive in slices.
    slicing: Option<Slicing>,
}

impl Recorder {
    /// `spares` brings back interval data that the collector is done with; `bounded`: what the thread itself may have
    /// added to response times is measured.
    pub fn new(
        thread: usize,
        (operations, bounded): (usize, bool),
        interval_s: f64,
        spares: Receiver<Box<IntervalData>>,
        collector: Sender<Message>,
    ) -> Self {
        Self {
            thread,
            timeline: Timeline::UNKNOWN,
            interval_ns: from_s(interval_s).max(1),
            border_ns: u64::MAX,
            current: Box::new(IntervalData::new(operations, bounded)),
            cpu_at_start_ns: 0,
            run_delay: RunDelay::of_this_thread(),
            waited_at_start_ns: None,
            measure_waited_ns: None,
            spares,
            ready: Vec::new(),
            sets_left: most_sets(operations, bounded) - SETS_AHEAD - 1,
            collector,
            joined: 0,
            measured: vec![Measured::default(); operations],
            measured_ended: 0,
            pool_wait: Buckets::default(),
            schedule_lag: Buckets::default(),
            notice_lag: bounded.then(Buckets::default),
            overflowed: 0,
            slicing: None,
        }
    }

    /// The load begins.
    pub fn begin(&mut self, timeline: Timeline) {
        self.timeline = timeline;
        self.current.start_ns = timeline.origin_ns();
        self.run_delay = RunDelay::of_this_thread();
        self.note_usage();
        self.set_border();
    }

    /// What the thread uses from now on is that of the current interval.
    fn note_usage(&mut self) {
        self.cpu_at_start_ns = thread_cpu_ns();
        self.waited_at_start_ns = self.run_delay.read_ns();
    }

    pub fn phase(&self) -> Phase {
        self.current.phase
    }

    /// When the current interval ends.
    #[inline]
    pub fn border_ns(&self) -> u64 {
        self.border_ns
    }

    /// The measure phase ends at `end_ns` instead.
    pub fn end_measure(&mut self, end_ns: u64) {
        self.timeline.end_measure(end_ns);
        self.set_border();
    }

    fn set_border(&mut self) {
        if let Some(slicing) = &self.slicing {
            self.border_ns = slicing.border_ns(&self.timeline);
            return;
        }
        let phase_end_ns = self.timeline.end_ns(self.current.phase);
        let length_ns = self.interval_ns.saturating_mul(u64::from(self.current.joined()) + 1);
        self.border_ns = phase_end_ns.min(self.current.start_ns.saturating_add(length_ns));
    }

    /// Goes past the current border: delivers the interval and begins the next one, or goes on with that.
    pub fn cross_border(&mut self, gauges: Gauges) {
        if self.slicing.is_some() {
            return self.cross_within_slice(gauges);
        }
        let (phase, end_ns) = (self.current.phase, self.border_ns);
        let (next_phase, number) = if end_ns >= self.timeline.end_ns(phase) {
            (Phase::ALL[(phase as usize + 1).min(3)], 0)
        } else {
            (phase, self.current.place.1 + 1)
        };
        if next_phase == phase && !self.has_sets(1) {
            self.read_off(end_ns, gauges);
            self.join();
            return self.set_border();
        }
        self.deliver(end_ns, gauges);
        self.current.begin(next_phase, (next_phase as u32, number));
        self.current.start_ns = end_ns;
        self.set_border();
    }

    /// Delivers the last interval, which ends at `now_ns`. There are no more borders.
    pub fn finish(&mut self, now_ns: u64, gauges: Gauges) {
        if self.slicing.is_some() {
            self.finish_slices(now_ns, gauges);
        } else {
            self.deliver(now_ns.max(self.current.start_ns), gauges);
        }
        self.border_ns = u64::MAX;
    }

    fn deliver(&mut self, end_ns: u64, gauges: Gauges) {
        self.read_off(end_ns, gauges);
        let empty = self.empty();
        let data = std::mem::replace(&mut self.current, empty);
        self.send(data);
    }

    /// The current set's part ends, or goes on, at `end_ns`; the CPU time that the thread took for it.
    fn read_off(&mut self, end_ns: u64, gauges: Gauges) -> u64 {
        let cpu_ns = self.charge();
        self.current.go_on(end_ns, cpu_ns, gauges);
        cpu_ns
    }

    /// The current set holds the next interval, too.
    fn join(&mut self) {
        self.current.place.1 += 1;
        self.joined += 1;
    }

    /// Whether there are so many empty sets: those that came back, and new ones as long as there may be more.
    fn has_sets(&mut self, number: usize) -> bool {
        self.ready.extend(self.spares.try_iter());
        while self.ready.len() < number && self.sets_left > 0 {
            self.sets_left -= 1;
            self.ready.push(self.new_set());
        }
        self.ready.len() >= number
    }

    /// An empty set; a new one where a phase or the load ends, which may not wait.
    fn empty(&mut self) -> Box<IntervalData> {
        self.has_sets(1);
        self.ready.pop().unwrap_or_else(|| self.new_set())
    }

    fn new_set(&self) -> Box<IntervalData> {
        Box::new(IntervalData::new(self.current.operations.len(), self.notice_lag.is_some()))
    }

    fn send(&self, data: Box<IntervalData>) {
        // Without a collector no one needs the data: the drive is being torn down.
        let _ = self.collector.send(Message::Interval { thread: self.thread, data });
    }

    /// The CPU time of the thread since it was noted last. What it waited for a CPU is added if that is measured.
    fn charge(&mut self) -> u64 {
        let (cpu_ns, waited_ns) = (self.cpu_at_start_ns, self.waited_at_start_ns);
        self.note_usage();
        if self.current.phase == Phase::Measure
            && let (Some(now_ns), Some(before_ns)) = (self.waited_at_start_ns, waited_ns)
        {
            *self.measure_waited_ns.get_or_insert(0) += now_ns.saturating_sub(before_ns);
        }
        self.cpu_at_start_ns.saturating_sub(cpu_ns)
    }

    #[inline]
    pub fn offered(&mut self, operation: usize, member: Phase) {
        self.current.operations[operation].tally.offered += 1;
        if member == Phase::Measure {
            self.measured[operation].tally.offered += 1;
        }
    }

    /// So often an operation was offered and is sent at once.
    #[inline]
    pub fn begun(&mut self, operation: usize, member: Phase, count: u64) {
        let current = &mut self.current.operations[operation].tally;
        current.offered += count;
        current.sent += count;
        if member == Phase::Measure {
            let measured = &mut self.measured[operation].tally;
            measured.offered += count;
            measured.sent += count;
        }
    }

    #[inline]
    pub fn dropped(&mut self, operation: usize, member: Phase) {
        self.current.operations[operation].tally.dropped += 1;
        if member == Phase::Measure {
            self.measured[operation].tally.dropped += 1;
        }
    }

    #[inline]
    pub fn sent(&mut self, operation: usize, member: Phase) {
        self.current.operations[operation].tally.sent += 1;
        if member == Phase::Measure {
            self.measured[operation].tally.sent += 1;
        }
    }

    /// How late the thread itself picked up work that was intended earlier.
    #[inline]
    pub fn picked_up(&mut self, member: Phase, lag_ns: u64) {
        if member == Phase::Measure {
            self.overflowed += u64::from(!self.schedule_lag.record(lag_ns));
        }
    }

    /// How long a reply lay before the thread noticed it, at most.
    #[inline]
    pub fn noticed(&mut self, member: Phase, lag_ns: u64) {
        if let Some(notice_lag) = self.notice_lag.as_mut().filter(|_| member == Phase::Measure) {
            self.overflowed += u64::from(!notice_lag.record(lag_ns));
        }
    }

    /// How long `operations` waited together for their connection.
    #[inline]
    pub fn acquired(&mut self, member: Phase, wait_ns: u64, operations: u64) {
        if member == Phase::Measure && !self.pool_wait.record_n(wait_ns, operations) {
            self.overflowed += operations;
        }
    }

    /// Counts what an operation that began before the measure phase took of it until it ended or was given up.
    pub fn went_on_until(&mut self, operation: usize, intended_ns: u64, end_ns: u64) {
        let begin_ns = self.timeline.start_ns(Phase::Measure);
        if intended_ns < begin_ns {
            let until_ns = end_ns.min(self.timeline.end_ns(Phase::Measure));
            self.measured[operation].earlier_ns += until_ns.saturating_sub(begin_ns);
        }
    }

    /// An operation ended. The border was crossed before if it lies before the completion.
    pub fn ended(&mut self, operation: usize, member: Phase, end: End, times: Times) {
        self.ended_alike(operation, member, end, times, 1);
    }

    /// So often an operation ended, each time alike.
    #[inline(always)]
    pub fn ended_alike(&mut self, operation: usize, member: Phase, end: End, times: Times, count: u64) {
        let phase = self.current.phase;
        let is_correct = end == End::Correct;
        let response_ns = times.completed_ns.saturating_sub(times.intended_ns);
        let measured = &mut self.measured[operation];
        if phase == Phase::Measure {
            measured.window_completed += if is_correct || matches!(end, End::Wrong(_)) { count } else { 0 };
            measured.window_ok += if is_correct { count } else { 0 };
        }
        if member == Phase::Measure {
            measured.tally.end(end, count);
            measured.response_sum_ns += response_ns * count;
            self.measured_ended += count;
        } else {
            (0..count).for_each(|_| self.went_on_until(operation, times.intended_ns, times.completed_ns));
        }
        let interval = &mut self.current.operations[operation];
        interval.tally.end(end, count);
        let of_this_phase = member == phase || (phase == Phase::Drain && member == Phase::Measure);
        if is_correct && of_this_phase {
            let service_ns = times.completed_ns.saturating_sub(times.sent_ns);
            let fits = interval.response.record_n(response_ns, count) && interval.service.record_n(service_ns, count);
            self.overflowed += if fits { 0 } else { count };
            if let Some(least) = interval.least.as_mut().filter(|_| fits) {
                // It is no longer than the response time, which fits.
                let _ = least.record_n(response_ns.saturating_sub(times.own_ns), count);
            }
        }
    }
}

#[cfg(test)]
mod tests;
