//! The way of an operation: intended, brought to a connection, sent, answered, judged, ended.

use super::dialling::loss;
use super::{Source, Waiting, Worker};
use crate::connection::{Inbox, Received, State, Task};
use crate::outcome::Phase;
use crate::pool::Released;
use crate::protocol::{Decoded, ErrorKind, Judgement};
use crate::record::Times;
use crate::tally::End;

/// Receives from one connection in a row before others get their turn.
const ROUNDS: usize = 16;

/// What the kernel says about a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct News {
    pub readable: bool,
    pub writable: bool,
    /// The other side closed it, or it failed.
    pub closed: bool,
}

/// Why a connection is given up while its bytes are looked at.
struct Lost {
    end: End,
    why: String,
}

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
        if self.waiting.len() >= self.backlog_max {
            self.recorder.dropped(operation, member);
            self.protocol.abandon(&request);
            return;
        }
        self.queued.push_back(request);
        self.waiting.push_back(Waiting { intended_ns, user: 0, operations: 1, member });
        self.serve_waiting();
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
            self.queued.push_back(request);
            drawn += 1;
        }
        if drawn == 0 {
            users.end();
            return;
        }
        self.recorder.picked_up(member, self.now_ns.saturating_sub(intended_ns));
        self.waiting.push_back(Waiting { intended_ns, user, operations: drawn as u32, member });
        self.serve_waiting();
    }

    /// Gives connections to those that wait, first come first served.
    pub(super) fn serve_waiting(&mut self) {
        while let Some(&waiting) = self.waiting.front() {
            let Some(connection) = self.pool.acquire() else {
                self.dial_for_waiting();
                return;
            };
            self.waiting.pop_front();
            self.dispatch(connection, waiting);
        }
    }

    /// Encodes operations for the connection that they got; `flush_dirty` sends them.
    fn dispatch(&mut self, number: usize, waiting: Waiting) {
        let Waiting { intended_ns, user, operations, member } = waiting;
        self.recorder.acquired(member, self.now_ns.saturating_sub(intended_ns), u64::from(operations));
        let connection = &mut self.connections[number];
        connection.user = user;
        for request in self.queued.drain(..operations as usize) {
            self.protocol.encode(&request, &[], &mut connection.out);
            self.commands[self.protocol.command_index(&request)].sent += 1;
            self.recorder.sent(usize::from(request.operation), member);
            connection.in_flight.push_back(Task { request, member, intended_ns, sent_ns: 0, step_sent_ns: 0 });
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

    /// The kernel says that a connection can be read from, or written to again.
    pub(super) fn handle(&mut self, number: usize, news: News) {
        match self.connections[number].state {
            State::Closed | State::BackingOff => return,
            State::Connecting => self.greet(number),
            State::Greeting(_) | State::Ready => {
                if news.writable && self.connections[number].has_unwritten() {
                    self.flush(number);
                }
            }
        }
        if news.readable || news.closed {
            self.receive(number, news.closed);
        }
        self.flush_dirty();
    }

    /// Receives what there is, up to the connection's end if the other side closed it, and sends at once
    /// what that made possible.
    fn receive(&mut self, number: usize, closed: bool) {
        let own = self.connections[number].inbox.has_room();
        let place = if own { &mut self.connections[number].inbox } else { &mut self.inbox };
        let mut inbox = std::mem::take(place);
        let received = self.receive_into(number, &mut inbox, closed);
        if let Err(lost) = received {
            inbox.clear();
            self.lose(number, lost.end, &lost.why);
            self.flush_dirty();
        }
        let connection = &mut self.connections[number];
        if own {
            connection.inbox = inbox;
        } else {
            if !inbox.unread().is_empty() {
                connection.inbox.take_over(&mut inbox);
            }
            self.inbox = inbox;
            self.inbox.clear();
        }
        if !self.connections[number].is_open() {
            self.connections[number].inbox.clear();
        }
    }

    fn receive_into(&mut self, number: usize, inbox: &mut Inbox, closed: bool) -> Result<(), Lost> {
        for _ in 0..ROUNDS {
            let received = self.connections[number].receive(inbox).map_err(|error| {
                let (end, why) = loss(&error);
                Lost { end, why }
            })?;
            let (count, more) = match received {
                Received::Bytes { count, more } => (count, more),
                Received::Closed => {
                    let why = "the server closed the connection".into();
                    return Err(Lost { end: End::Lost(ErrorKind::ConnectionClosed), why });
                }
            };
            if count > 0 {
                self.bytes_received += count as u64;
                self.read_clock();
                self.consume(number, inbox)?;
                self.flush_dirty();
            }
            // The end was told of together with the bytes before it, and is not told of again.
            let goes_on = more || (closed && count > 0);
            if !goes_on || !self.connections[number].is_open() {
                return Ok(());
            }
        }
        self.unfinished.push_back(number);
        Ok(())
    }

    pub(super) fn continue_unfinished(&mut self) {
        for _ in 0..self.unfinished.len() {
            if let Some(number) = self.unfinished.pop_front() {
                self.handle(number, News { readable: true, writable: false, closed: true });
            }
        }
    }

    /// Takes all complete replies.
    fn consume(&mut self, number: usize, inbox: &mut Inbox) -> Result<(), Lost> {
        while inbox.unread().len() >= inbox.need.max(1) && self.connections[number].is_open() {
            let unread = inbox.unread();
            match self.protocol.decode(unread) {
                Ok(Decoded::Complete { length }) => {
                    self.take_reply(number, &unread[..length])?;
                    inbox.start += length;
                    inbox.need = 0;
                }
                Ok(Decoded::Push { length }) => {
                    inbox.start += length;
                    inbox.need = 0;
                }
                Ok(Decoded::Incomplete { at_least }) => inbox.need = at_least.max(unread.len() + 1),
                Err(error) => {
                    return Err(Lost { end: End::Lost(ErrorKind::Protocol), why: error.to_string() });
                }
            }
        }
        Ok(())
    }

    /// One reply: of the handshake, or to the oldest request in flight.
    fn take_reply(&mut self, number: usize, reply: &[u8]) -> Result<(), Lost> {
        if let State::Greeting(replies) = self.connections[number].state {
            return self.take_greeting(number, replies, reply);
        }
        let connection = &mut self.connections[number];
        let Some(mut task) = connection.in_flight.pop_front() else {
            let words = self.protocol.error_text(reply);
            let why = words.unwrap_or_else(|| "a reply came that nothing was asked for".into());
            return Err(Lost { end: End::Lost(ErrorKind::Protocol), why });
        };
        self.commands[self.protocol.command_index(&task.request)].replied += 1;
        let judgement = self.protocol.judge(&task.request, reply);
        if task.request.read_back {
            self.outstanding -= 1;
            return Ok(());
        }
        let operation = usize::from(task.request.operation);
        if judgement == Judgement::Right && task.request.step + 1 < self.steps[operation] {
            task.request.step += 1;
            self.protocol.encode(&task.request, reply, &mut connection.out);
            self.commands[self.protocol.command_index(&task.request)].sent += 1;
            connection.in_flight.push_back(task);
            connection.unsent_tasks += 1;
            self.mark_dirty(number);
            return Ok(());
        }
        let end = match judgement {
            Judgement::Right => End::Right,
            Judgement::Wrong(kind) => End::Wrong(kind),
        };
        self.end(&task, end);
        self.after_reply(number);
        Ok(())
    }

    fn take_greeting(&mut self, number: usize, replies: usize, reply: &[u8]) -> Result<(), Lost> {
        let refused = self.protocol.error_text(reply).filter(|words| replies > 1 || is_refusal(words));
        if let Some(why) = refused {
            return Err(Lost { end: End::Lost(ErrorKind::ConnectionClosed), why });
        }
        if replies > 1 {
            self.connections[number].state = State::Greeting(replies - 1);
        } else {
            self.become_ready(number);
        }
        Ok(())
    }

    #[inline]
    fn end(&mut self, task: &Task, end: End) {
        self.outstanding -= 1;
        let times = Times { intended_ns: task.intended_ns, sent_ns: task.sent_ns, completed_ns: self.now_ns };
        self.recorder.ended(usize::from(task.request.operation), task.member, end, times);
    }

    /// An operation ended with its reply: the connection may be free, and its user ready.
    fn after_reply(&mut self, number: usize) {
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
        if self.pool.release(number, !self.waiting.is_empty()) == Released::Surplus {
            self.close_surplus(number);
        }
        self.serve_waiting();
    }

    fn think(&mut self, user: u32) {
        let origin_ns = self.recorder.timeline.origin_ns();
        if let Source::Closed(users) = &mut self.source
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

/// Whether an error in reply to naming the connection says that the connection is of no use; a server may
/// as well just not know, or not allow, that command.
fn is_refusal(words: &str) -> bool {
    !(words.starts_with("NOPERM") || words.to_ascii_lowercase().contains("unknown"))
}
