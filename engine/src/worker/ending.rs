//! The end of a thread's part: what is left is counted, keys are read back, all is reported.

use super::Worker;
use super::connection::Task;
use super::queues::Waiting;
use super::recording::Recording;
use crate::load::ReadBackCounts;
use crate::machine::clock::SECOND_NS;
use crate::net::event::Events;
use crate::record::histogram::Buckets;
use crate::record::outcome::{Phase, ReadBack};
use crate::record::recorder::Message;
use crate::record::thread_end::{Left, ThreadEnd};

/// Longest time for reading back.
const READ_BACK_NS: u64 = 3 * SECOND_NS / 10;

impl Left {
    /// An operation waited for a connection when the load ended.
    fn waited(&mut self, waiting: &Waiting) {
        let measured = u64::from(waiting.member == Phase::Measure);
        if waiting.sent_ns == 0 {
            self.unsent += 1;
            self.measured_unsent += measured;
        } else {
            self.in_flight += 1;
            self.measured_in_flight += measured;
        }
    }
}

/// How the load of one thread ended.
pub struct Ended {
    left: Vec<Left>,
    end_ns: u64,
    open_at_end: u64,
}

impl Worker {
    /// Counts what did not end, delivers the last interval, and gives up busy connections.
    pub(super) fn end_load(&mut self) -> Ended {
        self.read_clock();
        let end_ns = self.now_ns.max(self.recording.timeline().origin_ns());
        if end_ns < self.recording.timeline().start_ns(Phase::Drain) {
            self.recording.recorder.end_measure(end_ns);
            self.cross_borders();
        }
        let (connections, users) = (self.connections.pool.open(), self.schedule.active_users());
        let gauges = self.recording.gauges(connections, users, self.schedule.queues.len());
        self.recording.recorder.finish(end_ns, gauges);
        self.schedule.take_back();
        let mut left = vec![Left::default(); self.workload.operations().len()];
        self.count_waiting(&mut left, end_ns);
        self.count_in_flight(&mut left, end_ns);
        self.control.drained();
        Ended { left, end_ns, open_at_end: connections as u64 }
    }

    fn count_waiting(&mut self, left: &mut [Left], end_ns: u64) {
        let queues = &mut self.schedule.queues;
        for shard in 0..queues.shards() {
            while let Some(waiting) = queues.pop(shard) {
                for request in queues.requests(shard, waiting.operations) {
                    self.workload.abandon(&request);
                    let operation = usize::from(request.operation);
                    left[operation].waited(&waiting);
                    if waiting.member != Phase::Measure {
                        self.recording.recorder.went_on_until(operation, waiting.intended_ns, end_ns);
                    }
                }
            }
        }
    }

    fn count_in_flight(&mut self, left: &mut [Left], end_ns: u64) {
        for number in 0..self.connections.len() {
            if !self.connections[number].in_flight.is_empty() {
                self.connections.close(number);
            }
            for task in self.connections[number].in_flight.drain(..) {
                let operation = usize::from(task.request.operation);
                left[operation].in_flight += 1;
                left[operation].measured_in_flight += u64::from(task.member == Phase::Measure);
                if task.member != Phase::Measure {
                    self.recording.recorder.went_on_until(operation, task.intended_ns, end_ns);
                }
            }
        }
        self.connections.in_flight = 0;
    }

    /// Reads written keys back once no thread writes any more, one after the other, for a bounded time.
    pub(super) fn read_back(&mut self, events: &mut Events) {
        let deadline_ns = self.clock.now() + READ_BACK_NS;
        loop {
            self.now_ns = self.clock.now();
            if self.now_ns >= deadline_ns || self.control.is_stopped() {
                return;
            }
            if self.control.all_drained() && self.connections.in_flight == 0 && !self.read_back_one() {
                return;
            }
            self.turn(events, deadline_ns);
        }
    }

    /// False if there is nothing more to read back, or no connection that it can be read from.
    fn read_back_one(&mut self) -> bool {
        let Some(request) = self.workload.next_read_back() else {
            return false;
        };
        let Some(number) = self.connections.ready_of(self.workload.shard(&request)) else {
            return false;
        };
        let connection = &mut self.connections[number];
        self.workload.encode(&request, connection.target, &[], &mut connection.line.out);
        self.recording.commands[self.workload.name_index(&request)].sent += 1;
        connection.in_flight.push_back(Task::new(request, Phase::Drain, self.now_ns));
        connection.unsent_tasks += 1;
        self.connections.in_flight += 1;
        self.flush(number);
        true
    }

    pub(super) fn report(self, ended: Ended) {
        let ReadBackCounts { checked, wrong, skipped } = self.workload.read_back_counts();
        let follows_redirections = self.workload.slots().is_some();
        let Recording {
            recorder,
            mut connections,
            redirections,
            endpoints,
            mut commands,
            examples,
            bytes_sent,
            bytes_received,
            ..
        } = self.recording;
        connections.open_at_end = ended.open_at_end;
        commands.iter_mut().zip(self.workload.missed()).for_each(|(command, missed)| command.missed = missed);
        let end = ThreadEnd {
            cpu: self.cpu,
            back_end: self.back_end,
            begun_ns: self.begun_ns,
            timeline: recorder.timeline,
            end_ns: ended.end_ns,
            measure_waited_ns: recorder.measure_waited_ns,
            left: ended.left,
            measured: recorder.measured,
            pool_wait: recorder.pool_wait.histogram(),
            schedule_lag: recorder.schedule_lag.histogram(),
            notice_lag: recorder.notice_lag.as_ref().map(Buckets::histogram),
            overflowed: recorder.overflowed,
            joined: recorder.joined,
            commands: self.workload.request_names().iter().cloned().zip(commands).collect(),
            bytes_sent,
            bytes_received,
            connections,
            redirections: follows_redirections.then_some(redirections),
            failovers: self.failover.map_or_else(Vec::new, |failover| failover.gaps),
            stalls: self.stalls.all,
            endpoints,
            read_back: ReadBack { checked, wrong, skipped },
            examples,
        };
        // Without a collector no one needs the report: the drive is being torn down.
        let _ = self.collector.send(Message::End { thread: self.thread, end: Box::new(end) });
    }
}
