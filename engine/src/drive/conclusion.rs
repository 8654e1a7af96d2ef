//! The end of a drive: what the threads report becomes the record.

use crate::machine::clock::{Clock, to_s};
use crate::net::back_end::BackEndRecord;
use crate::receivers::{Published, Receivers};
use crate::record::calls::Calls;
use crate::record::examples::Examples;
use crate::record::histogram::{self, Buckets, Encoder, Latencies};
use crate::record::outcome::{
    AcknowledgedRecord, CommandRecord, Connections, DriveRecord, EndpointRecord, FailoverRecord, Latency,
    OperationRecord, Phase, PhaseTimes, ReadBack, ReceiversRecord, Redirections, ThreadRecord,
};
use crate::record::slices::Slices;
use crate::record::stalls;
use crate::record::tally::{Gap, Measured, Stall, Tally};
use crate::record::thread_end::ThreadEnd;
use crate::record::timeline::Timeline;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// One operation over the measured part of the drive.
#[derive(Debug, Default)]
pub struct Trial {
    pub response: Buckets,
    pub service: Buckets,
    pub least: Option<Buckets>,
}

impl Trial {
    /// Adds what an interval has.
    pub fn add(&mut self, latencies: &Latencies) {
        self.response.add_recorded(&latencies.response);
        self.service.add_recorded(&latencies.service);
        if let Some(least) = &latencies.least {
            self.least.get_or_insert_default().add_recorded(least);
        }
    }
}

/// Everything that is known of a drive at its end.
#[derive(Debug)]
pub struct WholeDrive {
    /// The names of the operations.
    pub names: Vec<String>,
    pub ends: Vec<ThreadEnd>,
    pub trial: Vec<Trial>,
    /// The events of all intervals.
    pub total: Tally,
    pub measure_cpu_ns: Vec<u64>,
    pub measure_calls: Vec<Calls>,
    pub clock: Clock,
    pub clock_quantum_ns: u64,
    pub origin_ns: u64,
    pub acknowledged: Option<AcknowledgedRecord>,
    pub receivers: Option<Receivers>,
    /// Of a drive in slices.
    pub slices: Option<Slices>,
    pub stopped: Option<String>,
}

