//! What a drive delivers: the mirror of `python/loadstone/drivers/outcome.py`.

use crate::machine::cpu_times::CpuTimes;
use crate::net::back_end::BackEndRecord;
use crate::plan::{PlanError, ReceiverKind};
use crate::record::calls::Calls;
use crate::record::examples::ExampleRecord;
use crate::record::histogram::{Encoder, Latencies};
use crate::record::slices::SliceRecord;
use hdrhistogram::Histogram;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Errors by kind.
pub type Errors = BTreeMap<&'static str, u64>;

/// Why a drive could not begin, or has no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// No connection could be made; holds the server's error text where there is one.
    #[error("{0}")]
    Start(String),
    #[error("the drive was not started")]
    NotStarted,
    #[error("the engine broke off; the messages of its threads say why")]
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    RampUp,
    WarmUp,
    Measure,
    Drain,
}

impl Phase {
    pub const ALL: [Phase; 4] = [Phase::RampUp, Phase::WarmUp, Phase::Measure, Phase::Drain];
}

/// A summary in nanoseconds; 0 everywhere if nothing was recorded.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Latency {
    pub count: u64,
    pub min: u64,
    pub mean: f64,
    pub p50: u64,
    pub p90: u64,
    pub p95: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

impl Latency {
    pub fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let quantile = |share| histogram.value_at_quantile(share);
        Self {
            count: histogram.len(),
            min: histogram.min(),
            mean: histogram.mean(),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: histogram.max(),
        }
    }
}

/// `offered = sent + dropped + unsent`; `sent = ok + sum(errors) + timeouts + in_flight`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub offered: u64,
    pub sent: u64,
    pub ok: u64,
    pub errors: Errors,
    pub timeouts: u64,
    pub dropped: u64,
    pub in_flight: u64,
    pub unsent: u64,
}

impl Counts {
    /// Whether every operation is accounted for.
    pub fn conserved(&self) -> bool {
        let ended = self.ok + self.errors.values().sum::<u64>() + self.timeouts;
        self.offered == self.sent + self.dropped + self.unsent && self.sent == ended + self.in_flight
    }
}

/// One operation within one interval: events counted by the time they happened.
#[derive(Debug, Clone, Serialize)]
pub struct IntervalOperation {
    pub offered: u64,
    pub sent: u64,
    pub ok: u64,
    pub errors: Errors,
    pub timeouts: u64,
    pub dropped: u64,
    #[serde(skip)]
    pub latencies: Latencies,
    /// This and what follows is read off `latencies` when the interval is handed out: it takes longer than all the rest.
    pub response_ns: Latency,
    pub response_histogram: String,
    pub service_histogram: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_histogram: Option<String>,
}

impl IntervalOperation {
    fn read_off(&mut self, encoder: &mut Encoder) {
        let response = self.latencies.response.histogram();
        self.response_ns = Latency::of(&response);
        self.response_histogram = encoder.encode(&response);
        self.service_histogram = encoder.encode(&self.latencies.service.histogram());
        self.least_histogram = self.latencies.least.as_ref().map(|least| encoder.encode(&least.histogram()));
    }
}

/// About one second of a drive; an interval ends early where a phase ends.
#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    pub index: u64,
    pub phase: Phase,
    pub start_s: f64,
    pub duration_s: f64,
    /// So many intervals before it are in it, too: the collector had not kept up.
    #[serde(skip_serializing_if = "is_none")]
    pub joined: u32,
    /// Of a drive in slices: the first and the last round of which it holds any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_round: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_round: Option<u32>,
    pub start_unix_ns: u64,
    pub operations: BTreeMap<String, IntervalOperation>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub connections: usize,
    pub users: usize,
    pub backlog: usize,
    #[serde(serialize_with = "as_seconds")]
    pub cpu_s: Vec<u64>,
}

