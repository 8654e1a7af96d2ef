//! The way of an operation: intended, brought to a connection, sent; and its end.

use super::Worker;
use super::connection::Task;
use super::opening::loss;
use super::queues::Waiting;
use super::recording::Recording;
use super::schedule::{Batch, Due};
use crate::content::message::Intended;
use crate::content::send_buffer::Sink;
use crate::net::pool::Released;
use crate::record::outcome::Phase;
use crate::record::tally::End;

/// A call that sends takes no longer, unless its thread loses the CPU meanwhile; over loopback it delivers, too.
const CALL_NS: u64 = 25_000;

/// Operations that were begun one after the other and are the same.
#[derive(Default)]
struct Alike {
    operation: u16,
    name: usize,
    count: u64,
}

impl Alike {
    #[inline(always)]
    fn record(&mut self, recording: &mut Recording, member: Phase) {
        let count = std::mem::take(&mut self.count);
        if count > 0 {
            recording.begun(self.operation, self.name, member, count);
        }
    }
}

impl Worker {
    /// Begins all operations that are intended by now.
    pub(super) fn begin_due(&mut self) {
        while let Some(due) = self.schedule.take_due(self.now_ns, &self.recording.recorder.timeline) {
            match due {
                Due::User { user, intended_ns } => self.begin_batch(user, intended_ns),
                Due::Arrival { intended_ns } => self.begin_arrival(intended_ns),
            }
            if !self.schedule.is_open() || self.plan.pipeline_depth == 1 {
                self.flush_listed();
            }
        }
        self.flush_listed();
    }

    fn begin_arrival(&mut self, intended_ns: u64) {
        let recorder = &mut self.recording.recorder;
        if let Some(shard) = self.schedule.queue_arrival(intended_ns, self.now_ns, &mut self.workload, recorder) {
            self.serve_waiting(shard);
        }
    }

    /// A user begins its next operations, or ends.
    fn begin_batch(&mut self, user: u32, intended_ns: u64) {
        let Recording { recorder, .. } = &mut self.recording;
        let Some(batch) = self.schedule.take_batch(user, intended_ns, &recorder.timeline) else {
            return;
        };
        if self.schedule.queues.is_passed_by()
            && let Some(number) = self.connections.pool.acquire(0)
        {
            self.begin_batch_on(number, batch);
        } else if self.schedule.queue_batch(batch, self.now_ns, &mut self.workload, recorder) {
            (0..self.schedule.queues.shards()).for_each(|shard| self.serve_waiting(shard));
        }
    }

    /// Encodes a batch for the connection that it got at once; `flush_listed` sends it.
    fn begin_batch_on(&mut self, number: usize, batch: Batch) {
        let Batch { user, intended_ns, member, operations } = batch;
        self.workload.intended = Intended::new(intended_ns, member == Phase::Measure);
        let connection = &mut self.connections[number];
        let (mut begun, mut alike) = (0, Alike::default());
        while begun < operations
            && let Some(request) = self.schedule.draw(&mut self.workload)
        {
            #[cfg(feature = "slowed")]
            crate::slowed::spend();
            if request.operation != alike.operation {
                alike.record(&mut self.recording, member);
                alike.operation = request.operation;
            }
            alike.count += 1;
            alike.name = self.workload.name_index(&request);
            self.workload.encode(&request, connection.target, &[], &mut connection.line.out);
            connection.in_flight.push_back(Task::new(request, member, intended_ns));
            begun += 1;
        }
        alike.record(&mut self.recording, member);
        if begun == 0 {
            self.connections.pool.release(number, true);
            return self.schedule.end_user();
        }
        let Recording { recorder, endpoints, .. } = &mut self.recording;
        let lag_ns = self.now_ns.saturating_sub(intended_ns);
        recorder.picked_up(member, lag_ns);
        recorder.acquired(member, lag_ns, begun as u64);
        endpoints[connection.target].sent += begun as u64;
        self.connections.load(number, user, begun);
    }

    /// Gives connections to those that wait for a shard, first come first served.
    pub(super) fn serve_waiting(&mut self, shard: usize) {
        if self.replaying.is_some() {
            return self.serve_sequence(shard);
        }
        while self.schedule.queues.len_of(shard) > 0 {
            let Some(connection) = self.connections.pool.acquire(shard) else {
                if self.follows_redirections && self.deposed[shard] {
                    self.go_to_another_node(shard);
                } else {
                    self.dial_for_waiting(shard);
                }
                return;
            };
            if let Some(mut waiting) = self.schedule.queues.pop(shard) {
                if self.schedule.intends_when_sent() {
                    waiting.intended_ns = self.now_ns;
                }
                self.dispatch(connection, shard, waiting);
            }
        }
    }

