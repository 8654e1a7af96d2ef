//! Connections come and go: dialled, greeted, lost, given up, dialled again.

use super::Worker;
use super::connection::State;
use super::connections::EVENTS_AT_ONCE;
use crate::machine::clock::SECOND_NS;
use crate::net::event::Events;
use crate::record::recorder::Times;
use crate::record::tally::End;
use crate::wire::ErrorKind;
use std::io;

/// How long a timeout may go unnoticed.
const TIMEOUT_TICK_NS: u64 = SECOND_NS / 100;
/// Connections dialled at the same time, so that a server's queue of new ones does not overflow.
const DIALLED_AT_ONCE: usize = 64;

impl Worker {
    /// Opens the connections that are to be there before the load starts. The error is why one could
    /// not be opened, with the server's error text where there is one.
    pub fn open_pool(&mut self) -> Result<(), String> {
        let planned = self.plan.pool.connections;
        let required = self.share.part_of(self.plan.pool.min_idle.unwrap_or(planned).min(planned) as usize);
        // One at least of each agent, so that a server that is not there is found out before the load starts.
        let required = required.max(usize::from(self.thread == 0)).min(self.connections.pool.to_open());
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        while self.connections.pool.open() < required {
            while self.connections.pool.opening() < DIALLED_AT_ONCE.min(required - self.connections.pool.open()) {
                self.dial_another(self.connections.pool.shard_to_dial());
            }
            self.now_ns = self.clock.now();
            self.check_connections();
            self.turn(&mut events, self.connections.check_ns);
            if let Some(failure) = self.connections.first_failure.take() {
                return Err(failure);
            }
            if self.control.is_stopped() {
                let why = self.control.reason().unwrap_or_default();
                return Err(format!("{why} before the load began"));
            }
        }
        Ok(())
    }

    pub(super) fn dial_another(&mut self, shard: usize) {
        if let Some(number) = self.connections.take_closed(shard) {
            self.dial(number);
        }
    }

    /// Dials one more connection for each that waits for a shard, as far as the pool allows.
    #[inline(never)]
    pub(super) fn dial_for_waiting(&mut self, shard: usize) {
        let required = self.schedule.queues.len_of(shard).min(self.connections.pool.not_open_of(shard));
        while self.connections.pool.opening_of(shard) < required {
            self.dial_another(shard);
        }
    }

    fn dial(&mut self, number: usize) {
        if let Err(error) = self.connections.dial(number, self.clock.now(), self.now_ns) {
            self.fail(number, kind(&error), &system_text(&error));
        }
    }

    /// A connection could not be opened. Where the protocol has it so, that is the failure of an operation.
    pub(super) fn fail(&mut self, number: usize, kind: ErrorKind, why: &str) {
        let text = format!("{}: {why}", self.connections.label(number));
        let counts = &mut self.recording.connections;
        counts.failed += 1;
        counts.no_local_port += u64::from(kind == ErrorKind::NoLocalPort);
        self.connections.back_off(number, self.now_ns);
        // A server is gone, or not, whether or not this drive is paused.
        self.control.opening_failed(self.control.clock.now(), &text);
        self.connections.first_failure.get_or_insert(text);
        if self.failover.is_some() {
            self.ask_sentinel(number);
        }
        let shard = self.connections.pool.shard_of(number);
        self.leave_replica(shard);
        if self.follows_redirections {
            self.go_to_another_node(shard);
        }
        if self.wire.fails_without_connection {
            self.connections.refused.push((shard, kind));
        }
    }

