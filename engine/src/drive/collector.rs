//! The collector: merges what the threads deliver into intervals, and keeps what the record needs.

use crate::control::Control;
use crate::control::turns::Turns;
use crate::drive::conclusion::{Trial, WholeDrive};
use crate::drive::outbox::Outbox;
use crate::load::Shared;
use crate::machine::clock::{Clock, to_s};
use crate::plan::Plan;
use crate::receivers::Receivers;
use crate::record::calls::Calls;
use crate::record::histogram::Latencies;
use crate::record::outcome::{Interval, Phase};
use crate::record::recorder::{Message, SETS_AHEAD};
use crate::record::tally::{Gauges, IntervalData, IntervalTally, Place, Tally};
use crate::record::thread_end::ThreadEnd;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// An interval that not all threads have delivered yet.
#[derive(Debug)]
struct Pending {
    data: Box<IntervalData>,
    /// The thread that `data` goes back to.
    owner: usize,
    /// By thread; None of one that has not delivered it.
    threads: Vec<Option<OfThread>>,
}

/// How long one thread was in an interval, and what is read off it.
#[derive(Debug, Clone, Copy)]
struct OfThread {
    length_ns: u64,
    cpu_ns: u64,
    gauges: Gauges,
}

impl OfThread {
    fn new(data: &IntervalData) -> Self {
        Self { length_ns: data.length_ns(), cpu_ns: data.cpu_ns, gauges: data.gauges }
    }

    /// Takes in a later interval of the same thread.
    fn go_on(&mut self, later: Self) {
        self.length_ns += later.length_ns;
        self.cpu_ns += later.cpu_ns;
        self.gauges.go_on(later.gauges);
    }
}

pub struct Collector {
    clock: Clock,
    control: Arc<Control>,
    names: Vec<String>,
    spares: Vec<Sender<Box<IntervalData>>>,
    outbox: Arc<Outbox>,
    pending: BTreeMap<Place, Pending>,
    /// The last interval of each thread; None before its first.
    reached: Vec<Option<Place>>,
    ends: Vec<Option<Box<ThreadEnd>>>,
    trial: Vec<Trial>,
    total: Tally,
    measure_cpu_ns: Vec<u64>,
    measure_calls: Vec<Calls>,
    published: u64,
}

impl Collector {
    /// `spares` take interval data back to each thread.
    pub fn new(
        plan: &Plan,
        control: Arc<Control>,
        spares: Vec<Sender<Box<IntervalData>>>,
        outbox: Arc<Outbox>,
    ) -> Self {
        let threads = spares.len();
        let (operations, bounded) = (plan.operations.len(), plan.model.is_open());
        for spare in &spares {
            for _ in 0..SETS_AHEAD {
                // A thread that is gone needs no spare.
                let _ = spare.send(Box::new(IntervalData::new(operations, bounded)));
            }
        }
        Self {
            clock: control.clock,
            control,
            names: plan.operations.iter().map(|operation| operation.name.clone()).collect(),
            spares,
            outbox,
            pending: BTreeMap::new(),
            reached: vec![None; threads],
            ends: (0..threads).map(|_| None).collect(),
            trial: (0..operations).map(|_| Trial::default()).collect(),
            total: Tally::default(),
            measure_cpu_ns: vec![0; threads],
            measure_calls: vec![Calls::default(); threads],
            published: 0,
        }
    }

    /// Collects until every thread has reported its end, or is gone, and all was received.
    pub fn run(mut self, origin_ns: u64, messages: &Receiver<Message>, receivers: Option<Receivers>, shared: &Shared) {
        let _guard = self.outbox.guard();
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
        self.publish_all(origin_ns);
        let drive = WholeDrive {
            names: self.names,
            ends: self.ends.into_iter().flatten().map(|end| *end).collect(),
            trial: self.trial,
            total: self.total,
            measure_cpu_ns: self.measure_cpu_ns,
            measure_calls: self.measure_calls,
            clock: self.clock,
            clock_quantum_ns: quantum_ns,
            origin_ns,
            acknowledged: shared.acknowledged(),
            receivers,
            slices: self.control.turns.as_ref().map(Turns::wait_for_the_record),
            stopped: self.control.reason(),
        };
        self.outbox.finish(drive.record());
    }