    /// Encodes operations for the connection that they got; `flush_listed` sends them.
    pub(super) fn dispatch(&mut self, number: usize, shard: usize, waiting: Waiting) {
        let Waiting { intended_ns, user, operations, member, sent_ns, redirected, excused_ns } = waiting;
        let late_ns = excused_ns.max(self.freed_ns.saturating_sub(intended_ns));
        let is_first = sent_ns == 0;
        let recording = &mut self.recording;
        let connection = &mut self.connections[number];
        if is_first {
            recording.recorder.acquired(member, self.now_ns.saturating_sub(intended_ns), u64::from(operations));
            recording.endpoints[connection.target].sent += u64::from(operations);
        }
        self.workload.intended = Intended::new(intended_ns, member == Phase::Measure);
        for request in self.schedule.queues.requests(shard, operations) {
            #[cfg(feature = "slowed")]
            crate::slowed::spend();
            if redirected.asks {
                self.workload.wire().write_asking(connection.line.out.bytes());
            }
            self.workload.encode(&request, connection.target, &[], &mut connection.line.out);
            recording.commands[self.workload.name_index(&request)].sent += 1;
            if is_first {
                recording.recorder.sent(usize::from(request.operation), member);
            }
            if !is_first && self.follows_redirections {
                recording.endpoints[connection.target].sent += 1;
            }
            let task = Task::new(request, member, intended_ns);
            connection.in_flight.push_back(Task { sent_ns, redirected, late_ns, ..task });
        }
        self.connections.load(number, user, operations as usize);
    }

    /// Sends what was encoded, or has it wait for more of that where it is sent together.
    #[inline(always)]
    pub(super) fn flush_listed(&mut self) {
        if self.connections.has_unflushed() && !self.connections.holds_back() {
            self.send_listed();
        }
    }

    fn send_listed(&mut self) {
        self.flush_all();
        let sent = self.connections.send_offered();
        self.recording.count_sent(sent);
    }

    /// Everything that was encoded is sent, at the latest with the next wait.
    #[inline]
    pub(super) fn flush_all(&mut self) {
        while let Some(number) = self.connections.take_unflushed() {
            self.flush(number);
        }
    }

    pub(super) fn flush(&mut self, number: usize) {
        let now_ns = self.read_clock();
        let connection = &mut self.connections[number];
        let unsent = connection.unsent_tasks;
        connection.stamp(now_ns);
        match self.connections.flush(number) {
            Ok(sent) => {
                self.recording.count_sent(sent);
                if self.lateness.is_some() {
                    self.note_lateness(number, unsent);
                }
            }
            Err(error) => {
                let (end, why) = loss(&error);
                self.lose(number, end, &why);
            }
        }
    }

    /// The last `count` operations of a connection were handed to the system by now.
    fn note_lateness(&mut self, number: usize, count: usize) {
        let now_ns = self.read_clock();
        let Some(lateness) = &mut self.lateness else { return };
        let under_way = (self.connections.in_flight + self.schedule.queues.len()).saturating_sub(count);
        let in_flight = &mut self.connections[number].in_flight;
        let first = in_flight.len().saturating_sub(count);
        for (place, task) in in_flight.range_mut(first..).enumerate() {
            // A call is no lateness: whoever sends makes it. A thread may lose its CPU within it, which is.
            let took_ns = now_ns.saturating_sub(task.step_sent_ns);
            let handed_ns = if took_ns <= CALL_NS { task.step_sent_ns } else { now_ns };
            let late_ns = handed_ns.saturating_sub(task.intended_ns).saturating_sub(task.late_ns);
            task.late_ns = lateness.sent(late_ns, under_way + place);
        }
    }

    #[inline]
    pub(super) fn end(&mut self, task: &Task, end: End) {
        self.connections.in_flight -= 1;
        self.recording.ended(task, end, self.now_ns);
    }

    /// An operation ended with its reply: the connection may be free, and its user ready.
    pub(super) fn after_reply(&mut self, number: usize) {
        if self.schedule.is_open() {
            self.release(number);
        } else if self.connections[number].in_flight.is_empty() {
            let user = self.connections[number].user;
            if !self.schedule.queues.is_passed_by() || !self.connections.pool.has_no_other() {
                self.release(number);
                return self.part_ended(user);
            }
            let timeline = &self.recording.recorder.timeline;
            let ready_ns = self.schedule.part_ended(user, self.now_ns, timeline);
            match ready_ns.and_then(|ready_ns| self.schedule.take_batch(user, ready_ns, timeline)) {
                Some(batch) => self.begin_batch_on(number, batch),
                None => self.release(number),
            }
        }
    }

    fn release(&mut self, number: usize) {
        if self.replaying.is_some() {
            return self.release_to_sequence(number);
        }
        let shard = self.connections.pool.shard_of(number);
        if self.connections.pool.release(number, self.schedule.queues.len_of(shard) > 0) == Released::Surplus {
            self.close_surplus(number);
        }
        self.serve_waiting(shard);
    }

    /// What a connection had of a user's batch ended: the user goes on if that was all of it and it need not think.
    pub(super) fn part_ended(&mut self, user: u32) {
        let timeline = &self.recording.recorder.timeline;
        if let Some(ready_ns) = self.schedule.part_ended(user, self.now_ns, timeline) {
            self.begin_batch(user, ready_ns);
        }
    }

    /// Everything in flight on a connection that was given up ends the same way.
    pub(super) fn end_all_in_flight(&mut self, number: usize, end: End) {
        if self.replaying.is_some() {
            self.note_lost_by_sequence(number, end);
        }
        let mut ended = 0;
        while let Some(task) = self.connections[number].in_flight.pop_front() {
            if task.request.read_back {
                self.connections.in_flight -= 1;
                continue;
            }
            self.end(&task, end);
            ended += 1;
        }
        if self.replaying.is_some() {
            return self.serve_sequence(self.queue_of(number));
        }
        if ended > 0 {
            let user = self.connections[number].user;
            self.part_ended(user);
        }
    }
}
