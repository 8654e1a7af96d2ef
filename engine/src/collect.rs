//! The collector: merges what the threads hand over into intervals, and at the end into the record.

use crate::clock::{Clock, to_s};
use crate::control::Control;
use crate::hand::Hand;
use crate::outcome::{
    CommandRecord, Connections, DriveRecord, Interval, IntervalOperation, Latency, OperationRecord, Phase, PhaseTimes,
    ReadBack, ThreadRecord,
};
use crate::plan::Plan;
use crate::record::Message;
use crate::tally::{IntervalData, Measured, Tally, latency_histogram};
use crate::timeline::Timeline;
use crate::worker::Left;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// What one thread reports when its part is over.
#[derive(Debug)]
pub struct ThreadEnd {
    pub cpu: Option<usize>,
    pub timeline: Timeline,
    /// When its load ended.
    pub end_ns: u64,
    /// What had not ended by then, by operation.
    pub left: Vec<Left>,
    pub measured: Vec<Measured>,
    pub pool_wait: Histogram<u64>,
    pub schedule_lag: Histogram<u64>,
    pub overflowed: u64,
    pub commands: BTreeMap<String, CommandRecord>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub connections: Connections,
    pub read_back: ReadBack,
}

/// An interval of which not all threads have told yet.
#[derive(Debug)]
struct Pending {
    data: Box<IntervalData>,
    /// The thread that `data` goes back to.
    owner: usize,
    cpu_ns: Vec<u64>,
}

/// One operation over the measured part of the drive.
#[derive(Debug)]
struct Trial {
    response: Histogram<u64>,
    service: Histogram<u64>,
}

/// Where an interval stands in the drive: its phase, and its number within it.
type Place = (Phase, u32);

pub struct Collector {
    clock: Clock,
    control: Arc<Control>,
    names: Vec<String>,
    spares: Vec<Sender<Box<IntervalData>>>,
    hand: Arc<Hand>,
    pending: BTreeMap<Place, Pending>,
    /// The last interval of each thread; None before its first.
    reached: Vec<Option<Place>>,
    ends: Vec<Option<Box<ThreadEnd>>>,
    trial: Vec<Trial>,
    total: Tally,
    measure_cpu_ns: Vec<u64>,
    serializer: V2DeflateSerializer,
    handed_out: u64,
}

impl Collector {
    /// `spares` take interval data back to each thread.
    pub fn new(plan: &Plan, control: Arc<Control>, spares: Vec<Sender<Box<IntervalData>>>, hand: Arc<Hand>) -> Self {
        let threads = spares.len();
        let operations = plan.operations.len();
        for spare in spares.iter().chain(&spares) {
            // A thread that is gone needs no spare.
            let _ = spare.send(Box::new(IntervalData::new(operations)));
        }
        let trial = || Trial { response: latency_histogram(), service: latency_histogram() };
        Self {
            clock: control.clock,
            control,
            names: plan.operations.iter().map(|operation| operation.name.clone()).collect(),
            spares,
            hand,
            pending: BTreeMap::new(),
            reached: vec![None; threads],
            ends: (0..threads).map(|_| None).collect(),
            trial: (0..operations).map(|_| trial()).collect(),
            total: Tally::default(),
            measure_cpu_ns: vec![0; threads],
            serializer: V2DeflateSerializer::new(),
            handed_out: 0,
        }
    }

    /// Collects until every thread has reported its end, or is gone.
    pub fn run(mut self, origin_ns: u64, messages: &Receiver<Message>) {
        let _guard = self.hand.guard();
        let quantum_ns = self.clock.quantum_ns();
        while self.ends.iter().any(Option::is_none) {
            match messages.recv() {
                Ok(Message::Interval { thread, data }) => self.take_interval(thread, data, origin_ns),
                Ok(Message::End { thread, end }) => self.ends[thread] = Some(end),
                Err(_) => {
                    self.control.stop("an engine thread ended unexpectedly");
                    break;
                }
            }
        }
        self.hand_out_all(origin_ns);
        let record = self.record(origin_ns, quantum_ns);
        self.hand.finish(record);
    }

