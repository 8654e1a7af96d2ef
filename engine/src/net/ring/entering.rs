//! The system call: it submits what is queued, and waits for what comes.

use super::Ring;
use super::completion::Kind;
use crate::machine::clock::{SECOND_NS, system_ns};
use crate::net::event::Event;
use crate::net::spin::{Spin, Waits, wait_awake};
use io_uring::squeue::Flags;
use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{Parameters, opcode};
use std::io;

// Flags of the call.
const GET_EVENTS: u32 = 1;
const WITH_ARGUMENT: u32 = 1 << 3;
/// The time is one of the system's clock instead of a length.
const UNTIL: u32 = 1 << 5;
/// It is not counted as waiting for a disk.
const NOT_FOR_A_DISK: u32 = 1 << 7;
/// Events that are taken at once without a wait.
const TAKEN_AT_ONCE: usize = 1024;
/// Below this a wait that is a length of time begins when all is sent.
const FINE_NS: u64 = 2_000_000;
/// The longest wait: far from what overflows.
const LONGEST_NS: u64 = 3600 * SECOND_NS;
/// Between two looks, some 100 ns: what else the CPU's core does has it meanwhile.
const PAUSES: usize = 4;
/// How often a submission is tried that the system has no memory for.
const ATTEMPTS: usize = 1000;

/// How long a call waits for the first completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// It only submits.
    No,
    /// It takes what has come in.
    Poll,
    /// At the longest for so many nanoseconds, counted from when the call is made.
    For(u64),
}

impl Ring {
    /// Sends bytes of connections as far as the sockets take them now, and waits until an instant at the latest;
    /// `now_ns` is a recent reading of the clock, and `expects` whether something is likely to come soon. What came takes
    /// the place of what `events` held.
    #[inline]
    pub fn wait<'a>(
        &mut self,
        events: &mut Vec<Event>,
        (now_ns, until_ns): (u64, u64),
        expects: bool,
        sends: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        self.spin.looks(now_ns);
        let left_ns = until_ns.saturating_sub(now_ns);
        self.was_woken = false;
        if left_ns > 0 && self.spin.is_allowed(now_ns) {
            self.enter(sends, Wait::Poll);
            wait_awake(self, (now_ns, until_ns), expects);
        } else if left_ns > 0 && left_ns < FINE_NS && !self.waits_until {
            self.enter(sends, Wait::No);
            let left_ns = until_ns.saturating_sub(self.clock.now());
            self.enter(std::iter::empty(), wait_for(left_ns));
        } else {
            self.enter(sends, wait_for(left_ns));
        }
        if left_ns == 0 {
            // The kernel may go on saying that it has more although a call brings nothing, as where it has no buffer left.
            while self.ready.len() < TAKEN_AT_ONCE && self.has_more() && self.submit_and(Wait::Poll) > 0 {}
        }
        self.left_some = !self.unarmed.is_empty();
        self.take_ready(events);
    }

    /// What came, in place of what `events` held.
    pub(super) fn take_ready(&mut self, events: &mut Vec<Event>) {
        events.clear();
        std::mem::swap(events, &mut self.ready);
    }

    /// Whether the kernel has something that a call would bring.
    fn has_more(&mut self) -> bool {
        self.failure.is_none() && self.ring.submission().taskrun()
    }

    /// Sends bytes of connections as far as the sockets take them now.
    pub fn send<'a>(&mut self, sends: impl Iterator<Item = (usize, &'a [u8])>) {
        self.enter(sends, Wait::No);
    }

    /// Sends, and waits as long as nothing came.
    pub(super) fn enter<'a>(&mut self, sends: impl Iterator<Item = (usize, &'a [u8])>, wait: Wait) {
        for (number, bytes) in sends {
            self.offer(number, bytes);
        }
        self.arm_again();
        if !self.is_woken_again {
            self.listen_to_the_waker();
        }
        self.submit_and(wait);
    }

    /// The caller keeps the bytes until the call that submits them has returned: `enter` does both.
    fn offer(&mut self, number: usize, bytes: &[u8]) {
        if bytes.is_empty() || !self.slots[number].is_open || self.slots[number].awaits_room {
            return;
        }
        if self.ring.submission().is_full() {
            self.submit_and(Wait::No);
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_NOSIGNAL;
        let send = opcode::Send::new(Fixed(number as u32), bytes.as_ptr(), bytes.len() as u32).flags(flags);
        let entry = send.build().flags(Flags::SKIP_SUCCESS).user_data(self.tag(number, Kind::Send));
        self.slots[number].offered = bytes.len();
        // SAFETY: the bytes are borrowed until `enter` returns. By then the request was submitted and, since it does not
        // wait for room, done; or the ring has failed, and nothing is submitted any more.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.fail(io::Error::other("its queue does not empty"));
        }
    }

    fn arm_again(&mut self) {
        while let Some((number, generation)) = self.unarmed.pop() {
            if self.slots[number].generation == generation {
                self.arm(number);
            }
        }
    }

    /// Submits what is queued, if there is anything.
    pub(super) fn submit_queued(&mut self) {
        if !self.ring.submission().is_empty() {
            self.submit_and(Wait::No);
        }
    }

    /// Submits what is queued and waits, but not if something came before; says how many completions came.
    pub(super) fn submit_and(&mut self, wait: Wait) -> usize {
        let mut taken = 0;
        for _ in 0..ATTEMPTS {
            if self.failure.is_some() {
                return taken;
            }
            let entered = self.call(if self.ready.is_empty() || wait == Wait::No { wait } else { Wait::Poll });
            taken += self.collect();
            match entered {
                Err(error) if !is_passing(&error) => {
                    self.fail(error);
                    return taken;
                }
                _ if self.ring.submission().is_empty() => return taken,
                _ => {}
            }
        }
        self.fail(io::Error::other("the system has no memory for what is submitted"));
        taken
    }

    fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
    }

    /// One system call. That the time is over, or a signal came, is no error here.
    fn call(&mut self, wait: Wait) -> io::Result<()> {
        let queued = self.ring.submission().len() as u32;
        let (flags, least, time_ns) = match wait {
            Wait::No => (0, 0, 0),
            Wait::Poll => (GET_EVENTS, 0, 0),
            // To send takes time of its own, which is not to be added.
            Wait::For(left_ns) if self.waits_until => {
                (self.waiting_flags, 1, system_ns(libc::CLOCK_MONOTONIC) + left_ns.min(LONGEST_NS))
            }
            Wait::For(left_ns) => (self.waiting_flags, 1, left_ns.min(LONGEST_NS)),
        };
        let time = Timespec::new().sec(time_ns / SECOND_NS).nsec((time_ns % SECOND_NS) as u32);
        let arguments = SubmitArgs::new().timespec(&time);
        let arguments = Some(&arguments).filter(|_| flags & WITH_ARGUMENT > 0);
        // SAFETY: what is queued refers to memory that outlives the call; the arguments are valid for it.
        match unsafe { self.ring.submitter().enter(queued, least, flags, arguments) } {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => Ok(()),
            entered => entered.map(drop),
        }
    }
}

