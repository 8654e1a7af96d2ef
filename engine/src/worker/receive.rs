//! Bytes that come in: received, decoded, judged; and what the end of a connection means.

use super::Worker;
use super::dialling::loss;
use super::lines::{ONLY_LANE, Waiting};
use crate::connection::{Inbox, Received, State, Task};
use crate::protocol::{Decoded, Ending, ErrorKind, Judgement};
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
        self.reopen();
    }

    /// Receives what there is, up to the connection's end if the other side closed it, and sends at once
    /// what that made possible.
    fn receive(&mut self, number: usize, closed: bool) {
        let streams = self.protocol.is_http();
        let own = !streams && self.connections[number].inbox.has_room();
        let place = if own { &mut self.connections[number].inbox } else { &mut self.inbox };
        let mut inbox = std::mem::take(place);
        if streams && self.connections[number].inbox.has_room() {
            inbox.take_over(&mut self.connections[number].inbox);
        }
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
            match inbox.unread() {
                [] => {}
                // What is left of a reply that is let go of as it comes is little.
                _ if streams => connection.inbox.hold(&mut inbox),
                _ => connection.inbox.take_over(&mut inbox),
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
                Received::Closed => return self.end_connection(number, inbox),
            };
            self.be_ready_if_greeted(number);
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

    /// The server closed the connection.
    fn end_connection(&mut self, number: usize, inbox: &mut Inbox) -> Result<(), Lost> {
        let connection = &self.connections[number];
        let is_asked = connection.state != State::Ready || !connection.in_flight.is_empty();
        match self.protocol.ending(is_asked, &connection.reading, inbox.unread().len()) {
            Ending::Complete => {
                self.read_clock();
                self.take_reply(number, &[])
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
            let connection = &mut self.connections[number];
            // Bytes that come before the request was sent answer nothing.
            let asked = connection.in_flight.front().filter(|_| connection.unsent_tasks < connection.in_flight.len());
            match self.protocol.decode(asked.map(|task| &task.request), &mut connection.reading, unread) {
                Ok(Decoded::Complete { length }) => {
                    self.take_reply(number, &unread[..length])?;
                    inbox.start += length;
                    inbox.need = 0;
                }
                Ok(Decoded::Push { length } | Decoded::Part { length }) => {
                    inbox.start += length;
                    inbox.need = 0;
                }
                Ok(Decoded::Incomplete { at_least }) => inbox.need = at_least.max(unread.len() + 1),
                Err(error) => {
                    self.counts.unrequested += u64::from(error.is_unrequested() && !is_idle_notice(unread));
                    return Err(Lost { end: End::Lost(error.kind()), why: error.to_string() });
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
        // The last tasks may be encoded and not yet sent: what comes before that answers none of them.
        let requested = connection.unsent_tasks < connection.in_flight.len();
        let Some(mut task) = requested.then(|| connection.in_flight.pop_front()).flatten() else {
            self.counts.unrequested += 1;
            let text = self.protocol.error_text(reply);
            let why = text.unwrap_or_else(|| "a reply came that nothing had requested".into());
            return Err(Lost { end: End::Lost(ErrorKind::Protocol), why });
        };
        self.commands[self.protocol.command_index(&task.request)].replied += 1;
        let judgement = self.protocol.judge(&task.request, &mut connection.reading, reply);
        let closes = connection.reading.closes();
        if task.request.read_back {
            self.outstanding -= 1;
            return Ok(());
        }
        let operation = usize::from(task.request.operation);
        if judgement == Judgement::Right && task.request.step + 1 < self.steps[operation] {
            task.request.step += 1;
            if closes {
                self.go_on_elsewhere(number, &task);
                return Ok(());
            }
            self.protocol.encode(&task.request, connection.target, reply, &mut connection.out);
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
        self.endpoints[connection.target].ok += u64::from(end == End::Right);
        self.end(&task, end);
        if closes {
            self.after_last_reply(number);
        } else {
            self.after_reply(number);
        }
        Ok(())
    }

    /// The connection closes within an operation: its next request takes another one.
    fn go_on_elsewhere(&mut self, number: usize, task: &Task) {
        let Task { request, member, intended_ns, sent_ns, .. } = *task;
        let user = self.connections[number].user;
        self.outstanding -= 1;
        self.lines.push_front(ONLY_LANE, request, Waiting { intended_ns, user, operations: 1, member, sent_ns });
        self.close_in_good_order(number, true);
        self.serve_waiting(ONLY_LANE);
    }

    /// The connection closes with the operation: its user goes on with another one.
    fn after_last_reply(&mut self, number: usize) {
        let user = self.connections[number].user;
        self.close_in_good_order(number, true);
        self.serve_waiting(ONLY_LANE);
        self.think(user);
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
}

/// Whether a server says in HTTP why it closes a connection that idles: it answers no request, and is none's reply.
fn is_idle_notice(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HTTP/1.") && bytes.get(8..12) == Some(b" 408")
}

/// Whether an error in reply to naming the connection says that the connection is of no use; a server may
/// as well just not know, or not allow, that command.
fn is_refusal(words: &str) -> bool {
    !(words.starts_with("NOPERM") || words.to_ascii_lowercase().contains("unknown"))
}