    fn take_interval(&mut self, thread: usize, data: Box<IntervalData>, origin_ns: u64) {
        let place = (data.phase, data.number);
        self.reached[thread] = Some(place);
        if data.phase == Phase::Measure {
            self.measure_cpu_ns[thread] += data.cpu_ns;
        }
        let threads = self.spares.len();
        match self.pending.get_mut(&place) {
            Some(pending) => {
                pending.cpu_ns[thread] = data.cpu_ns;
                merge(&mut pending.data, &data);
                self.give_back(thread, data);
            }
            None => {
                let mut cpu_ns = vec![0; threads];
                cpu_ns[thread] = data.cpu_ns;
                self.pending.insert(place, Pending { data, owner: thread, cpu_ns });
            }
        }
        self.hand_out_complete(origin_ns);
    }

    fn give_back(&self, thread: usize, mut data: Box<IntervalData>) {
        data.clear();
        // A thread that is gone needs no spare.
        let _ = self.spares[thread].send(data);
    }

    /// Hands out the intervals that every thread has told of, in order.
    fn hand_out_complete(&mut self, origin_ns: u64) {
        let Some(slowest) = self.reached.iter().min().copied().flatten() else {
            return;
        };
        while let Some(entry) = self.pending.first_entry().filter(|entry| *entry.key() <= slowest) {
            let pending = entry.remove();
            self.hand_out(pending, origin_ns);
        }
    }

    fn hand_out_all(&mut self, origin_ns: u64) {
        for pending in std::mem::take(&mut self.pending).into_values() {
            self.hand_out(pending, origin_ns);
        }
    }

    fn hand_out(&mut self, pending: Pending, origin_ns: u64) {
        let Pending { data, owner, cpu_ns } = pending;
        let is_empty = data.operations.iter().all(|operation| operation.tally.is_empty());
        for operation in &data.operations {
            self.total.add(&operation.tally);
        }
        if data.phase >= Phase::Measure {
            for (trial, operation) in self.trial.iter_mut().zip(&data.operations) {
                add(&mut trial.response, &operation.response);
                add(&mut trial.service, &operation.service);
            }
        }
        if data.end_ns > data.start_ns || !is_empty {
            let interval = self.interval(&data, cpu_ns, origin_ns);
            self.hand.add_interval(&interval);
        }
        self.give_back(owner, data);
    }

    fn interval(&mut self, data: &IntervalData, cpu_ns: Vec<u64>, origin_ns: u64) -> Interval {
        let mut operations = BTreeMap::new();
        for (index, operation) in data.operations.iter().enumerate() {
            let tally = &operation.tally;
            let summary = IntervalOperation {
                offered: tally.offered,
                sent: tally.sent,
                ok: tally.ok,
                errors: tally.errors_by_name(),
                timeouts: tally.timeouts,
                dropped: tally.dropped,
                response_ns: Latency::of(&operation.response),
                response_histogram: self.encode(&operation.response),
                service_histogram: self.encode(&operation.service),
            };
            operations.insert(self.names[index].clone(), summary);
        }
        self.handed_out += 1;
        Interval {
            index: self.handed_out - 1,
            phase: data.phase,
            start_s: to_s(data.start_ns - origin_ns),
            duration_s: to_s(data.end_ns - data.start_ns),
            start_unix_ns: self.clock.to_unix_ns(data.start_ns),
            operations,
            bytes_sent: data.gauges.bytes_sent,
            bytes_received: data.gauges.bytes_received,
            connections: data.gauges.connections,
            users: data.gauges.users,
            backlog: data.gauges.backlog,
            cpu_s: cpu_ns,
        }
    }

    /// HdrHistogram's V2 encoding, compressed, in base64.
    fn encode(&mut self, histogram: &Histogram<u64>) -> String {
        let mut bytes = Vec::new();
        self.serializer.serialize(histogram, &mut bytes).expect("a histogram of our bounds can be encoded in memory");
        BASE64.encode(bytes)
    }