impl Interval {
    /// The interval as JSON, with what is read off its latencies.
    pub fn into_json(mut self, encoder: &mut Encoder) -> String {
        self.operations.values_mut().for_each(|operation| operation.read_off(encoder));
        serde_json::to_string(&self).expect("an interval has text keys only")
    }
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

fn as_seconds<S: Serializer>(nanoseconds: &[u64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(nanoseconds.iter().map(|&ns| crate::machine::clock::to_s(ns)))
}

/// When a phase began and ended, in seconds since the load started.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct PhaseTimes {
    pub start_s: f64,
    pub end_s: f64,
}

/// One operation over the measure phase.
#[derive(Debug, Clone, Serialize)]
pub struct OperationRecord {
    pub counts: Counts,
    pub window_completed: u64,
    pub window_ok: u64,
    pub response_ns: Latency,
    pub service_ns: Latency,
    pub response_sum_ns: u64,
    pub earlier_ns: u64,
    pub response_histogram: String,
    pub service_histogram: String,
    /// Of the open model: the response times without all that the engine itself may have added to them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_ns: Option<Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_histogram: Option<String>,
}

/// One engine thread in the measure phase.
#[derive(Debug, Clone, Serialize)]
pub struct ThreadRecord {
    pub cpu: Option<usize>,
    pub cpu_s: f64,
    pub wall_s: f64,
    /// Ready to run, and no CPU for it; None where the system does not report it.
    pub waited_s: Option<f64>,
    pub calls: Calls,
}

/// `planned` is the size of the pool; `lost` ended although the drive did not close them; `closed_by_server` were
/// closed by an HTTP server in good order, with a reply that said so or while no reply was due; `unrequested` are
/// replies that came on a connection with no request to answer, so that earlier ones on it may have answered another's
/// request.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Connections {
    pub planned: u64,
    pub opened: u64,
    pub open_at_end: u64,
    pub lost: u64,
    pub failed: u64,
    /// Those of `failed` for which the system had no port of its own left.
    pub no_local_port: u64,
    pub closed_idle: u64,
    pub closed_by_server: u64,
    pub unrequested: u64,
}

impl Connections {
    /// Adds those of another thread.
    pub fn add(&mut self, other: &Connections) {
        self.planned += other.planned;
        self.opened += other.opened;
        self.open_at_end += other.open_at_end;
        self.lost += other.lost;
        self.failed += other.failed;
        self.no_local_port += other.no_local_port;
        self.closed_idle += other.closed_idle;
        self.closed_by_server += other.closed_by_server;
        self.unrequested += other.unrequested;
    }
}

/// Redirections of a cluster's nodes over the whole drive. `moved` and `ask` were followed; an operation that was sent
/// on too often, to an endpoint that the plan does not have, or within a transaction, ended as an error.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Redirections {
    pub moved: u64,
    pub ask: u64,
    pub too_many: u64,
    pub in_transaction: u64,
    pub unknown: u64,
    /// The first address that the plan does not have.
    pub unknown_address: Option<String>,
}

impl Redirections {
    /// Adds those of another thread.
    pub fn add(&mut self, other: &Redirections) {
        self.moved += other.moved;
        self.ask += other.ask;
        self.too_many += other.too_many;
        self.in_transaction += other.in_transaction;
        self.unknown += other.unknown;
        if self.unknown_address.is_none() {
            self.unknown_address.clone_from(&other.unknown_address);
        }
    }
}

/// When a primary that Sentinel watches did not answer, in seconds since the load began: from the first request that
/// failed with its connection to the first reply on one that was opened since. None: not before the end.
#[derive(Debug, Clone, Serialize)]
pub struct FailoverRecord {
    pub lost_s: f64,
    pub answered_s: Option<f64>,
    /// The endpoint that answered, by its number.
    pub primary: usize,
}

/// Whose standing still it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stalled {
    /// Nothing came back although requests waited, and the drive's threads ran.
    Server,
    /// The drive's own threads did not run.
    Driver,
}

/// A quarter of a second or more, in seconds since the load began, all phases included.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StallRecord {
    pub of: Stalled,
    pub begin_s: f64,
    pub end_s: f64,
    /// Requests in flight, at most.
    pub waiting: u64,
    /// Of the drive's own: how long its thread was ready to run and had no CPU; 0: it was stopped.
    pub no_cpu_s: f64,
}

