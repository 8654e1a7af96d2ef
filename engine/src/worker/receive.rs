//! Bytes that come in: received, decoded, judged; and what the end of a connection means.

use super::Worker;
use super::connection::{Redirected, State, Task};
use super::opening::loss;
use super::queues::Waiting;
use crate::net::event::Event;
use crate::net::inbox::{Arrived, Inbox};
use crate::net::line::Received;
use crate::record::tally::End;
use crate::wire::example::push_beginning;
use crate::wire::{Decoded, Ending, ErrorKind};

/// Receives from one connection in a row before others get their turn.
const ROUNDS: usize = 16;

/// Why a connection is given up while its bytes are decoded.
pub(super) struct Lost {
    pub end: End,
    pub why: String,
}

impl Worker {
    /// The kernel says that a connection can be read from, or written to again.
    pub(super) fn handle(&mut self, event: Event) {
        let Event { number, readable, writable, closed } = event;
        match self.connections[number].state {
            State::Closed | State::BackingOff => return,
            State::Connecting => self.greet(number),
            State::Greeting(_) | State::Ready => {
                if writable && self.connections[number].line.has_unwritten() {
                    self.flush(number);
                }
            }
        }
        if readable || closed {
            self.receive(number, closed);
        }
        self.flush_listed();
        self.reopen();
    }

    /// Receives what there is, up to the connection's end if the other side closed it, and sends at once
    /// what that made possible.
    fn receive(&mut self, number: usize, closed: bool) {
        match self.connections.lend(number) {
            Some(arrived) => self.consume_in_place(number, arrived),
            None => self.receive_and_consume(number, closed),
        }
        if !self.connections[number].line.is_open() {
            self.connections[number].line.inbox.clear();
        }
    }

    /// What a ring received is consumed where it is; a reply that is not complete yet moves into the connection's own
    /// inbox.
    fn consume_in_place(&mut self, number: usize, mut arrived: Arrived) {
        let inbox = &mut arrived.inbox;
        let consumed = self.take_in(number, inbox.unread().len(), inbox);
        self.lose_if_failed(number, consumed, inbox);
        self.keep_unread(number, inbox);
        self.connections.give_back(arrived);
    }

    /// Receives into the connection's inbox if that has room of its own, else into one that connections share.
    fn receive_and_consume(&mut self, number: usize, closed: bool) {
        let streams = self.wire.streams_replies;
        let own = !streams && self.connections[number].line.inbox.has_room();
        let place = if own { &mut self.connections[number].line.inbox } else { &mut self.connections.shared_inbox };
        let mut inbox = std::mem::take(place);
        if streams && self.connections[number].line.inbox.has_room() {
            inbox.take_over(&mut self.connections[number].line.inbox);
        }
        let received = self.receive_into(number, &mut inbox, closed);
        self.lose_if_failed(number, received, &mut inbox);
        if own {
            self.connections[number].line.inbox = inbox;
        } else {
            self.keep_unread(number, &mut inbox);
            inbox.clear();
            self.connections.shared_inbox = inbox;
        }
    }

    #[inline]
    fn lose_if_failed(&mut self, number: usize, consumed: Result<(), Lost>, inbox: &mut Inbox) {
        if let Err(lost) = consumed {
            inbox.clear();
            self.lose(number, lost.end, &lost.why);
            self.flush_listed();
        }
    }

    /// What was not consumed of another inbox moves into the connection's own.
    #[inline]
    fn keep_unread(&mut self, number: usize, inbox: &mut Inbox) {
        let own = &mut self.connections[number].line.inbox;
        match inbox.unread() {
            [] => {}
            // What is left of a reply that is released as it comes is little.
            _ if self.wire.streams_replies => own.hold(inbox),
            _ => own.take_over(inbox),
        }
    }

    fn receive_into(&mut self, number: usize, inbox: &mut Inbox, closed: bool) -> Result<(), Lost> {
        for _ in 0..ROUNDS {
            let received = self.connections.receive(number, inbox).map_err(|error| {
                let (end, why) = loss(&error);
                Lost { end, why }
            })?;
            let (count, more) = match received {
                Received::Bytes { count, more } => (count, more),
                Received::Closed => return self.end_connection(number, inbox),
            };
            self.take_in(number, count, inbox)?;
            // The end was reported together with the bytes before it, and is not reported again.
            let goes_on = more || (closed && count > 0);
            if !goes_on || !self.connections[number].line.is_open() {
                return Ok(());
            }
        }
        self.connections.unfinished.push_back(number);
        Ok(())
    }

