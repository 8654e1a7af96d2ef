//! What one thread reports when its part of a drive is over.

use super::examples::Examples;
use super::outcome::{CommandRecord, Connections, EndpointRecord, ReadBack, Redirections};
use super::tally::{Gap, Measured, Stall};
use super::timeline::Timeline;
use crate::net::back_end::BackEndRecord;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// What had not ended when the load did, by operation: all of it, and the measured part.
#[derive(Debug, Clone, Copy, Default)]
pub struct Left {
    pub in_flight: u64,
    pub unsent: u64,
    pub measured_in_flight: u64,
    pub measured_unsent: u64,
}

/// What one thread reports when its part is over.
#[derive(Debug)]
pub struct ThreadEnd {
    pub cpu: Option<usize>,
    pub back_end: BackEndRecord,
    /// When its load began, by itself.
    pub begun_ns: u64,
    pub timeline: Timeline,
    /// When its load ended.
    pub end_ns: u64,
    /// How long the thread was ready to run and had no CPU in the measure phase.
    pub measure_waited_ns: Option<u64>,
    /// What had not ended by then, by operation.
    pub left: Vec<Left>,
    pub measured: Vec<Measured>,
    pub pool_wait: Histogram<u64>,
    pub schedule_lag: Histogram<u64>,
    /// How long replies lay before the thread noticed them; None where that is not measured.
    pub notice_lag: Option<Histogram<u64>>,
    pub overflowed: u64,
    /// Intervals that went on with the next one.
    pub joined: u64,
    pub commands: BTreeMap<String, CommandRecord>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    pub connections: Connections,
    /// None if keys do not decide on the endpoint.
    pub redirections: Option<Redirections>,
    /// When no server answered, of one that Sentinel watches.
    pub failovers: Vec<Gap>,
    /// When nothing came, and when the thread did not run.
    pub stalls: Vec<Stall>,
    /// In the order of the plan.
    pub endpoints: Vec<EndpointRecord>,
    pub read_back: ReadBack,
    pub examples: Examples,
}
