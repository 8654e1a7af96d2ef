//! Connections come and go: dialled, greeted, lost, given up, dialled again.

use super::Worker;
use super::lines::ONLY_LANE;
use crate::clock::SECOND_NS;
use crate::connection::State;
use crate::protocol::ErrorKind;
use crate::record::Times;
use crate::share;
use crate::tally::End;
use mio::{Events, Token};
use std::io;

/// How long a connection waits before it is dialled again, at first and at the most.
const BACKOFF_FIRST_NS: u64 = SECOND_NS / 100;
const BACKOFF_LONGEST_NS: u64 = SECOND_NS;
/// How often connections that are being opened are looked after.
const UNSETTLED_TICK_NS: u64 = SECOND_NS / 200;
/// How long a timeout may go unnoticed.
const TIMEOUT_TICK_NS: u64 = SECOND_NS / 100;
/// Connections dialled at the same time, so that a server's queue of new ones does not overflow.
const DIALLED_AT_ONCE: usize = 64;

impl Worker {
    /// Opens the connections that are to be there before the load starts. The error is why one could
    /// not be opened, in the server's words where it said any.
    pub fn open_pool(&mut self) -> Result<(), String> {
        let planned = self.plan.pool.connections;
        // One at least, so that a server that is not there is found out before the load starts.
        let wanted = self.plan.pool.min_idle.unwrap_or(planned).clamp(1, planned);
        let wanted = share(wanted as usize, self.thread, self.threads);
        let mut events = Events::with_capacity(super::EVENTS_AT_ONCE);
        while self.pool.open() < wanted {
            while self.pool.opening() < DIALLED_AT_ONCE && self.pool.open() + self.pool.opening() < wanted {
                self.dial_another(self.pool.lane_to_dial());
            }
            self.now_ns = self.clock.now();
            self.housekeep();
            self.turn(&mut events, self.housekeep_ns);
            if let Some(refusal) = self.refusal.take() {
                return Err(refusal);
            }
            if self.control.is_stopped() {
                return Err("stopped before the load began".into());
            }
        }
        Ok(())
    }

    fn dial_another(&mut self, lane: usize) {
        if let Some(connection) = self.pool.dial(lane) {
            self.connections[connection].backoff_ns = BACKOFF_FIRST_NS;
            self.unsettled.push(connection);
            self.dial(connection);
        }
    }

    /// Dials one more connection for each that waits on a lane, as far as the pool allows.
    pub(super) fn dial_for_waiting(&mut self, lane: usize) {
        let wanted = self.lines.len_of(lane).min(self.pool.not_open_of(lane));
        while self.pool.opening_of(lane) < wanted {
            self.dial_another(lane);
        }
    }

    fn dial(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        connection.deadline_ns = self.clock.now() + (self.plan.timeouts.connect_ms * 1e6) as u64;
        let target = &self.targets[connection.target];
        self.housekeep_ns = self.housekeep_ns.min(self.now_ns + UNSETTLED_TICK_NS);
        match connection.dial(target, self.waiter.registry(), Token(number)) {
            Ok(()) => {}
            // A Unix socket whose queue is full for now.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.back_off(number),
            Err(error) => self.fail(number, kind(&error), &words(&error)),
        }
    }

    fn back_off(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        connection.close();
        connection.state = State::BackingOff;
        connection.deadline_ns = self.now_ns + connection.backoff_ns;
        connection.backoff_ns = (connection.backoff_ns * 2).min(BACKOFF_LONGEST_NS);
        self.housekeep_ns = self.housekeep_ns.min(self.now_ns + UNSETTLED_TICK_NS);
    }

    /// A connection could not be opened. In HTTP that is the failure of whoever waits for it.
    pub(super) fn fail(&mut self, number: usize, kind: ErrorKind, why: &str) {
        let words = format!("{}: {why}", self.targets[self.connections[number].target].endpoint.label());
        self.counts.failed += 1;
        self.counts.no_local_port += u64::from(kind == ErrorKind::NoLocalPort);
        self.back_off(number);
        self.control.opening_failed(self.now_ns, &words);
        self.refusal.get_or_insert(words);
        if self.protocol.is_http() {
            self.refused.push(kind);
        }
    }

    /// For each connection that could not be opened the operation that has waited longest fails, if one does.
    pub(super) fn fail_refused(&mut self) {
        if self.refused.is_empty() {
            return;
        }
        let now_ns = self.read_clock();
        for kind in std::mem::take(&mut self.refused) {
            let Some(waiting) = self.lines.pop(ONLY_LANE) else {
                return;
            };
            for request in self.lines.requests(ONLY_LANE, waiting.operations) {
                let operation = usize::from(request.operation);
                let first_sent_ns = if waiting.sent_ns == 0 { now_ns } else { waiting.sent_ns };
                if waiting.sent_ns == 0 {
                    self.recorder.sent(operation, waiting.member);
                }
                let times = Times { intended_ns: waiting.intended_ns, sent_ns: first_sent_ns, completed_ns: now_ns };
                self.recorder.ended(operation, waiting.member, End::Lost(kind), times);
                self.protocol.abandon(&request);
            }
            self.think(waiting.user);
        }
    }