    /// For each connection that could not be opened the operation that has waited longest fails, if one does.
    pub(super) fn fail_refused(&mut self) {
        if self.connections.refused.is_empty() {
            return;
        }
        let now_ns = self.read_clock();
        for (shard, kind) in std::mem::take(&mut self.connections.refused) {
            let recorder = &mut self.recording.recorder;
            let Some(waiting) = self.schedule.queues.pop(shard) else {
                continue;
            };
            for request in self.schedule.queues.requests(shard, waiting.operations) {
                let operation = usize::from(request.operation);
                let first_sent_ns = if waiting.sent_ns == 0 { now_ns } else { waiting.sent_ns };
                if waiting.sent_ns == 0 {
                    recorder.sent(operation, waiting.member);
                }
                let intended_ns = waiting.intended_ns;
                let times = Times { intended_ns, sent_ns: first_sent_ns, completed_ns: now_ns, own_ns: 0 };
                recorder.ended(operation, waiting.member, End::Lost(kind), times);
                self.workload.abandon(&request);
            }
            self.part_ended(waiting.user);
        }
    }

    /// An event of a connection that is not yet greeted: goes on if the socket is connected.
    #[inline(never)]
    pub(super) fn greet(&mut self, number: usize) {
        match self.connections[number].line.is_connected() {
            Ok(false) => self.connections.await_connected(number),
            Ok(true) => {
                self.connections.greet(number, self.workload.wire(), self.clock.now());
                self.be_ready_if_greeted(number);
                self.flush(number);
            }
            Err(error) => self.fail(number, kind(&error), &system_text(&error)),
        }
    }

    /// Where nothing is said first the connection is ready once TLS is.
    pub(super) fn be_ready_if_greeted(&mut self, number: usize) {
        let connection = &self.connections[number];
        if connection.state == State::Greeting(0) && !connection.line.is_handshaking() {
            self.become_ready(number);
        }
    }

    /// The handshake is done: the connection takes operations.
    #[inline(never)]
    pub(super) fn become_ready(&mut self, number: usize) {
        self.connections.opened(number);
        if self.failover.is_some() {
            self.note_ready(number);
        }
        let shard = self.connections.pool.shard_of(number);
        self.deposed[self.connections[number].target] = false;
        self.return_to_replica(shard);
        self.recording.connections.opened += 1;
        self.control.connection_ready();
        // It is ready since the poll before this one at the earliest.
        self.freed_ns = if self.lateness.is_some() { self.connections.floor_ns() } else { 0 };
        self.serve_waiting(self.queue_of(number));
        self.freed_ns = 0;
    }

    /// A connection that is open, or being opened, does not answer any more.
    #[inline(never)]
    pub(super) fn lose(&mut self, number: usize, end: End, why: &str) {
        match self.connections[number].state {
            State::Ready => {}
            State::Connecting | State::Greeting(_) => {
                let kind = if let End::Lost(kind) = end { kind } else { ErrorKind::ConnectionFailed };
                return self.fail(number, kind, why);
            }
            State::Closed | State::BackingOff => return,
        }
        self.recording.connections.lost += 1;
        if self.failover.is_some() {
            self.note_lost(number);
        }
        self.connections.ended(number, self.now_ns);
        if self.failover.is_some() {
            self.ask_sentinel(number);
        }
        self.control.connection_closed();
        self.leave_replica(self.connections.pool.shard_of(number));
        self.end_all_in_flight(number, end);
    }

    /// The server closed a connection in good order: it is dialled again, at once if that was `with_its_reply`.
    pub(super) fn close_in_good_order(&mut self, number: usize, with_its_reply: bool) {
        self.recording.connections.closed_by_server += 1;
        self.connections.ended(number, self.now_ns);
        if with_its_reply {
            self.connections.reopening.push(number);
        }
        self.control.connection_closed();
    }

    /// Dials the connections that were closed with their replies, once their bytes are done with.
    #[inline]
    pub(super) fn reopen(&mut self) {
        if !self.connections.reopening.is_empty() {
            self.reopen_all();
        }
    }

    #[inline(never)]
    fn reopen_all(&mut self) {
        while let Some(number) = self.connections.reopening.pop() {
            if self.connections[number].state == State::BackingOff {
                self.dial(number);
            }
        }
    }

