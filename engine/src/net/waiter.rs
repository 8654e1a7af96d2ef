//! Waiting for sockets until an instant: by a poll of the system, or by a ring that sends and receives as well.

use super::back_end::{BackEndRecord, Choice};
use super::poller::Poller;
use super::ring::{self, Ring};
use super::spin::Spin;
use crate::machine::clock::Clock;
use mio::event::Source;
use mio::{Interest, Token};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;

#[derive(Debug)]
pub enum Waiter {
    /// Connections send and receive by themselves.
    Poll(Poller),
    Ring(Box<Ring>),
}

/// Ends the wait of a thread, from another one.
#[derive(Debug)]
pub enum Waker {
    Poll(mio::Waker),
    Ring(Arc<File>),
}

impl Waker {
    pub fn wake(&self) -> io::Result<()> {
        match self {
            Self::Poll(waker) => waker.wake(),
            Self::Ring(eventfd) => (&**eventfd).write_all(&1u64.to_ne_bytes()),
        }
    }
}

impl Waiter {
    /// Of the calling thread, for so many connections; and what was chosen. Up to `spin_ns` at a time are
    /// spent polling again and again instead of asleep.
    pub fn new(clock: Clock, spin_ns: u64, choice: Choice, connections: usize) -> io::Result<(Self, BackEndRecord)> {
        let mut why_not = choice.why_not;
        #[cfg(test)]
        if clock.is_simulated() {
            why_not = Some(super::back_end::WhyNot::NotRequested);
        }
        if why_not.is_none() {
            match Ring::new(connections, clock, spin_ns) {
                Ok(ring) => return Ok((Self::Ring(Box::new(ring)), BackEndRecord::of(None))),
                Err(error) if choice.is_required => {
                    return Err(io::Error::new(error.kind(), format!("io_uring: {error}")));
                }
                Err(error) => why_not = Some(ring::reason(&error)),
            }
        }
        Ok((Self::Poll(Poller::new(clock, spin_ns)?), BackEndRecord::of(why_not)))
    }

    /// Instants are those of another clock from now on.
    pub fn set_clock(&mut self, clock: Clock) {
        match self {
            Self::Poll(poller) => poller.set_clock(clock),
            Self::Ring(ring) => ring.set_clock(clock),
        }
    }

    #[cfg(test)]
    pub fn is_simulated(&self) -> bool {
        matches!(self, Self::Poll(poller) if poller.is_simulated())
    }

    /// How it stays awake.
    #[inline]
    pub fn spin(&mut self) -> &mut Spin {
        match self {
            Self::Poll(poller) => &mut poller.spin,
            Self::Ring(ring) => ring.spin(),
        }
    }

    #[inline]
    pub fn ring(&mut self) -> Option<&mut Ring> {
        match self {
            Self::Poll(_) => None,
            Self::Ring(ring) => Some(ring),
        }
    }

    /// Takes a socket that is being connected.
    pub fn add(&mut self, socket: &mut (impl Source + AsRawFd), number: usize) -> io::Result<()> {
        match self {
            Self::Poll(poller) => {
                poller.registry().register(socket, Token(number), Interest::READABLE | Interest::WRITABLE)
            }
            Self::Ring(ring) => ring.open(number, socket.as_raw_fd()),
        }
    }

    pub fn waker(&self) -> io::Result<Waker> {
        match self {
            Self::Poll(poller) => poller.waker().map(Waker::Poll),
            Self::Ring(ring) => Ok(Waker::Ring(ring.waker())),
        }
    }
}