    fn take_interval(&mut self, thread: usize, data: Box<IntervalData>, origin_ns: u64) {
        let place = data.place;
        self.reached[thread] = Some(place);
        if data.phase == Phase::Measure {
            self.measure_cpu_ns[thread] += data.cpu_ns;
            self.measure_calls[thread].add(&data.gauges.calls);
        }
        let mut threads = vec![None; self.spares.len()];
        threads[thread] = Some(OfThread::new(&data));
        // Of a thread for which the collector was too slow it may be several of another's.
        let same = self.pending.iter().filter(|(_, pending)| pending.data.overlaps(&data)).map(|(place, _)| *place);
        let same: Vec<Place> = same.collect();
        let mut same: Vec<Pending> = same.iter().filter_map(|place| self.pending.remove(place)).collect();
        same.push(Pending { data, owner: thread, threads });
        if let Some(pending) = same.into_iter().reduce(|one, later| self.merged(one, later)) {
            self.pending.insert(pending.data.place, pending);
        }
        self.publish_complete(origin_ns);
    }

    /// Both as one; what a thread has in both it has later in the second.
    fn merged(&self, mut one: Pending, mut later: Pending) -> Pending {
        merge(&mut one.data, &later.data);
        for (own, later) in one.threads.iter_mut().zip(later.threads) {
            match (own, later) {
                (Some(own), Some(later)) => own.go_on(later),
                (own, later) => *own = own.or(later),
            }
        }
        later.data.clear();
        self.give_back(later.owner, later.data);
        one
    }

    /// `data` are cleared.
    fn give_back(&self, thread: usize, data: Box<IntervalData>) {
        // A thread that is gone needs no spare.
        let _ = self.spares[thread].send(data);
    }

    /// Publishes the intervals that every thread has delivered, in order.
    fn publish_complete(&mut self, origin_ns: u64) {
        let Some(slowest) = self.reached.iter().min().copied().flatten() else {
            return;
        };
        while let Some(entry) = self.pending.first_entry().filter(|entry| *entry.key() <= slowest) {
            let pending = entry.remove();
            self.publish(pending, origin_ns);
        }
    }

    fn publish_all(&mut self, origin_ns: u64) {
        for pending in std::mem::take(&mut self.pending).into_values() {
            self.publish(pending, origin_ns);
        }
    }

    fn publish(&mut self, pending: Pending, origin_ns: u64) {
        let Pending { mut data, owner, threads } = pending;
        let length_ns = threads.iter().flatten().map(|own| own.length_ns).max().unwrap_or(0);
        let is_empty = data.operations.iter().all(|operation| operation.tally.is_empty());
        for operation in &data.operations {
            self.total.add(&operation.tally);
        }
        let latencies: Vec<Latencies> = data.operations.iter_mut().map(IntervalTally::take_latencies).collect();
        if data.phase >= Phase::Measure {
            self.trial.iter_mut().zip(&latencies).for_each(|(trial, latencies)| trial.add(latencies));
        }
        if length_ns > 0 || !is_empty {
            let interval = self.interval(&data, latencies, length_ns, &threads, origin_ns);
            self.outbox.add_interval(interval);
        }
        data.clear_but_latencies();
        self.give_back(owner, data);
    }

    fn interval(
        &mut self,
        data: &IntervalData,
        latencies: Vec<Latencies>,
        length_ns: u64,
        threads: &[Option<OfThread>],
        origin_ns: u64,
    ) -> Interval {
        let mut gauges = Gauges::default();
        threads.iter().flatten().for_each(|own| gauges.add(&own.gauges));
        let operations = self.names.iter().zip(&data.operations).zip(latencies);
        let operations =
            operations.map(|((name, own), latencies)| (name.clone(), own.tally.of_interval(latencies))).collect();
        self.published += 1;
        Interval {
            index: self.published - 1,
            phase: data.phase,
            start_s: to_s(data.start_ns - origin_ns),
            duration_s: to_s(length_ns),
            joined: data.joined(),
            first_round: data.rounds.map(|(first, _)| first),
            last_round: data.rounds.map(|(_, last)| last),
            start_unix_ns: self.clock.to_unix_ns(data.start_ns),
            operations,
            bytes_sent: gauges.bytes_sent,
            bytes_received: gauges.bytes_received,
            connections: gauges.connections,
            users: gauges.users,
            backlog: gauges.backlog,
            cpu_s: threads.iter().map(|own| own.map_or(0, |own| own.cpu_ns)).collect(),
        }
    }
}

