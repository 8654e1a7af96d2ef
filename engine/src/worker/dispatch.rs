//! The way of an operation: intended, brought to a connection, sent; and its end.

use super::dialling::loss;
use super::lines::Waiting;
use super::{Source, Worker};
use crate::connection::{State, Task};
use crate::outcome::Phase;
use crate::pool::Released;
use crate::record::Times;
use crate::tally::End;

impl Worker {
    /// Begins all operations that are intended by now.
    pub(super) fn begin_what_is_due(&mut self) {
        let origin_ns = self.recorder.timeline.origin_ns();
        loop {
            let intended_ns = match &mut self.source {
                Source::Closed(users) => match users.wake(self.now_ns.saturating_sub(origin_ns)) {
                    None => break,
                    Some((user, ready_ns)) => {
                        self.user_is_ready(user, origin_ns + ready_ns);
                        self.flush_dirty();
                        continue;
                    }
                },
                Source::Open(arrivals) => origin_ns + arrivals.next_ns(),
            };
            let over = intended_ns >= self.recorder.timeline.start_ns(Phase::Drain);
            if intended_ns > self.now_ns || over || self.exhausted {
                break;
            }
            self.arrive(intended_ns);
            if self.plan.pipeline_depth == 1 {
                self.flush_dirty();
            }
        }
        self.flush_dirty();
    }

    /// An arrival of the open model.
    fn arrive(&mut self, intended_ns: u64) {
        if let Source::Open(arrivals) = &mut self.source {
            arrivals.advance();
        }
        let Some(request) = self.protocol.begin() else {
            self.exhausted = true;
            return;
        };
        let member = self.recorder.timeline.phase_of(intended_ns);
        let operation = usize::from(request.operation);
        self.recorder.offered(operation, member);
        self.recorder.picked_up(member, self.now_ns.saturating_sub(intended_ns));
        if self.lines.len() >= self.backlog_max {
            self.recorder.dropped(operation, member);
            self.protocol.abandon(&request);
            return;
        }
        let lane = self.protocol.lane(&request);
        self.lines.push(lane, request);
        self.lines.close(lane, Waiting { intended_ns, user: 0, operations: 1, member, sent_ns: 0 });
        self.serve_waiting(lane);
    }

    /// A user wants its next operations, or ends.
    fn user_is_ready(&mut self, user: u32, intended_ns: u64) {
        let Source::Closed(users) = &mut self.source else {
            return;
        };
        let member = self.recorder.timeline.phase_of(intended_ns);
        let wanted = if member == Phase::Drain { 0 } else { users.take(user, self.plan.pipeline_depth) };
        let mut drawn = 0;
        while drawn < wanted {
            let Some(request) = self.protocol.begin() else {
                self.exhausted = true;
                break;
            };
            self.recorder.offered(usize::from(request.operation), member);
            self.lines.push(self.protocol.lane(&request), request);
            drawn += 1;
        }
        if drawn == 0 {
            users.end();
            return;
        }
        self.recorder.picked_up(member, self.now_ns.saturating_sub(intended_ns));
        let waiting = Waiting { intended_ns, user, operations: 0, member, sent_ns: 0 };
        let parts = (0..self.lines.lanes()).filter(|&lane| self.lines.close(lane, waiting)).count();
        users.split(user, parts as u32);
        (0..self.lines.lanes()).for_each(|lane| self.serve_waiting(lane));
    }

    /// Gives connections to those that wait on a lane, first come first served.
    pub(super) fn serve_waiting(&mut self, lane: usize) {
        while self.lines.len_of(lane) > 0 {
            let Some(connection) = self.pool.acquire(lane) else {
                self.dial_for_waiting(lane);
                return;
            };
            if let Some(waiting) = self.lines.pop(lane) {
                self.dispatch(connection, lane, waiting);
            }
        }
    }