impl Waits for Ring {
    fn spin(&mut self) -> &mut Spin {
        &mut self.spin
    }

    fn now_ns(&self) -> u64 {
        self.clock.now()
    }

    fn has_events(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Of a connection, by another thread, or that the ring failed.
    fn has_come(&self) -> bool {
        self.has_events() || self.was_woken || self.failure.is_some()
    }

    /// Without a system call as long as nothing comes.
    fn look(&mut self) {
        if self.has_more() {
            self.submit_and(Wait::Poll);
        } else {
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
        }
    }

    fn sleep(&mut self, sleep_ns: u64) {
        self.enter(std::iter::empty(), wait_for(sleep_ns));
    }
}

fn wait_for(sleep_ns: u64) -> Wait {
    if sleep_ns > 0 { Wait::For(sleep_ns) } else { Wait::Poll }
}

/// The flags of a call that waits, and whether it does until an instant: what this kernel has of them.
pub(super) fn waiting_with(parameters: &Parameters) -> (u32, bool) {
    let mut flags = GET_EVENTS | WITH_ARGUMENT;
    // Both came with Linux 6.12.
    let waits_until = parameters.is_feature_min_timeout();
    if waits_until {
        flags |= UNTIL;
    }
    if parameters.is_feature_no_iowait() {
        flags |= NOT_FOR_A_DISK;
    }
    (flags, waits_until)
}

/// Whether it helps to take what is there, and to try again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::clock::Clock;
    use crate::net::waiter::Waker;

    #[test]
    fn it_waits_about_as_long_as_required_and_a_waker_ends_it() {
        let clock = Clock::new();
        for (spin_ns, until) in [(0, true), (0, false), (50_000, true)] {
            let Ok(mut ring) = Ring::new(2, clock, spin_ns) else { return };
            // As an older kernel has it: a length of time, and no instant.
            if !until {
                (ring.waiting_flags, ring.waits_until) = (GET_EVENTS | WITH_ARGUMENT, false);
            }
            let mut events = vec![Event::writable(7)];
            let mut wait = |until_ns| {
                ring.wait(&mut events, (clock.now(), until_ns), true, std::iter::empty());
                assert!(events.is_empty() && ring.failure().is_none());
            };
            let until_ns = clock.now() + 3_500_000;
            while clock.now() < until_ns {
                wait(until_ns);
            }
            let waker = Waker::Ring(ring.waker());
            for _ in 0..3 {
                waker.wake().unwrap();
                ring.wait(&mut events, (clock.now(), u64::MAX), true, std::iter::empty());
                assert!(events.is_empty(), "it is of no connection");
            }
        }
    }
}
