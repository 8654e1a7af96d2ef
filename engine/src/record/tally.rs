//! Events counted, latencies gathered: by operation, of one interval or of the measure phase.

use crate::record::calls::Calls;
use crate::record::histogram::{Buckets, Latencies};
use crate::record::outcome::{Counts, Errors, IntervalOperation, Latency, Phase};
use crate::wire::ErrorKind;

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Correct,
    /// A reply came and was not correct.
    Wrong(ErrorKind),
    /// The connection was lost before the reply came.
    Lost(ErrorKind),
    TimedOut,
}

/// From when a request failed because of its connection, to the first reply on one that was opened since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    pub lost_ns: u64,
    /// The target to which it was.
    pub lost_target: usize,
    /// None: no server answered until the end.
    pub answered_ns: Option<u64>,
    /// The target that answered, or was last gone to.
    pub primary: usize,
}

/// Whose standing still a thread noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallOf {
    Server,
    /// The thread itself did not run, and so long it was ready to.
    Driver {
        no_cpu_ns: u64,
    },
}

/// A while in which nothing came back to a thread, or the thread did not run, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    pub begin_unix_ns: u64,
    pub end_unix_ns: u64,
    pub of: StallOf,
    /// Requests in flight, at most.
    pub waiting: u64,
}

/// Events of one operation. Errors are few kinds, so a list is searched from its front.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub offered: u64,
    pub sent: u64,
    pub ok: u64,
    pub errors: Vec<(ErrorKind, u64)>,
    pub timeouts: u64,
    pub dropped: u64,
}

impl Tally {
    #[inline]
    pub fn end(&mut self, end: End, count: u64) {
        match end {
            End::Correct => self.ok += count,
            End::Wrong(kind) | End::Lost(kind) => add_error(&mut self.errors, kind, count),
            End::TimedOut => self.timeouts += count,
        }
    }

    pub fn add(&mut self, other: &Tally) {
        self.offered += other.offered;
        self.sent += other.sent;
        self.ok += other.ok;
        self.timeouts += other.timeouts;
        self.dropped += other.dropped;
        for &(kind, count) in &other.errors {
            add_error(&mut self.errors, kind, count);
        }
    }

    /// What ended in anything but a correct reply.
    pub fn failed(&self) -> u64 {
        self.timeouts + self.errors.iter().map(|(_, count)| count).sum::<u64>()
    }

    pub fn is_empty(&self) -> bool {
        self.errors.is_empty() && self.offered + self.sent + self.ok + self.timeouts + self.dropped == 0
    }

    pub fn clear(&mut self) {
        self.errors.clear();
        *self = Tally { errors: std::mem::take(&mut self.errors), ..Tally::default() };
    }

    pub fn errors_by_name(&self) -> Errors {
        let mut by_name = Errors::new();
        for (kind, count) in &self.errors {
            *by_name.entry(kind.name()).or_default() += count;
        }
        by_name
    }

    /// The tally of an interval with these latencies, of which nothing is read off yet.
    pub fn of_interval(&self, latencies: Latencies) -> IntervalOperation {
        IntervalOperation {
            offered: self.offered,
            sent: self.sent,
            ok: self.ok,
            errors: self.errors_by_name(),
            timeouts: self.timeouts,
            dropped: self.dropped,
            latencies,
            response_ns: Latency::default(),
            response_histogram: String::new(),
            service_histogram: String::new(),
            least_histogram: None,
        }
    }

    /// The tally as counts, with what is still in flight and unsent.
    pub fn counts(&self, in_flight: u64, unsent: u64) -> Counts {
        Counts {
            offered: self.offered,
            sent: self.sent,
            ok: self.ok,
            errors: self.errors_by_name(),
            timeouts: self.timeouts,
            dropped: self.dropped,
            in_flight,
            unsent,
        }
    }
}

#[cold]
fn add_error(errors: &mut Vec<(ErrorKind, u64)>, kind: ErrorKind, count: u64) {
    match errors.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, counted)) => *counted += count,
        None => errors.push((kind, count)),
    }
}

/// One operation within the current interval. The latencies are those of correct replies of its own phase.
#[derive(Debug, Clone)]
pub struct IntervalTally {
    pub tally: Tally,
    pub response: Buckets,
    pub service: Buckets,
    /// The response times without all that the thread itself may have added to them; None where that is not measured.
    pub least: Option<Buckets>,
}

impl IntervalTally {
    /// Takes its latencies out; none are left.
    pub fn take_latencies(&mut self) -> Latencies {
        Latencies {
            response: self.response.take(),
            service: self.service.take(),
            least: self.least.as_mut().map(Buckets::take),
        }
    }
}

/// Where an interval stands among those of a drive: of a phase, or of a batch of slices, and its number there.
pub type Place = (u32, u32);