    /// An event of a connection that is not yet greeted: goes on if the socket is connected.
    pub(super) fn greet(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        match connection.is_connected() {
            Ok(false) => {}
            Ok(true) => {
                let endpoint = &self.targets[connection.target].endpoint;
                let replies = self.protocol.hello(endpoint, &mut connection.out);
                connection.state = State::Greeting(replies);
                self.be_ready_if_greeted(number);
                self.flush(number);
            }
            Err(error) => self.fail(number, kind(&error), &words(&error)),
        }
    }

    /// Where nothing is said first the connection is ready once TLS is.
    pub(super) fn be_ready_if_greeted(&mut self, number: usize) {
        let connection = &self.connections[number];
        if connection.state == State::Greeting(0) && !connection.is_handshaking() {
            self.become_ready(number);
        }
    }

    /// The handshake is done: the connection takes operations.
    pub(super) fn become_ready(&mut self, number: usize) {
        let connection = &mut self.connections[number];
        connection.state = State::Ready;
        connection.backoff_ns = BACKOFF_FIRST_NS;
        self.counts.opened += 1;
        self.pool.opened(number);
        self.control.connection_ready();
        self.serve_waiting(self.pool.lane_of(number));
    }

    /// A connection that is open, or being opened, does not answer any more.
    pub(super) fn lose(&mut self, number: usize, end: End, why: &str) {
        match self.connections[number].state {
            State::Ready => {}
            State::Connecting | State::Greeting(_) => {
                let kind = if let End::Lost(kind) = end { kind } else { ErrorKind::ConnectionFailed };
                return self.fail(number, kind, why);
            }
            State::Closed | State::BackingOff => return,
        }
        self.counts.lost += 1;
        self.connections[number].backoff_ns = BACKOFF_FIRST_NS;
        self.back_off(number);
        self.unsettled.push(number);
        self.pool.lost(number);
        self.control.connection_closed();
        self.end_all_in_flight(number, end);
    }

    /// The server closed a connection in good order: it is dialled again, at once if that was `with_its_reply`.
    pub(super) fn close_in_good_order(&mut self, number: usize, with_its_reply: bool) {
        self.counts.closed_by_server += 1;
        self.back_off(number);
        if with_its_reply {
            self.reopening.push(number);
        }
        self.unsettled.push(number);
        self.pool.lost(number);
        self.control.connection_closed();
    }

    /// Dials the connections that were closed with their replies, once their bytes are done with.
    pub(super) fn reopen(&mut self) {
        while let Some(number) = self.reopening.pop() {
            if self.connections[number].state == State::BackingOff {
                self.dial(number);
            }
        }
    }

    /// Closes an idle connection that the pool has no use for.
    pub(super) fn close_surplus(&mut self, number: usize) {
        self.connections[number].close();
        self.counts.closed_idle += 1;
        self.control.connection_closed();
    }

    /// Looks after connections that are being opened and requests that are too old, where that is due. Too old is
    /// what had no answer when the answers were looked at, however late that was.
    pub(super) fn housekeep(&mut self) {
        let looked_ns = self.look.done_ns();
        if looked_ns < self.housekeep_ns {
            return;
        }
        self.settle(looked_ns);
        if looked_ns >= self.scan_ns {
            self.scan_for_timeouts(looked_ns);
        }
        self.flush_dirty();
        let tick_ns = if self.unsettled.is_empty() { u64::MAX } else { self.now_ns + UNSETTLED_TICK_NS };
        self.housekeep_ns = self.scan_ns.min(tick_ns);
    }

    fn settle(&mut self, looked_ns: u64) {
        for index in (0..self.unsettled.len()).rev() {
            let number = self.unsettled[index];
            let connection = &self.connections[number];
            let is_due = looked_ns >= connection.deadline_ns;
            match connection.state {
                State::Ready | State::Closed => {
                    self.unsettled.swap_remove(index);
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
    fn scan_for_timeouts(&mut self, looked_ns: u64) {
        let limit_ns = (self.plan.timeouts.request_ms * 1e6) as u64;
        let mut oldest_ns = looked_ns;
        for number in 0..self.connections.len() {
            let connection = &self.connections[number];
            let Some(task) = connection.in_flight.front().filter(|_| connection.state == State::Ready) else {
                continue;
            };
            if task.step_sent_ns + limit_ns <= looked_ns {
                self.lose(number, End::TimedOut, "no reply in time");
                self.flush_dirty(); // what its user asks next may wait on a connection that is looked at after this one
            } else {
                oldest_ns = oldest_ns.min(task.step_sent_ns);
            }
        }
        self.scan_ns = (oldest_ns + limit_ns).max(looked_ns + TIMEOUT_TICK_NS.min(limit_ns));
    }
}

/// What the system says, without its number.
fn words(error: &io::Error) -> String {
    if kind(error) == ErrorKind::NoLocalPort {
        return format!("no local port is free ({})", plain_words(error));
    }
    plain_words(error)
}

fn plain_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// How the operations of a lost connection end, and why it was lost.
pub(super) fn loss(error: &io::Error) -> (End, String) {
    (End::Lost(kind(error)), words(error))
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