/// Operations of the whole drive that went to one endpoint, and those of them with a correct reply.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct EndpointRecord {
    pub sent: u64,
    pub ok: u64,
    /// Of a replica: replies without a key, or with an older version, than what was acknowledged before.
    pub stale: u64,
}

impl EndpointRecord {
    /// Adds those of another thread.
    pub fn add(&mut self, other: &EndpointRecord) {
        self.sent += other.sent;
        self.ok += other.ok;
        self.stale += other.stale;
    }
}

/// What the receivers got. `expected` are the deliveries of the messages that were intended in the measure phase and
/// answered correctly (`published`), `delivered` those that came, each once, and `missing` the others.
#[derive(Debug, Clone, Serialize)]
pub struct ReceiversRecord {
    pub kind: ReceiverKind,
    pub connections: u64,
    /// Connections that ended before the drive did.
    pub disconnected: u64,
    pub why_disconnected: Option<String>,
    pub published: u64,
    pub expected: u64,
    pub delivered: u64,
    pub missing: u64,
    /// Deliveries of a message that had come before.
    pub repeated: u64,
    /// Messages that others sent.
    pub unreadable: u64,
    /// Deliveries that came within the measure phase.
    pub window_delivered: u64,
    /// From the time that a message was intended to its delivery.
    pub delivery_ns: Latency,
    pub delivery_histogram: String,
    pub overflowed: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

/// Keys read back after the drain.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReadBack {
    pub checked: u64,
    pub wrong: u64,
    pub skipped: u64,
}

impl ReadBack {
    /// Adds those of another thread.
    pub fn add(&mut self, other: &ReadBack) {
        self.checked += other.checked;
        self.wrong += other.wrong;
        self.skipped += other.skipped;
    }
}

/// Versions of all keys, from key 0 on, as runs: so many keys, then the version of each of them; 0 for none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AcknowledgedRecord {
    pub begun: Vec<u32>,
    pub newest: Vec<u32>,
    pub certain: Vec<u32>,
}

/// One command over the whole drive: sent, answered, and of these answered that there is no such key.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CommandRecord {
    pub sent: u64,
    pub replied: u64,
    pub missed: u64,
}

/// One share of one trial, driven to its end.
#[derive(Debug, Clone, Serialize)]
pub struct DriveRecord {
    pub format: u32,
    pub engine: String,
    pub started_unix_ns: u64,
    /// On the machine's CLOCK_MONOTONIC; and how much later the last of the threads began.
    pub started_monotonic_ns: u64,
    pub start_lag_ns: u64,
    pub phases: BTreeMap<Phase, PhaseTimes>,
    pub measure_s: f64,
    pub operations: BTreeMap<String, OperationRecord>,
    pub total: Counts,
    pub pool_wait_ns: Latency,
    pub schedule_lag_ns: Latency,
    /// Of the open model: how long replies lay before they were noticed, at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice_lag_ns: Option<Latency>,
    /// What the three are made from: for summaries of several records together.
    pub pool_wait_histogram: String,
    pub schedule_lag_histogram: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice_lag_histogram: Option<String>,
    pub commands: BTreeMap<String, CommandRecord>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub threads: Vec<ThreadRecord>,
    pub back_end: BackEndRecord,
    /// Of a drive in slices: those that were measured, and what each CPU did in their windows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceRecord>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cpus: BTreeMap<usize, CpuTimes>,
    pub connections: Connections,
    /// None if keys do not decide on the endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirections: Option<Redirections>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failovers: Vec<FailoverRecord>,
    pub stalls: Vec<StallRecord>,
    pub endpoints: Vec<EndpointRecord>,
    pub read_back: ReadBack,
    /// One reply of each kind of error, by operation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ExampleRecord>,
    /// None if the plan has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receivers: Option<ReceiversRecord>,
    /// None if the plan does not require it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<AcknowledgedRecord>,
    pub overflowed: u64,
    /// Intervals of a thread that went on with the next one, because the collector had not kept up.
    pub joined_intervals: u64,
    pub clock_quantum_ns: u64,
    /// How far the wall clock was set forward while the drive ran; less than 0: back.
    pub clock_set_s: f64,
    pub stopped: Option<String>,
}
