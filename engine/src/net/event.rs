//! What a wait brings: which connections have something to be handled.

use super::poller::{Poller, WAKER};
use super::ring::Ring;
use mio::Events as PolledEvents;
use mio::event::Event as Polled;

/// What the system reports of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The connection's.
    pub number: usize,
    pub readable: bool,
    pub writable: bool,
    /// The other side closed it, or it failed: what is left of it is to be received now.
    pub closed: bool,
}

impl Event {
    fn of(event: &Polled) -> Self {
        Self {
            number: event.token().0,
            readable: event.is_readable(),
            writable: event.is_writable(),
            closed: event.is_read_closed() || event.is_error(),
        }
    }

    /// Something of a connection can be received, or it ended.
    pub fn received(number: usize) -> Self {
        Self { number, readable: true, writable: false, closed: false }
    }

    /// A connection can be written to: at first it is connected.
    pub fn writable(number: usize) -> Self {
        Self { number, readable: false, writable: true, closed: false }
    }
}

/// What one wait brought, in whichever way; its room is kept.
#[derive(Debug)]
pub struct Events {
    polled: PolledEvents,
    completed: Vec<Event>,
}

impl Events {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { polled: PolledEvents::with_capacity(capacity), completed: Vec::with_capacity(capacity) }
    }

    /// Takes those of a poll: see `Poller::wait`.
    #[inline]
    pub fn poll(&mut self, poller: &mut Poller, now_and_until_ns: (u64, u64), expects: bool) {
        #[cfg(test)]
        if poller.is_simulated() {
            poller.spin.looks(now_and_until_ns.0);
            return super::simulated::wait(&mut self.completed, now_and_until_ns.1);
        }
        poller.wait(&mut self.polled, now_and_until_ns, expects);
    }

    /// Takes those of a ring: see `Ring::wait`.
    #[inline]
    pub fn wait_for<'a>(
        &mut self,
        ring: &mut Ring,
        now_and_until_ns: (u64, u64),
        expects: bool,
        sends: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        ring.wait(&mut self.completed, now_and_until_ns, expects, sends);
    }

    /// Those of connections.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        let polled = self.polled.iter().filter(|event| event.token() != WAKER).map(Event::of);
        polled.chain(self.completed.iter().copied())
    }

    /// How many there are, that of the waker included.
    pub fn len(&self) -> usize {
        self.polled.iter().count() + self.completed.len()
    }

    pub fn is_empty(&self) -> bool {
        self.polled.is_empty() && self.completed.is_empty()
    }
}