fn merge(into: &mut IntervalData, other: &IntervalData) {
    for (sum, operation) in into.operations.iter_mut().zip(&other.operations) {
        sum.tally.add(&operation.tally);
        sum.response.add(&operation.response);
        sum.service.add(&operation.service);
        if let (Some(sum), Some(least)) = (&mut sum.least, &operation.least) {
            sum.add(least);
        }
    }
    into.start_ns = into.start_ns.min(other.start_ns);
    into.add_rounds(other.rounds);
    (into.first, into.place) = (into.first.min(other.first), into.place.max(other.place));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn collector() -> (Collector, Arc<Outbox>, Vec<Receiver<Box<IntervalData>>>) {
        let text = r#"{"endpoints": [{}], "model": {"kind": "closed", "users": 2}, "pool": {"connections": 2},
            "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}]}"#;
        let plan = Plan::from_json(text).unwrap();
        let (spares, returned): (Vec<_>, Vec<_>) = (0..2).map(|_| std::sync::mpsc::channel()).unzip();
        let control = Arc::new(Control::new(Clock::new(), 2, 1.0));
        let outbox = Arc::new(Outbox::default());
        (Collector::new(&plan, control, spares, outbox.clone()), outbox, returned)
    }

    fn data(phase: Phase, number: u32, (start_ns, end_ns): (u64, u64), ok: u64) -> Box<IntervalData> {
        let mut data = Box::new(IntervalData::new(1, false));
        data.begin(phase, (phase as u32, number));
        (data.start_ns, data.end_ns) = (start_ns, end_ns);
        data.operations[0].tally.ok = ok;
        assert!(data.operations[0].response.record_n(1000, ok));
        data
    }

    fn published(outbox: &Outbox) -> Vec<serde_json::Value> {
        std::iter::from_fn(|| outbox.next_interval(Duration::ZERO))
            .map(|text| serde_json::from_str(&text).unwrap())
            .collect()
    }

    #[test]
    fn an_interval_is_published_when_every_thread_has_delivered_it() {
        let (mut collector, outbox, returned) = collector();
        collector.take_interval(0, data(Phase::WarmUp, 0, (0, 10), 3), 0);
        collector.take_interval(0, data(Phase::Measure, 0, (10, 20), 5), 0);
        assert!(published(&outbox).is_empty());
        collector.take_interval(1, data(Phase::WarmUp, 0, (0, 10), 4), 0);
        let intervals = published(&outbox);
        assert_eq!(intervals.len(), 1);
        assert_eq!(intervals[0]["operations"]["get"]["ok"], 7);
        assert_eq!(intervals[0]["operations"]["get"]["response_ns"]["count"], 7);
        collector.take_interval(1, data(Phase::Measure, 0, (10, 21), 6), 0);
        let intervals = published(&outbox);
        assert_eq!((&intervals[0]["index"], &intervals[0]["phase"]), (&1.into(), &"measure".into()));
        assert_eq!(intervals[0]["duration_s"], 11e-9);
        // Two spares each at first, and every set of data back to the thread that filled it.
        assert_eq!([returned[0].try_iter().count(), returned[1].try_iter().count()], [4, 4]);
    }

    #[test]
    fn an_interval_is_as_long_as_that_of_the_thread_that_was_in_it_longest() {
        for order in [[0, 1], [1, 0]] {
            let (mut collector, outbox, _returned) = collector();
            let mut longer = data(Phase::Measure, 0, (20, 70), 1);
            longer.gaps_ns = 15;
            // The other thread was stopped before the interval began for it.
            let mut all = [Some(longer), Some(data(Phase::Measure, 0, (u64::MAX, 0), 0))];
            for thread in order {
                collector.take_interval(thread, all[thread].take().unwrap(), 10);
            }
            let intervals = published(&outbox);
            assert_eq!((&intervals[0]["start_s"], &intervals[0]["duration_s"]), (&10e-9.into(), &35e-9.into()));
        }
    }

    #[test]
    fn a_thread_that_skipped_an_interval_does_not_hold_the_others_up() {
        let (mut collector, outbox, _returned) = collector();
        collector.take_interval(0, data(Phase::Measure, 0, (0, 10), 1), 0);
        collector.take_interval(0, data(Phase::Measure, 1, (10, 11), 1), 0);
        collector.take_interval(1, data(Phase::Measure, 0, (0, 10), 1), 0);
        collector.take_interval(1, data(Phase::Drain, 0, (10, 12), 1), 0);
        let published_ok: Vec<u64> =
            published(&outbox).iter().map(|interval| interval["operations"]["get"]["ok"].as_u64().unwrap()).collect();
        assert_eq!(published_ok, [2, 1]);
    }

    #[test]
    fn what_one_thread_delivers_as_one_interval_is_one_for_all() {
        for order in [[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]] {
            let (mut collector, outbox, returned) = collector();
            let mut each = (0..3u32).map(|number| {
                let mut data = data(Phase::Measure, number, (10 * u64::from(number), 10 * u64::from(number) + 10), 5);
                (data.cpu_ns, data.gauges.connections, data.gauges.bytes_sent) = (2, 7, 100);
                data
            });
            let mut joined = data(Phase::Measure, 1, (0, 20), 6);
            joined.first.1 = 0;
            (joined.cpu_ns, joined.gauges.connections, joined.gauges.bytes_sent) = (3, 1, 1000);
            let mut joined = Some(joined);
            for thread in order {
                let data = if thread == 1 { joined.take().unwrap() } else { each.next().unwrap() };
                collector.take_interval(thread, data, 0);
            }
            collector.take_interval(1, data(Phase::Measure, 2, (20, 30), 0), 0);
            let found: Vec<_> = published(&outbox)
                .iter()
                .map(|interval| {
                    let keys = ["joined", "connections", "bytes_sent"].map(|key| interval[key].as_u64().unwrap_or(0));
                    (
                        keys,
                        interval["duration_s"].clone(),
                        interval["operations"]["get"]["ok"].clone(),
                        interval["cpu_s"].clone(),
                    )
                })
                .collect();
            let expected = [
                ([1, 8, 1200], 20e-9.into(), 16.into(), serde_json::json!([4e-9, 3e-9])),
                ([0, 7, 100], 10e-9.into(), 5.into(), serde_json::json!([2e-9, 0.0])),
            ];
            assert_eq!(found, expected, "{order:?}");
            assert_eq!([returned[0].try_iter().count(), returned[1].try_iter().count()], [5, 4]);
        }
    }

    #[test]
    fn batches_of_slices_that_are_joined_are_as_long_as_all_their_slices() {
        let (mut collector, outbox, _returned) = collector();
        // Batches of windows from 0 to 40 and from 50 to 90, in each a gap of 20.
        for (thread, first, last, (start_ns, end_ns), gaps_ns) in
            [(0, 0, 0, (1, 40), 20), (0, 1, 1, (50, 90), 20), (1, 0, 1, (0, 90), 50)]
        {
            let mut batch = data(Phase::Measure, 0, (start_ns, end_ns), 1);
            (batch.first, batch.place, batch.gaps_ns) = ((first, 1), (last, 1), gaps_ns);
            collector.take_interval(thread, batch, 0);
        }
        let lengths: Vec<_> =
            published(&outbox).iter().map(|it| (it["duration_s"].clone(), it["joined"].clone())).collect();
        assert_eq!(lengths, [(40e-9.into(), 1.into())]);
    }

    #[test]
    fn only_what_was_measured_is_in_the_trials_histogram() {
        let (mut collector, _outbox, _returned) = collector();
        for (phase, ok) in [(Phase::WarmUp, 3), (Phase::Measure, 5), (Phase::Drain, 2)] {
            for thread in 0..2 {
                collector.take_interval(thread, data(phase, 0, (0, 10), ok), 0);
            }
        }
        assert_eq!(collector.trial[0].response.len(), 14);
        assert_eq!(collector.total.ok, 20);
    }
}