    fn record(&mut self, origin_ns: u64, clock_quantum_ns: u64) -> DriveRecord {
        let ends: Vec<Box<ThreadEnd>> = std::mem::take(&mut self.ends).into_iter().flatten().collect();
        let phases = phase_times(&ends, origin_ns);
        let measure = phases[&Phase::Measure];
        let (mut pool_wait, mut schedule_lag) = (latency_histogram(), latency_histogram());
        let mut commands: BTreeMap<String, CommandRecord> = BTreeMap::new();
        let (mut connections, mut read_back) = (Connections::default(), ReadBack::default());
        for end in &ends {
            add(&mut pool_wait, &end.pool_wait);
            add(&mut schedule_lag, &end.schedule_lag);
            connections.add(&end.connections);
            read_back.add(&end.read_back);
            for (name, command) in &end.commands {
                let total = commands.entry(name.clone()).or_default();
                total.sent += command.sent;
                total.replied += command.replied;
            }
        }
        let left: Vec<Left> = ends.iter().flat_map(|end| end.left.iter().copied()).collect();
        let total = self.total.counts(left.iter().map(|l| l.in_flight).sum(), left.iter().map(|l| l.unsent).sum());
        DriveRecord {
            format: 1,
            engine: format!("loadstone-engine {}", env!("CARGO_PKG_VERSION")),
            started_unix_ns: self.clock.to_unix_ns(origin_ns),
            phases,
            measure_s: measure.end_s - measure.start_s,
            operations: self.operation_records(&ends),
            total,
            pool_wait_ns: Latency::of(&pool_wait),
            schedule_lag_ns: Latency::of(&schedule_lag),
            commands,
            bytes_sent: ends.iter().map(|end| end.bytes_sent).sum(),
            bytes_received: ends.iter().map(|end| end.bytes_received).sum(),
            threads: thread_records(&ends, &self.measure_cpu_ns),
            connections,
            read_back,
            overflowed: ends.iter().map(|end| end.overflowed).sum(),
            clock_quantum_ns,
            stopped: self.control.reason(),
        }
    }

    fn operation_records(&mut self, ends: &[Box<ThreadEnd>]) -> BTreeMap<String, OperationRecord> {
        let mut records = BTreeMap::new();
        for (index, trial) in std::mem::take(&mut self.trial).into_iter().enumerate() {
            let mut all = Measured::default();
            let mut left = Left::default();
            for end in ends {
                all.add(&end.measured[index]);
                left.measured_in_flight += end.left[index].measured_in_flight;
                left.measured_unsent += end.left[index].measured_unsent;
            }
            let record = OperationRecord {
                counts: all.tally.counts(left.measured_in_flight, left.measured_unsent),
                window_completed: all.window_completed,
                window_ok: all.window_ok,
                response_ns: Latency::of(&trial.response),
                service_ns: Latency::of(&trial.service),
                response_sum_ns: all.response_sum_ns,
                response_histogram: self.encode(&trial.response),
                service_histogram: self.encode(&trial.service),
            };
            records.insert(self.names[index].clone(), record);
        }
        records
    }
}

/// When each phase began and ended: where the threads differ, at the latest of them.
fn phase_times(ends: &[Box<ThreadEnd>], origin_ns: u64) -> BTreeMap<Phase, PhaseTimes> {
    let since_origin_s = |at_ns: u64| to_s(at_ns.saturating_sub(origin_ns));
    let times = |phase: Phase| {
        let start_ns = ends.iter().map(|end| end.timeline.start_ns(phase).min(end.end_ns)).max();
        let end_ns = ends.iter().map(|end| end.timeline.end_ns(phase).min(end.end_ns)).max();
        let (start_ns, end_ns) = (start_ns.unwrap_or(origin_ns), end_ns.unwrap_or(origin_ns));
        PhaseTimes { start_s: since_origin_s(start_ns), end_s: since_origin_s(end_ns) }
    };
    Phase::ALL.into_iter().map(|phase| (phase, times(phase))).collect()
}

fn thread_records(ends: &[Box<ThreadEnd>], measure_cpu_ns: &[u64]) -> Vec<ThreadRecord> {
    let record = |(end, &cpu_ns): (&ThreadEnd, &u64)| {
        let measure = (end.timeline.start_ns(Phase::Measure), end.timeline.end_ns(Phase::Measure));
        let wall_ns = measure.1.min(end.end_ns).saturating_sub(measure.0.min(end.end_ns));
        ThreadRecord { cpu: end.cpu, cpu_s: to_s(cpu_ns), wall_s: to_s(wall_ns) }
    };
    ends.iter().map(AsRef::as_ref).zip(measure_cpu_ns).map(record).collect()
}

fn merge(into: &mut IntervalData, other: &IntervalData) {
    for (sum, operation) in into.operations.iter_mut().zip(&other.operations) {
        sum.tally.add(&operation.tally);
        add(&mut sum.response, &operation.response);
        add(&mut sum.service, &operation.service);
    }
    into.start_ns = into.start_ns.min(other.start_ns);
    into.end_ns = into.end_ns.max(other.end_ns);
    into.gauges.add(&other.gauges);
}

fn add(sum: &mut Histogram<u64>, other: &Histogram<u64>) {
    sum.add(other).expect("all histograms have the same bounds");
}
