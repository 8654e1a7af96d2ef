//! One slot of the pool: a line to a server, the operations in flight on it, and what its wire remembers.

use crate::load::Request;
use crate::net::line::{Line, Target};
use crate::net::waiter::Waiter;
use crate::record::outcome::Phase;
use crate::wire::Reading;
use std::collections::VecDeque;
use std::io;

/// An operation in flight.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    pub request: Request,
    pub member: Phase,
    pub intended_ns: u64,
    /// When its first command was sent; 0 until then.
    pub sent_ns: u64,
    /// When its current command was sent.
    pub step_sent_ns: u64,
    /// How the nodes of a cluster sent it on.
    pub redirected: Redirected,
    /// Where that is measured, once it is sent: how much of its time so far is the thread's own, at most. Before: how much
    /// of it is not, having gone by for a connection or an earlier reply.
    pub late_ns: u64,
}

impl Task {
    /// One that was not sent yet.
    #[inline]
    pub fn new(request: Request, member: Phase, intended_ns: u64) -> Self {
        Self {
            request,
            member,
            intended_ns,
            sent_ns: 0,
            step_sent_ns: 0,
            redirected: Redirected::default(),
            late_ns: 0,
        }
    }
}

/// How often the nodes of a cluster sent an operation on to another one, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redirected {
    pub times: u8,
    /// ASKING goes before it, and the reply to that comes first.
    pub asks: bool,
    /// The endpoint that was named last.
    pub to: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Closed,
    /// The socket is being connected.
    Connecting,
    /// The handshake's replies that are still to come; with none of them, TLS's own handshake.
    Greeting(usize),
    Ready,
    /// Waits before it is dialled again.
    BackingOff,
}

/// It keeps its buffers when it is closed and dialled again.
#[derive(Debug)]
pub struct Connection {
    pub line: Line,
    pub target: usize,
    pub state: State,
    /// Until when it must be connected and greeted, or has to back off.
    pub deadline_ns: u64,
    pub backoff_ns: u64,
    pub user: u32,
    pub in_flight: VecDeque<Task>,
    /// How many of the last tasks in `in_flight` are encoded but not yet sent.
    pub unsent_tasks: usize,
    /// Whether it is listed to be flushed.
    pub is_listed: bool,
    /// Whether it is listed to be sent by a ring.
    pub is_offered: bool,
    pub reading: Reading,
    /// Opened since the primary was lost, and without a reply yet.
    pub is_first_since: bool,
}

impl Connection {
    /// One that is closed, for up to `depth` operations at once.
    pub fn new(target: usize, depth: usize, line: Line) -> Self {
        Self {
            line,
            target,
            state: State::Closed,
            deadline_ns: 0,
            backoff_ns: 0,
            user: 0,
            in_flight: VecDeque::with_capacity(depth),
            unsent_tasks: 0,
            is_listed: false,
            is_offered: false,
            reading: Reading::default(),
            is_first_since: false,
        }
    }

    /// Begins to connect, as number so much of those that a thread waits for.
    pub fn dial(&mut self, target: &Target, waiter: &mut Waiter, number: usize) -> io::Result<()> {
        self.line.dial(target, waiter, number)?;
        self.state = State::Connecting;
        Ok(())
    }

    /// Closes the socket and forgets all bytes; the caller accounts for what was in flight.
    pub fn close(&mut self) {
        self.line.close();
        self.state = State::Closed;
        self.reading = Reading::default();
        self.unsent_tasks = 0;
    }

    /// Whether a request was sent that is not answered. The last tasks may be encoded and not yet sent: what comes before
    /// that answers none of them.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.unsent_tasks < self.in_flight.len()
    }

    /// Notes that everything encoded is sent at `now_ns`.
    #[inline]
    pub fn stamp(&mut self, now_ns: u64) {
        let from = self.in_flight.len().saturating_sub(self.unsent_tasks);
        for task in self.in_flight.range_mut(from..) {
            task.step_sent_ns = now_ns;
            if task.sent_ns == 0 {
                task.sent_ns = now_ns;
            }
        }
        self.unsent_tasks = 0;
    }
}