/// The first and the last round of which an interval holds slices.
pub type RoundSpan = (u32, u32);

/// One thread's share of an interval.
#[derive(Debug, Clone)]
pub struct IntervalData {
    pub phase: Phase,
    pub place: Place,
    /// That of the first interval in it: an earlier one if the collector had not kept up.
    pub first: Place,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Time between start and end that is no part of it.
    pub gaps_ns: u64,
    /// None of a drive that takes no turns, and before its first round.
    pub rounds: Option<RoundSpan>,
    pub operations: Vec<IntervalTally>,
    pub cpu_ns: u64,
    pub gauges: Gauges,
}

impl IntervalData {
    /// Of so many operations; `bounded`: what the thread itself may have added to their response times is measured.
    pub fn new(operations: usize, bounded: bool) -> Self {
        let tally = IntervalTally {
            tally: Tally { errors: Vec::with_capacity(16), ..Tally::default() },
            response: Buckets::default(),
            service: Buckets::default(),
            least: bounded.then(Buckets::default),
        };
        Self {
            phase: Phase::RampUp,
            place: Place::default(),
            first: Place::default(),
            start_ns: 0,
            end_ns: 0,
            gaps_ns: 0,
            rounds: None,
            operations: vec![tally; operations],
            cpu_ns: 0,
            gauges: Gauges::default(),
        }
    }

    /// Memory that one takes.
    pub const fn bytes(operations: usize, bounded: bool) -> usize {
        operations * (2 + bounded as usize) * Buckets::BYTES
    }

    /// It is empty, and its first interval is that one.
    pub fn begin(&mut self, phase: Phase, place: Place) {
        (self.phase, self.place, self.first) = (phase, place, place);
    }

    /// How many intervals before that of its place are in it, too.
    pub fn joined(&self) -> u32 {
        (self.place.0 - self.first.0) + (self.place.1 - self.first.1)
    }

    /// Whether there is an interval that is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.phase == other.phase && self.first <= other.place && other.first <= self.place
    }

    /// The thread went on to `end_ns`, and used that CPU time since its data were last read.
    pub fn go_on(&mut self, end_ns: u64, cpu_ns: u64, gauges: Gauges) {
        self.end_ns = end_ns.max(self.end_ns);
        self.cpu_ns += cpu_ns;
        self.gauges.go_on(gauges);
    }

    /// How long it was.
    pub fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns).saturating_sub(self.gaps_ns)
    }

    /// Takes in what is of these rounds.
    pub fn add_rounds(&mut self, rounds: Option<RoundSpan>) {
        self.rounds = match (self.rounds, rounds) {
            (Some((first, last)), Some((from, to))) => Some((first.min(from), last.max(to))),
            (known, other) => known.or(other),
        };
    }

    pub fn clear(&mut self) {
        self.clear_but_latencies();
        for operation in &mut self.operations {
            operation.response.clear();
            operation.service.clear();
            operation.least.iter_mut().for_each(Buckets::clear);
        }
    }

    /// As `clear`, where the latencies were taken out.
    pub fn clear_but_latencies(&mut self) {
        (self.start_ns, self.end_ns, self.gaps_ns, self.rounds) = (0, 0, 0, None);
        (self.cpu_ns, self.gauges) = (0, Gauges::default());
        self.operations.iter_mut().for_each(|operation| operation.tally.clear());
    }
}

/// What is read off the thread at the end of an interval. Bytes and calls are those of the interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gauges {
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub connections: usize,
    pub users: usize,
    pub backlog: usize,
    pub calls: Calls,
}

impl Gauges {
    /// Takes in what the same thread read later.
    pub fn go_on(&mut self, later: Gauges) {
        let earlier = std::mem::replace(self, later);
        self.bytes_sent += earlier.bytes_sent;
        self.bytes_received += earlier.bytes_received;
        self.calls.add(&earlier.calls);
    }

    /// Adds those of another thread.
    pub fn add(&mut self, other: &Gauges) {
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.connections += other.connections;
        self.users += other.users;
        self.backlog += other.backlog;
        self.calls.add(&other.calls);
    }
}

/// One operation's members of the measure phase, followed to their end.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    pub tally: Tally,
    pub window_completed: u64,
    pub window_ok: u64,
    pub response_sum_ns: u64,
    /// Time of the measure phase that went to operations which had begun before it.
    pub earlier_ns: u64,
}

impl Measured {
    /// Adds those of another thread.
    pub fn add(&mut self, other: &Measured) {
        self.tally.add(&other.tally);
        self.window_completed += other.window_completed;
        self.window_ok += other.window_ok;
        self.response_sum_ns += other.response_sum_ns;
        self.earlier_ns += other.earlier_ns;
    }
}
