//! Polling sockets (epoll, kqueue), and waiting for them until an instant, to the nanosecond where the system can.

use super::spin::{Spin, Waits, wait_awake};
use crate::machine::clock::Clock;
use mio::{Events, Poll, Registry, Token, Waker};
use std::io;
use std::time::Duration;

/// The token of the waker; connections have their numbers as tokens.
pub const WAKER: Token = Token(usize::MAX);

/// `epoll_wait` counts in milliseconds: what is left of a wait below this is waited for by other means.
#[cfg(target_os = "linux")]
const FINE_NS: u64 = 2_000_000;

#[derive(Debug)]
pub struct Poller {
    poll: Poll,
    clock: Clock,
    pub spin: Spin,
}

impl Poller {
    /// Up to `spin_ns` at a time are spent polling again and again instead of asleep: see `Spin`.
    pub fn new(clock: Clock, spin_ns: u64) -> io::Result<Self> {
        Ok(Self { poll: Poll::new()?, clock, spin: Spin::new(spin_ns) })
    }

    /// Instants are those of another clock from now on.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
        self.spin.forget_instants();
    }

    #[cfg(test)]
    pub fn is_simulated(&self) -> bool {
        self.clock.is_simulated()
    }

    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    pub fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), WAKER)
    }

    /// Waits for events, at the longest until `until_ns`; `now_ns` is a recent reading of the clock, and `expects` whether
    /// an event is likely to come soon. It may return earlier without an event.
    pub fn wait(&mut self, events: &mut Events, (now_ns, until_ns): (u64, u64), expects: bool) {
        self.spin.looks(now_ns);
        let left_ns = until_ns.saturating_sub(now_ns);
        if left_ns == 0 {
            self.poll(events, Some(Duration::ZERO));
        } else if self.spin.is_allowed(now_ns) {
            events.clear();
            wait_awake(&mut Polling { poller: self, events }, (now_ns, until_ns), expects);
        } else {
            self.wait_asleep(events, left_ns);
        }
    }

    /// Sleeps for so long at most, or until there are events.
    #[cfg(target_os = "linux")]
    fn wait_asleep(&mut self, events: &mut Events, left_ns: u64) {
        if left_ns >= FINE_NS {
            return self.poll(events, Some(Duration::from_millis(left_ns / 1_000_000 - 1)));
        }
        events.clear();
        if self.sleep(left_ns) {
            self.poll(events, Some(Duration::ZERO));
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn wait_asleep(&mut self, events: &mut Events, left_ns: u64) {
        self.poll(events, Some(Duration::from_nanos(left_ns)));
    }

    /// Sleeps for so long or until there is an event; true if there is one.
    #[cfg(target_os = "linux")]
    fn sleep(&self, wait_ns: u64) -> bool {
        use std::os::fd::AsRawFd;
        let mut poll = libc::pollfd { fd: self.poll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let wait = libc::timespec { tv_sec: 0, tv_nsec: wait_ns as libc::c_long };
        // SAFETY: one valid pollfd, a valid timespec below a second, no signal mask.
        unsafe { libc::ppoll(&mut poll, 1, &wait, std::ptr::null()) > 0 }
    }

    fn poll(&mut self, events: &mut Events, timeout: Option<Duration>) {
        if self.poll.poll(events, timeout).is_err() {
            // Interrupted by a signal: as good as no event.
            events.clear();
        }
    }
}

/// A wait of a poller that stays awake.
struct Polling<'a> {
    poller: &'a mut Poller,
    events: &'a mut Events,
}

impl Waits for Polling<'_> {
    fn spin(&mut self) -> &mut Spin {
        &mut self.poller.spin
    }

    fn now_ns(&self) -> u64 {
        self.poller.clock.now()
    }

    fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    fn has_come(&self) -> bool {
        self.has_events()
    }

    fn look(&mut self) {
        self.poller.poll(self.events, Some(Duration::ZERO));
    }

    fn sleep(&mut self, sleep_ns: u64) {
        self.poller.wait_asleep(self.events, sleep_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_about_as_long_as_required_and_a_waker_ends_it() {
        let clock = Clock::new();
        for spin_ns in [0, 50_000] {
            let mut poller = Poller::new(clock, spin_ns).unwrap();
            let mut events = Events::with_capacity(4);
            let until_ns = clock.now() + 3_500_000;
            while clock.now() < until_ns {
                poller.wait(&mut events, (clock.now(), until_ns), false);
                assert!(events.is_empty());
            }
            let waker = poller.waker().unwrap();
            waker.wake().unwrap();
            poller.wait(&mut events, (clock.now(), clock.now() + 60_000_000_000), true);
            assert_eq!(events.iter().map(|event| event.token()).collect::<Vec<_>>(), [WAKER]);
        }
    }
}