    /// So many bytes were received into an inbox.
    #[inline]
    fn take_in(&mut self, number: usize, count: usize, inbox: &mut Inbox) -> Result<(), Lost> {
        self.be_ready_if_greeted(number);
        if count > 0 {
            self.recording.bytes_received += count as u64;
            self.recording.calls.receives += 1;
            self.read_clock();
            if self.lateness.is_some() {
                self.connections.note_arrival(number, self.now_ns);
            }
            self.consume(number, inbox)?;
            self.flush_listed();
        }
        Ok(())
    }

    /// The server closed the connection.
    #[inline(never)]
    fn end_connection(&mut self, number: usize, inbox: &mut Inbox) -> Result<(), Lost> {
        let connection = &self.connections[number];
        let is_due = connection.state != State::Ready || !connection.in_flight.is_empty();
        match self.workload.wire().ending(is_due, &connection.reading, inbox.unread().len()) {
            Ending::Complete => {
                self.read_clock();
                if self.lateness.is_some() {
                    self.connections.note_arrival(number, self.now_ns);
                    self.notice(number, true);
                }
                self.take_reply(number, &[])?;
                self.recording.settle(self.now_ns);
                Ok(())
            }
            Ending::Idle => {
                inbox.clear();
                self.close_in_good_order(number, false);
                Ok(())
            }
            Ending::Lost(kind, why) => Err(Lost { end: End::Lost(kind), why: why.into() }),
        }
    }

    pub(super) fn continue_unfinished(&mut self) {
        for _ in 0..self.connections.unfinished.len() {
            if let Some(number) = self.connections.unfinished.pop_front() {
                self.handle(Event { number, readable: true, writable: false, closed: true });
            }
        }
    }

    /// Takes all complete replies, and records what they end.
    fn consume(&mut self, number: usize, inbox: &mut Inbox) -> Result<(), Lost> {
        let consumed = self.take_replies(number, inbox);
        self.recording.settle(self.now_ns);
        consumed
    }

    #[inline(always)]
    fn take_replies(&mut self, number: usize, inbox: &mut Inbox) -> Result<(), Lost> {
        while inbox.unread().len() >= inbox.need.max(1) && self.connections[number].line.is_open() {
            let unread = inbox.unread();
            let connection = &mut self.connections[number];
            let (in_flight, unsent) = (&connection.in_flight, connection.unsent_tasks);
            // Bytes that come before the request was sent answer nothing.
            let answered = || in_flight.front().filter(|_| unsent < in_flight.len()).map(|task| &task.request);
            match self.workload.decode(answered, &mut connection.reading, unread) {
                Ok(Decoded::Complete { length }) => {
                    if self.lateness.is_some() {
                        self.notice(number, length == unread.len());
                    }
                    self.take_reply(number, &unread[..length])?;
                    inbox.consume(length);
                }
                Ok(Decoded::Push { length } | Decoded::Part { length }) => {
                    inbox.consume(length);
                }
                Ok(Decoded::Incomplete { at_least }) => inbox.need = at_least.max(unread.len() + 1),
                Err(error) => {
                    self.recording.connections.unrequested += u64::from(error.is_unrequested(unread));
                    if let Some(task) = self.connections[number].in_flight.front() {
                        let example = |out: &mut Vec<u8>| push_beginning(unread, out);
                        self.recording.examples.note(task.request.operation, error.kind(), task.member, example);
                    }
                    return Err(Lost { end: End::Lost(error.kind()), why: error.to_string() });
                }
            }
        }
        Ok(())
    }

    /// One reply: of the handshake, or to the oldest request in flight.
    #[inline(always)]
    fn take_reply(&mut self, number: usize, reply: &[u8]) -> Result<(), Lost> {
        if let State::Greeting(replies) = self.connections[number].state {
            return self.take_greeting(number, replies, reply);
        }
        if self.watches_replies && self.take_watched(number, reply)? {
            return Ok(());
        }
        let connection = &mut self.connections[number];
        let requested = connection.is_requested();
        let Some(task) = connection.in_flight.front_mut().filter(|_| requested) else {
            return Err(self.unrequested(reply));
        };
        let name = self.workload.name_index(&task.request);
        let verdict = self.workload.judge(&task.request, &mut connection.reading, reply);
        let closes = self.wire.reconnects_after_reply && connection.reading.closes();
        if verdict.is_ok() && self.workload.go_on(&mut task.request) {
            self.recording.commands[name].replied += 1;
            self.go_on(number, reply, closes);
            return Ok(());
        }
        let is_read_back = task.request.read_back;
        let own_ns = self.recording.own_ns(task);
        match verdict {
            Ok(()) if !is_read_back => self.recording.succeeded(task, name, connection.target, self.now_ns),
            _ => {
                self.recording.commands[name].replied += 1;
                if let Some(kind) = verdict.err().filter(|_| !is_read_back) {
                    self.recording.ended(task, End::Wrong(kind), self.now_ns);
                    let wire = self.workload.wire();
                    let example = |out: &mut Vec<u8>| wire.write_example(reply, out);
                    self.recording.examples.note(task.request.operation, kind, task.member, example);
                }
            }
        }
        connection.in_flight.pop_front();
        let is_idle = connection.in_flight.is_empty();
        self.connections.in_flight -= 1;
        if is_read_back {
            return Ok(());
        }
        if closes {
            self.after_last_reply(number);
        } else if self.schedule.is_open() {
            self.freed_ns = self.now_ns.saturating_sub(own_ns);
            self.after_reply(number);
            self.freed_ns = 0;
        } else if is_idle {
            self.after_reply(number);
        }
        Ok(())
    }