    /// Closes an idle connection that the pool has no use for.
    #[inline(never)]
    pub(super) fn close_surplus(&mut self, number: usize) {
        self.connections.close(number);
        self.recording.connections.closed_idle += 1;
        self.control.connection_closed();
    }

    /// Checks connections that are being opened and requests that are too old, where that is due. Too old is what had
    /// no answer when all answers were handled, however late that was.
    #[inline]
    pub(super) fn check_connections(&mut self) {
        let polled_ns = self.connections.polled.done_ns();
        if polled_ns >= self.connections.check_ns {
            self.check_by(polled_ns);
        }
    }

    #[inline(never)]
    fn check_by(&mut self, polled_ns: u64) {
        self.check_opening(polled_ns);
        if polled_ns >= self.connections.scan_ns {
            self.scan_for_timeouts(polled_ns);
        }
        self.flush_listed();
        self.connections.plan_check(self.now_ns);
    }

    fn check_opening(&mut self, polled_ns: u64) {
        for index in (0..self.connections.opening.len()).rev() {
            let number = self.connections.opening[index];
            let connection = &self.connections[number];
            let is_due = polled_ns >= connection.deadline_ns;
            match connection.state {
                State::Ready | State::Closed => {
                    self.connections.opening.swap_remove(index);
                }
                State::BackingOff if is_due => self.dial(number),
                State::Connecting | State::Greeting(_) if is_due => {
                    let waited_s = self.plan.timeouts.connect_ms / 1000.0;
                    let why = format!("no answer to the connection within {waited_s} s");
                    self.fail(number, ErrorKind::ConnectTimeout, &why);
                }
                State::BackingOff | State::Connecting | State::Greeting(_) => {}
            }
        }
    }

    /// Gives up connections whose oldest request is too old. The next scan is due when the oldest of
    /// the others may be.
    fn scan_for_timeouts(&mut self, polled_ns: u64) {
        let limit_ns = self.connections.request_ns;
        let mut oldest_ns = polled_ns;
        for number in 0..self.connections.len() {
            let connection = &self.connections[number];
            // What is sent together with others may not have been sent yet: it has no time from which it could be late.
            let is_sent = connection.unsent_tasks < connection.in_flight.len();
            let Some(task) = connection.in_flight.front().filter(|_| is_sent && connection.state == State::Ready)
            else {
                continue;
            };
            if task.step_sent_ns + limit_ns <= polled_ns {
                self.lose(number, End::TimedOut, "no reply in time");
                self.flush_listed(); // its user's next request may wait on a connection that is checked after this one
            } else {
                oldest_ns = oldest_ns.min(task.step_sent_ns);
            }
        }
        self.connections.scan_ns = (oldest_ns + limit_ns).max(polled_ns + TIMEOUT_TICK_NS.min(limit_ns));
    }
}

/// The system's error text, without its number.
fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    if kind(error) == ErrorKind::NoLocalPort { format!("no local port is free ({text})") } else { text.to_string() }
}

/// How the operations of a lost connection end, and why it was lost.
pub(super) fn loss(error: &io::Error) -> (End, String) {
    (End::Lost(kind(error)), system_text(error))
}

/// The kind under which operations are counted that an error of the system ended.
fn kind(error: &io::Error) -> ErrorKind {
    use io::ErrorKind::{
        AddrNotAvailable, BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected,
        UnexpectedEof,
    };
    match error.kind() {
        UnexpectedEof => ErrorKind::ConnectionClosed,
        ConnectionRefused => ErrorKind::ConnectionRefused,
        ConnectionReset | BrokenPipe | ConnectionAborted | NotConnected => ErrorKind::ConnectionReset,
        // The system's own: a name without an address has no number.
        AddrNotAvailable if error.raw_os_error().is_some() => ErrorKind::NoLocalPort,
        _ => ErrorKind::ConnectionFailed,
    }
}