impl WholeDrive {
    pub fn record(mut self) -> DriveRecord {
        let phases = self.slices.as_ref().map_or_else(|| self.phase_times(), Slices::phase_times);
        let measure = phases[&Phase::Measure];
        let measure_s = self.slices.as_ref().map_or(measure.end_s - measure.start_s, Slices::measure_s);
        let (mut pool_wait, mut schedule_lag) = (histogram::empty(), histogram::empty());
        let mut notice_lag: Option<Histogram<u64>> = None;
        let (mut connections, mut read_back) = (Connections::default(), ReadBack::default());
        let mut endpoints = vec![EndpointRecord::default(); self.ends.first().map_or(0, |end| end.endpoints.len())];
        let (mut in_flight, mut unsent) = (0, 0);
        let mut redirections: Option<Redirections> = None;
        for end in &self.ends {
            if let Some(own) = &end.redirections {
                redirections.get_or_insert_default().add(own);
            }
            endpoints.iter_mut().zip(&end.endpoints).for_each(|(sum, endpoint)| sum.add(endpoint));
            histogram::add(&mut pool_wait, &end.pool_wait);
            histogram::add(&mut schedule_lag, &end.schedule_lag);
            if let Some(own) = &end.notice_lag {
                histogram::add(notice_lag.get_or_insert_with(histogram::empty), own);
            }
            connections.add(&end.connections);
            read_back.add(&end.read_back);
            in_flight += end.left.iter().map(|left| left.in_flight).sum::<u64>();
            unsent += end.left.iter().map(|left| left.unsent).sum::<u64>();
        }
        let failovers = self.failovers();
        let by_thread: Vec<&[Stall]> = self.ends.iter().map(|end| end.stalls.as_slice()).collect();
        let stalls = stalls::of_all(&by_thread, self.clock.to_unix_ns(self.origin_ns));
        let mut encoder = Encoder::default();
        let operations = self.operations(&mut encoder);
        let (receivers, threads) = self.received(&operations, measure_s);
        DriveRecord {
            format: 1,
            engine: format!("loadstone-engine {}", env!("CARGO_PKG_VERSION")),
            started_unix_ns: self.clock.to_unix_ns(self.origin_ns),
            started_monotonic_ns: self.clock.to_monotonic_ns(self.origin_ns),
            start_lag_ns: self.ends.iter().map(|end| end.begun_ns.saturating_sub(self.origin_ns)).max().unwrap_or(0),
            phases,
            measure_s,
            operations,
            total: self.total.counts(in_flight, unsent),
            pool_wait_ns: Latency::of(&pool_wait),
            schedule_lag_ns: Latency::of(&schedule_lag),
            notice_lag_ns: notice_lag.as_ref().map(Latency::of),
            pool_wait_histogram: encoder.encode(&pool_wait),
            schedule_lag_histogram: encoder.encode(&schedule_lag),
            notice_lag_histogram: notice_lag.as_ref().map(|lag| encoder.encode(lag)),
            commands: self.commands(),
            bytes_sent: self.ends.iter().map(|end| end.bytes_sent).sum::<u64>()
                + receivers.as_ref().map_or(0, |all| all.bytes_sent),
            bytes_received: self.ends.iter().map(|end| end.bytes_received).sum::<u64>()
                + receivers.as_ref().map_or(0, |all| all.bytes_received),
            threads: self.threads().into_iter().chain(threads).collect(),
            back_end: self.back_end(),
            slices: self.slices.as_ref().map_or_else(Vec::new, |all| all.slices.clone()),
            cpus: self.slices.map_or_else(BTreeMap::new, |all| all.cpus),
            connections,
            redirections,
            failovers,
            stalls,
            endpoints,
            read_back,
            examples: Examples::of_all(self.ends.iter().map(|end| &end.examples), &self.names),
            receivers,
            acknowledged: self.acknowledged,
            overflowed: self.ends.iter().map(|end| end.overflowed).sum(),
            joined_intervals: self.ends.iter().map(|end| end.joined).sum(),
            clock_quantum_ns: self.clock_quantum_ns,
            clock_set_s: self.clock.set_forward_s(),
            stopped: self.stopped,
        }
    }

    /// When no server answered, of all threads: those that overlap are one, until the first of them was answered, and so
    /// are those whose thread noticed only then that the server before was gone.
    fn failovers(&self) -> Vec<FailoverRecord> {
        let mut gaps: Vec<Gap> = self.ends.iter().flat_map(|end| end.failovers.iter().copied()).collect();
        gaps.sort_unstable_by_key(|gap| gap.lost_ns);
        let mut all: Vec<(Gap, u64)> = Vec::new();
        for gap in gaps {
            let until_ns = gap.answered_ns.unwrap_or(u64::MAX);
            let is_the_same = |(first, last_ns): &&mut (Gap, u64)| {
                gap.lost_ns <= *last_ns || (first.answered_ns.is_some() && first.primary != gap.lost_target)
            };
            match all.last_mut().filter(is_the_same) {
                None => all.push((gap, until_ns)),
                Some((first, last_ns)) => {
                    *last_ns = until_ns.max(*last_ns);
                    if gap.answered_ns.is_some_and(|ns| first.answered_ns.is_none_or(|earlier_ns| ns < earlier_ns)) {
                        (first.answered_ns, first.primary) = (gap.answered_ns, gap.primary);
                    }
                }
            }
        }
        let since_s = |ns: u64| to_s(ns.saturating_sub(self.origin_ns));
        let record = |(gap, _): (Gap, u64)| FailoverRecord {
            lost_s: since_s(gap.lost_ns),
            answered_s: gap.answered_ns.map(since_s),
            primary: gap.primary,
        };
        all.into_iter().map(record).collect()
    }