    /// A reply is complete, with all that was received or with more after it: how long it lay.
    fn notice(&mut self, number: usize, is_last: bool) {
        let arrived_ns = self.connections[number].line.arrived_ns(is_last);
        self.recording.notice_ns = self.now_ns.saturating_sub(arrived_ns);
        self.recording.recorder.noticed(self.recording.recorder.phase(), self.recording.notice_ns);
    }

    /// How much of an operation's time up to the reply that is taken is not the thread's own.
    pub(super) fn excused_ns(&self, task: &Task) -> u64 {
        self.now_ns.saturating_sub(task.intended_ns).saturating_sub(self.recording.own_ns(task))
    }

    /// What a reply says of the server is noted. Whether that is all there is to it.
    fn take_watched(&mut self, number: usize, reply: &[u8]) -> Result<bool, Lost> {
        if !self.connections[number].is_requested() {
            return Ok(false);
        }
        if self.failover.is_some() {
            self.note_reply(number, reply)?;
        } else if self.take_from_the_cluster(number, reply)? {
            return Ok(true);
        }
        self.note_stale(number, reply);
        Ok(false)
    }

    /// The oldest operation of a connection is at its next request; `reply` is that to the one before.
    #[inline(never)]
    fn go_on(&mut self, number: usize, reply: &[u8], closes: bool) {
        let Some(mut task) = self.connections[number].in_flight.pop_front() else { return };
        task.redirected = Redirected::default();
        task.late_ns = self.excused_ns(&task);
        if closes {
            return self.go_on_elsewhere(number, &task);
        }
        let connection = &mut self.connections[number];
        self.workload.encode(&task.request, connection.target, reply, &mut connection.line.out);
        self.recording.commands[self.workload.name_index(&task.request)].sent += 1;
        connection.in_flight.push_back(task);
        connection.unsent_tasks += 1;
        self.connections.list_unflushed(number);
    }

    #[cold]
    fn unrequested(&mut self, reply: &[u8]) -> Lost {
        self.recording.connections.unrequested += 1;
        let text = self.workload.wire().error_text(reply);
        let why = text.unwrap_or_else(|| "a reply came that answers no request".into());
        Lost { end: End::Lost(ErrorKind::Protocol), why }
    }

    /// The connection closes within an operation: its next request takes another one.
    #[inline(never)]
    fn go_on_elsewhere(&mut self, number: usize, task: &Task) {
        let Task { request, member, intended_ns, sent_ns, redirected, .. } = *task;
        let user = self.connections[number].user;
        let shard = self.connections.pool.shard_of(number);
        self.connections.in_flight -= 1;
        let excused_ns = self.excused_ns(task);
        let waiting = Waiting { sent_ns, redirected, excused_ns, ..Waiting::new(intended_ns, user, 1, member) };
        self.schedule.queues.push_front(shard, request, waiting);
        self.close_in_good_order(number, true);
        self.serve_waiting(shard);
    }

    /// The connection closes with the operation: its user goes on with another one.
    fn after_last_reply(&mut self, number: usize) {
        let user = self.connections[number].user;
        self.close_in_good_order(number, true);
        self.serve_waiting(self.connections.pool.shard_of(number));
        self.part_ended(user);
    }

    #[inline(never)]
    fn take_greeting(&mut self, number: usize, replies: usize, reply: &[u8]) -> Result<(), Lost> {
        if let Some(why) = self.workload.wire().refusal(reply, replies == 1) {
            return Err(Lost { end: End::Lost(ErrorKind::ConnectionClosed), why });
        }
        if replies > 1 {
            self.connections[number].state = State::Greeting(replies - 1);
        } else if self.asks_sentinel(number) {
            self.take_primary(number, reply)?;
        } else {
            self.become_ready(number);
        }
        Ok(())
    }
}