    /// Encodes operations for the connection that they got; `flush_dirty` sends them.
    fn dispatch(&mut self, number: usize, lane: usize, waiting: Waiting) {
        let Waiting { intended_ns, user, operations, member, sent_ns } = waiting;
        let is_first = sent_ns == 0;
        if is_first {
            self.recorder.acquired(member, self.now_ns.saturating_sub(intended_ns), u64::from(operations));
        }
        let connection = &mut self.connections[number];
        connection.user = user;
        for request in self.lines.requests(lane, operations) {
            #[cfg(feature = "slowed")]
            crate::slowed::spend();
            self.protocol.encode(&request, connection.target, &[], &mut connection.out);
            self.commands[self.protocol.command_index(&request)].sent += 1;
            if is_first {
                self.recorder.sent(usize::from(request.operation), member);
                self.endpoints[connection.target].sent += 1;
            }
            connection.in_flight.push_back(Task { request, member, intended_ns, sent_ns, step_sent_ns: 0 });
        }
        connection.unsent_tasks += operations as usize;
        self.outstanding += operations as usize;
        self.mark_dirty(number);
    }

    pub(super) fn mark_dirty(&mut self, number: usize) {
        if !std::mem::replace(&mut self.connections[number].dirty, true) {
            self.dirty.push(number);
        }
    }

    /// Sends what was encoded.
    #[inline]
    pub(super) fn flush_dirty(&mut self) {
        while let Some(number) = self.dirty.pop() {
            self.connections[number].dirty = false;
            if self.connections[number].state == State::Ready {
                self.flush(number);
            }
        }
    }

    pub(super) fn flush(&mut self, number: usize) {
        let now_ns = self.read_clock();
        let connection = &mut self.connections[number];
        connection.stamp(now_ns);
        match connection.flush() {
            Ok(count) => self.bytes_sent += count as u64,
            Err(error) => {
                let (end, why) = loss(&error);
                self.lose(number, end, &why);
            }
        }
    }

    #[inline]
    pub(super) fn end(&mut self, task: &Task, end: End) {
        self.outstanding -= 1;
        let times = Times { intended_ns: task.intended_ns, sent_ns: task.sent_ns, completed_ns: self.now_ns };
        self.recorder.ended(usize::from(task.request.operation), task.member, end, times);
    }

    /// An operation ended with its reply: the connection may be free, and its user ready.
    pub(super) fn after_reply(&mut self, number: usize) {
        match &self.source {
            Source::Open(_) => self.release(number),
            Source::Closed(_) if self.connections[number].in_flight.is_empty() => {
                let user = self.connections[number].user;
                self.release(number);
                self.think(user);
            }
            Source::Closed(_) => {}
        }
    }

    fn release(&mut self, number: usize) {
        let lane = self.pool.lane_of(number);
        if self.pool.release(number, self.lines.len_of(lane) > 0) == Released::Surplus {
            self.close_surplus(number);
        }
        self.serve_waiting(lane);
    }

    /// What a connection had of a user's batch ended: after the last part of it the user thinks.
    pub(super) fn think(&mut self, user: u32) {
        let origin_ns = self.recorder.timeline.origin_ns();
        if let Source::Closed(users) = &mut self.source
            && users.part_ended(user)
            && let Some(ready_ns) = users.think(user, self.now_ns - origin_ns)
        {
            self.user_is_ready(user, origin_ns + ready_ns);
        }
    }

    /// Everything in flight on a connection that was given up ends the same way.
    pub(super) fn end_all_in_flight(&mut self, number: usize, end: End) {
        let mut ended = 0;
        while let Some(task) = self.connections[number].in_flight.pop_front() {
            if task.request.read_back {
                self.outstanding -= 1;
                continue;
            }
            self.end(&task, end);
            ended += 1;
        }
        if ended > 0 && matches!(self.source, Source::Closed(_)) {
            let user = self.connections[number].user;
            self.think(user);
        }
    }
}
