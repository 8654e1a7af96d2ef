//! One connection that receives: connected, greeted, subscribed; then it takes what comes.

use super::sequences::Sequences;
use super::tally::Tally;
use crate::content::send_buffer::Sink;
use crate::machine::clock::Clock;
use crate::net::line::{Line, Received, Target};
use crate::net::waiter::Waiter;
use crate::wire::{Receiving, Taken};
use std::io;
use std::ops::Range;

/// How often a line receives before others have their turn.
const ROUNDS: usize = 16;
/// Bytes that the other side may leave unread, at most.
const UNREAD_MAX: usize = 4 * 1024 * 1024;

#[derive(Debug)]
pub struct Receiver {
    line: Line,
    receiving: Receiving,
    /// The place of the numbers that came before among those of its thread.
    pub sequences: usize,
    is_connected: bool,
    /// Whether it is listed to be taken from.
    pub is_listed: bool,
    /// Whether the other side closed it.
    pub is_closed: bool,
}

impl Receiver {
    pub fn new(receiving: Receiving, sequences: usize) -> Self {
        Self {
            line: Line::new(false, false),
            receiving,
            sequences,
            is_connected: false,
            is_listed: false,
            is_closed: false,
        }
    }

    /// Begins to connect, as number so much of those that a thread waits for.
    pub fn dial(&mut self, target: &Target, waiter: &mut Waiter, number: usize) -> Result<(), String> {
        self.line.dial(target, waiter, number).map_err(text)
    }

    pub fn is_open(&self) -> bool {
        self.line.is_open()
    }

    /// Whether it gets what is sent from now on.
    pub fn is_ready(&self) -> bool {
        self.is_connected && self.receiving.is_ready()
    }

    /// Whether nothing that it sent is still to be answered, but the wait for more.
    pub fn is_settled(&self) -> bool {
        !self.is_open() || (self.receiving.is_settled() && !self.line.has_unwritten())
    }

    pub fn close(&mut self) {
        self.line.close();
    }

    /// Takes what there is, to its end if the other side closed it; whether there may be more. The error says why it is of
    /// no more use.
    pub fn take(
        &mut self,
        target: &Target,
        clock: &Clock,
        measure_ns: &Range<u64>,
        tally: &mut Tally,
        sequences: &mut Sequences,
    ) -> Result<bool, String> {
        if !self.is_connected {
            self.is_connected = self.line.is_connected().map_err(text)?;
            if !self.is_connected {
                return Ok(false);
            }
            self.receiving.begin(&target.endpoint, self.line.out.bytes());
        }
        self.flush(tally)?;
        for _ in 0..ROUNDS {
            let mut inbox = std::mem::take(&mut self.line.inbox);
            let received = self.line.receive(&mut inbox);
            self.line.inbox = inbox;
            match received.map_err(text)? {
                Received::Closed => return Err("the server closed the connection".into()),
                Received::Bytes { count, more } => {
                    tally.bytes_received += count as u64;
                    tally.calls.receives += u64::from(count > 0);
                    self.take_messages(clock.now(), measure_ns, tally, sequences)?;
                    self.flush(tally)?;
                    let goes_on = more || (self.is_closed && count > 0);
                    if !goes_on {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn take_messages(
        &mut self,
        now_ns: u64,
        measure_ns: &Range<u64>,
        tally: &mut Tally,
        sequences: &mut Sequences,
    ) -> Result<(), String> {
        let Line { inbox, out, .. } = &mut self.line;
        let out = out.bytes();
        while inbox.unread().len() >= inbox.need.max(1) {
            let before = out.len();
            let message = |text: &[u8]| tally.take(text, now_ns, measure_ns, sequences);
            match self.receiving.take(inbox.unread(), out, message)? {
                Taken::Bytes(length) => {
                    inbox.consume(length);
                    tally.calls.replies += 1;
                }
                Taken::More { at_least } => inbox.need = at_least,
            }
            tally.calls.requests += u64::from(out.len() > before);
        }
        Ok(())
    }

    fn flush(&mut self, tally: &mut Tally) -> Result<(), String> {
        if self.line.has_unwritten() || self.line.is_handshaking() {
            let sent = self.line.flush().map_err(text)?;
            tally.bytes_sent += sent as u64;
            tally.calls.sends += u64::from(sent > 0);
        }
        if self.line.out.unwritten().len() > UNREAD_MAX {
            return Err("the server does not read what it is sent".into());
        }
        Ok(())
    }
}

fn text(error: io::Error) -> String {
    error.to_string()
}