    /// When each phase began and ended: where the threads differ, at the latest of them.
    fn phase_times(&self) -> BTreeMap<Phase, PhaseTimes> {
        let latest_s = |of: &dyn Fn(&Timeline) -> u64| {
            let latest_ns = self.ends.iter().map(|end| of(&end.timeline).min(end.end_ns)).max();
            to_s(latest_ns.unwrap_or_default().saturating_sub(self.origin_ns))
        };
        let times = |phase: Phase| PhaseTimes {
            start_s: latest_s(&|timeline| timeline.start_ns(phase)),
            end_s: latest_s(&|timeline| timeline.end_ns(phase)),
        };
        Phase::ALL.into_iter().map(|phase| (phase, times(phase))).collect()
    }

    fn operations(&self, encoder: &mut Encoder) -> BTreeMap<String, OperationRecord> {
        let mut records = BTreeMap::new();
        for (index, trial) in self.trial.iter().enumerate() {
            let mut all = Measured::default();
            let (mut in_flight, mut unsent) = (0, 0);
            for end in &self.ends {
                all.add(&end.measured[index]);
                in_flight += end.left[index].measured_in_flight;
                unsent += end.left[index].measured_unsent;
            }
            let (response, service) = (trial.response.histogram(), trial.service.histogram());
            let least = trial.least.as_ref().map(Buckets::histogram);
            let record = OperationRecord {
                counts: all.tally.counts(in_flight, unsent),
                window_completed: all.window_completed,
                window_ok: all.window_ok,
                response_ns: Latency::of(&response),
                service_ns: Latency::of(&service),
                response_sum_ns: all.response_sum_ns,
                earlier_ns: all.earlier_ns,
                response_histogram: encoder.encode(&response),
                service_histogram: encoder.encode(&service),
                least_ns: least.as_ref().map(Latency::of),
                least_histogram: least.as_ref().map(|least| encoder.encode(least)),
            };
            records.insert(self.names[index].clone(), record);
        }
        records
    }

    /// What the receivers got of all that was sent, once that is over, and their threads.
    fn received(
        &mut self,
        operations: &BTreeMap<String, OperationRecord>,
        measure_s: f64,
    ) -> (Option<ReceiversRecord>, Vec<ThreadRecord>) {
        let measured = operations.values().map(|operation| operation.counts.ok).sum();
        let published = Published { total: self.total.ok, measured };
        match self.receivers.take() {
            None => (None, Vec::new()),
            Some(receivers) => {
                let (record, threads) = receivers.finish(published, measure_s);
                (Some(record), threads)
            }
        }
    }

    fn commands(&self) -> BTreeMap<String, CommandRecord> {
        let mut commands: BTreeMap<String, CommandRecord> = BTreeMap::new();
        for (name, command) in self.ends.iter().flat_map(|end| &end.commands) {
            let total = commands.entry(name.clone()).or_default();
            total.sent += command.sent;
            total.replied += command.replied;
            total.missed += command.missed;
        }
        commands
    }

    /// What the threads used; where one of them did not get what the others have, that one's.
    fn back_end(&self) -> BackEndRecord {
        let mut back_ends = self.ends.iter().map(|end| end.back_end);
        let first = back_ends.next().unwrap_or(BackEndRecord::of(None));
        back_ends.find(|other| *other != first && other.why_not_io_uring.is_some()).unwrap_or(first)
    }

    fn threads(&self) -> Vec<ThreadRecord> {
        let record = |((end, &cpu_ns), &calls): ((&ThreadEnd, &u64), &Calls)| {
            let at_most = |phase_ns: u64| phase_ns.min(end.end_ns);
            let start_ns = at_most(end.timeline.start_ns(Phase::Measure));
            let end_ns = at_most(end.timeline.end_ns(Phase::Measure));
            ThreadRecord {
                cpu: end.cpu,
                cpu_s: to_s(cpu_ns),
                wall_s: self.slices.as_ref().map_or(to_s(end_ns - start_ns), Slices::measure_s),
                waited_s: end.measure_waited_ns.map(to_s),
                calls,
            }
        };
        self.ends.iter().zip(&self.measure_cpu_ns).zip(&self.measure_calls).map(record).collect()
    }
}
