//! The end of a thread's part: what is left is counted, keys are read back, all is reported.

use super::Worker;
use super::lines::Waiting;
use crate::clock::SECOND_NS;
use crate::conclude::{Left, ThreadEnd};
use crate::connection::{State, Task};
use crate::outcome::{Phase, ReadBack};
use crate::protocol::ReadBackCounts;
use crate::record::Message;
use mio::Events;

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
    /// Counts what did not end, hands over the last interval, and gives up busy connections.
    pub(super) fn end_load(&mut self) -> Ended {
        self.read_clock();
        let end_ns = self.now_ns.max(self.recorder.timeline.origin_ns());
        if end_ns < self.recorder.timeline.start_ns(Phase::Drain) {
            self.recorder.end_measure(end_ns);
            self.cross_borders();
        }
        let gauges = self.gauges();
        self.recorder.finish(end_ns, gauges);
        let mut left = vec![Left::default(); self.steps.len()];
        for lane in 0..self.lines.lanes() {
            while let Some(waiting) = self.lines.pop(lane) {
                for request in self.lines.requests(lane, waiting.operations) {
                    self.protocol.abandon(&request);
                    let operation = usize::from(request.operation);
                    left[operation].waited(&waiting);
                    self.recorder.went_on_until(operation, waiting.intended_ns, end_ns);
                }
            }
        }
        let open_at_end = self.pool.open() as u64;
        for connection in &mut self.connections {
            if !connection.in_flight.is_empty() {
                connection.close();
            }
            for task in connection.in_flight.drain(..) {
                let operation = usize::from(task.request.operation);
                left[operation].in_flight += 1;
                left[operation].measured_in_flight += u64::from(task.member == Phase::Measure);
                self.recorder.went_on_until(operation, task.intended_ns, end_ns);
            }
        }
        self.outstanding = 0;
        self.control.drained();
        Ended { left, end_ns, open_at_end }
    }

    /// Reads written keys back once no thread writes any more, one after the other, for a bounded time.
    pub(super) fn read_back(&mut self, events: &mut Events) {
        let deadline_ns = self.clock.now() + READ_BACK_NS;
        loop {
            self.now_ns = self.clock.now();
            if self.now_ns >= deadline_ns || self.control.is_stopped() {
                return;
            }
            if self.control.all_drained() && self.outstanding == 0 && !self.read_back_one() {
                return;
            }
            self.turn(events, deadline_ns);
        }
    }

    /// False if there is nothing more to read back, or no connection that it can be read from.
    fn read_back_one(&mut self) -> bool {
        let Some(request) = self.protocol.next_read_back() else {
            return false;
        };
        let lane = self.protocol.lane(&request);
        let ready = |other: &usize| self.connections[*other].state == State::Ready && self.pool.lane_of(*other) == lane;
        let Some(number) = (0..self.connections.len()).find(ready) else {
            return false;
        };
        let connection = &mut self.connections[number];
        self.protocol.encode(&request, connection.target, &[], &mut connection.out);
        self.commands[self.protocol.command_index(&request)].sent += 1;
        connection.in_flight.push_back(Task {
            request,
            member: Phase::Drain,
            intended_ns: self.now_ns,
            sent_ns: 0,
            step_sent_ns: 0,
        });
        connection.unsent_tasks += 1;
        self.outstanding += 1;
        self.flush(number);
        true
    }

    pub(super) fn report(mut self, ended: Ended) {
        let ReadBackCounts { checked, wrong, skipped } = self.protocol.read_back_counts();
        self.counts.open_at_end = ended.open_at_end;
        let end = ThreadEnd {
            cpu: self.cpu,
            timeline: self.recorder.timeline,
            end_ns: ended.end_ns,
            measure_waited_ns: self.recorder.measure_waited_ns,
            left: ended.left,
            measured: self.recorder.measured,
            pool_wait: self.recorder.pool_wait,
            schedule_lag: self.recorder.schedule_lag,
            overflowed: self.recorder.overflowed,
            commands: self.protocol.command_names().iter().cloned().zip(self.commands).collect(),
            bytes_sent: self.bytes_sent,
            bytes_received: self.bytes_received,
            connections: self.counts,
            endpoints: self.endpoints,
            read_back: ReadBack { checked, wrong, skipped },
        };
        // Without a collector nobody wants the report: the drive is being torn down.
        let _ = self.collector.send(Message::End { thread: self.thread, end: Box::new(end) });
    }
}
