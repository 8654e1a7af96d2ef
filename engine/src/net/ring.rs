//! A thread's io_uring: one system call sends what was encoded, takes what came in, and waits.
//!
//! Sockets are registered files, by the numbers of their connections. Each has one receive that stays armed and fills
//! buffers of the ring (`buffers.rs`). A send takes what the socket has room for at once, so that its bytes are free
//! again when the call returns, and reports only what went wrong or was not taken. `probe.rs` finds out whether this
//! system has all of that, `entering.rs` makes the call, `completion.rs` takes what comes of it.

mod buffers;
mod completion;
mod entering;
mod probe;

pub use probe::{reason, why_not};

use super::event::Event;
use super::inbox::{Arrived, Inbox};
use super::line::Received;
use super::spin::Spin;
use crate::machine::clock::Clock;
use buffers::Buffers;
use completion::{Kind, Tag};
use entering::Wait;
use io_uring::squeue::{Entry, Flags};
use io_uring::types::Fixed;
use io_uring::{IoUring, opcode};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::Arc;

/// Requests that are submitted at once.
const SUBMISSIONS: u32 = 256;
/// Completions that may wait to be taken; the kernel keeps more of them, at a cost.
const COMPLETIONS: std::ops::RangeInclusive<usize> = 256..=32_768;

/// Bytes of a buffer that were not yet taken.
#[derive(Debug)]
struct Chunk {
    buffer: u16,
    start: usize,
    end: usize,
}

/// The other side closed a connection, or what the system says.
#[derive(Debug, Clone, Copy)]
enum End {
    Closed,
    Failed(i32),
}

/// The socket of a connection in the ring.
#[derive(Debug, Default)]
struct Slot {
    /// Grows with each socket, so that what is left of an earlier one is not mistaken.
    generation: u32,
    is_open: bool,
    is_receiving: bool,
    /// The system says when it can be written to; until then nothing is offered.
    awaits_room: bool,
    arrived: VecDeque<Chunk>,
    end: Option<End>,
    /// Bytes that were offered with the last submission, and how many were taken if not all.
    offered: usize,
    taken: Option<usize>,
}

pub struct Ring {
    ring: IoUring,
    buffers: Buffers,
    slots: Vec<Slot>,
    /// How the system call is made where it waits, and whether that is until an instant.
    waiting_flags: u32,
    waits_until: bool,
    clock: Clock,
    spin: Spin,
    /// Of the waker.
    eventfd: Arc<File>,
    is_woken_again: bool,
    /// Another thread ended the wait that goes on.
    was_woken: bool,
    /// Connections whose receive is to be armed again, with the generations of their sockets.
    unarmed: Vec<(usize, u32)>,
    /// Whether the last wait found fewer buffers than had come in.
    left_some: bool,
    /// What was completed, and not yet handed out.
    ready: Vec<Event>,
    /// Why the ring can be used no longer.
    failure: Option<io::Error>,
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Ring").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Ring {
    /// A ring of the calling thread, for so many connections. Up to `spin_ns` at a time are spent awake: see `Spin`.
    pub fn new(connections: usize, clock: Clock, spin_ns: u64) -> io::Result<Self> {
        let completions = (4 * connections).next_power_of_two().clamp(*COMPLETIONS.start(), *COMPLETIONS.end());
        let ring = IoUring::builder()
            .dontfork()
            .setup_clamp()
            .setup_cqsize(completions as u32)
            .setup_submit_all()
            .setup_single_issuer()
            .setup_coop_taskrun()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .build(SUBMISSIONS)?;
        let buffers = Buffers::new(connections)?;
        let (entries, count) = buffers.place();
        // SAFETY: the entries are mapped until after the ring is closed: see the order of the fields.
        unsafe { ring.submitter().register_buf_ring_with_flags(entries, count, buffers::GROUP, 0)? };
        ring.submitter().register_files_sparse(connections as u32)?;
        let (waiting_flags, waits_until) = entering::waiting_with(ring.params());
        let mut new = Self {
            ring,
            buffers,
            waiting_flags,
            waits_until,
            clock,
            spin: Spin::new(spin_ns),
            slots: (0..connections).map(|_| Slot::default()).collect(),
            eventfd: Arc::new(eventfd()?),
            is_woken_again: false,
            was_woken: false,
            unarmed: Vec::with_capacity(connections),
            left_some: false,
            ready: Vec::with_capacity(completions),
            failure: None,
        };
        new.listen_to_the_waker();
        Ok(new)
    }

    /// Instants are those of another clock from now on.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
        self.spin.forget_instants();
    }

    /// How it stays awake.
    #[inline]
    pub fn spin(&mut self) -> &mut Spin {
        &mut self.spin
    }

    /// What other threads write to when this one is to return from a wait.
    pub fn waker(&self) -> Arc<File> {
        self.eventfd.clone()
    }

    /// Why the ring can be used no longer.
    #[inline]
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Whether the last wait left some of what had come in to the next one.
    #[inline]
    pub fn left_some(&self) -> bool {
        self.left_some
    }

    /// Takes a socket that is being connected; an event says when it can be written to.
    pub fn open(&mut self, number: usize, socket: RawFd) -> io::Result<()> {
        // What closes an earlier socket of this number has to come first.
        self.submit_queued();
        self.ring.submitter().register_files_update(number as u32, &[socket])?;
        let slot = &mut self.slots[number];
        slot.generation = slot.generation.wrapping_add(1);
        slot.is_open = true;
        self.await_room(number);
        Ok(())
    }

    /// Has an event come when a connection can be written to.
    pub fn await_room(&mut self, number: usize) {
        if self.slots[number].is_open && !self.slots[number].awaits_room {
            self.slots[number].awaits_room = true;
            let poll = opcode::PollAdd::new(Fixed(number as u32), libc::POLLOUT as u32);
            self.push(poll.build().user_data(self.tag(number, Kind::Room)));
        }
    }

    /// Receives from a connection from now on.
    pub fn arm(&mut self, number: usize) {
        if self.slots[number].is_open && !self.slots[number].is_receiving {
            self.slots[number].is_receiving = true;
            let receive = opcode::RecvMulti::new(Fixed(number as u32), buffers::GROUP);
            self.push(receive.build().user_data(self.tag(number, Kind::Receive)));
        }
    }

    /// Gives a socket up, with all that is under way on it.
    pub fn close(&mut self, number: usize) {
        let slot = &mut self.slots[number];
        if !slot.is_open {
            return;
        }
        while let Some(chunk) = slot.arrived.pop_front() {
            self.buffers.lend(chunk.buffer);
        }
        let under_way = [(slot.is_receiving, Kind::Receive), (slot.awaits_room, Kind::Room)];
        for (_, kind) in under_way.into_iter().filter(|(is_under_way, _)| *is_under_way) {
            let cancel = opcode::AsyncCancel::new(self.tag(number, kind));
            self.push(cancel.build().flags(Flags::SKIP_SUCCESS).user_data(self.tag(number, Kind::Other)));
        }
        let close = opcode::Close::new(Fixed(number as u32));
        self.push(close.build().flags(Flags::SKIP_SUCCESS).user_data(self.tag(number, Kind::Other)));
        let slot = &mut self.slots[number];
        *slot = Slot {
            generation: slot.generation.wrapping_add(1),
            arrived: std::mem::take(&mut slot.arrived),
            ..Slot::default()
        };
    }

    /// Takes bytes that came in.
    #[inline]
    pub fn receive(&mut self, number: usize, room: &mut [u8]) -> io::Result<Received> {
        let slot = &mut self.slots[number];
        let mut count = 0;
        while let Some(chunk) = slot.arrived.front_mut() {
            let part = (chunk.end - chunk.start).min(room.len() - count);
            room[count..count + part].copy_from_slice(self.buffers.bytes(
                chunk.buffer,
                chunk.start,
                chunk.start + part,
            ));
            (count, chunk.start) = (count + part, chunk.start + part);
            if chunk.start < chunk.end {
                break;
            }
            self.buffers.lend(chunk.buffer);
            slot.arrived.pop_front();
        }
        let has_more = !slot.arrived.is_empty() || slot.end.is_some();
        match slot.end {
            Some(End::Closed) if count == 0 => Ok(Received::Closed),
            Some(End::Failed(number)) if count == 0 => Err(io::Error::from_raw_os_error(number)),
            _ => Ok(Received::Bytes { count, more: has_more }),
        }
    }

    /// What came in on a connection, where it is, if that is in one buffer; to be given back before anything else is
    /// received.
    #[inline]
    pub fn lend(&mut self, number: usize) -> Option<Arrived> {
        let slot = &mut self.slots[number];
        if slot.arrived.len() != 1 || slot.end.is_some() {
            return None;
        }
        let Chunk { buffer, start, end } = slot.arrived.pop_front()?;
        let (bytes, first) = self.buffers.take(buffer);
        let inbox = Inbox { bytes, start: first + start, end: first + end, need: 0 };
        Some(Arrived { inbox, buffer })
    }

    /// Takes back what was lent.
    #[inline]
    pub fn give_back(&mut self, arrived: Arrived) {
        self.buffers.put_back(arrived.inbox.bytes);
        self.buffers.lend(arrived.buffer);
    }

    /// How many of the bytes that were offered last the system has taken. Of the others an event comes when there is room.
    #[inline]
    pub fn settle(&mut self, number: usize) -> usize {
        let slot = &mut self.slots[number];
        let offered = std::mem::take(&mut slot.offered);
        let Some(taken) = slot.taken.take() else { return offered };
        if slot.end.is_none() {
            self.await_room(number);
        }
        taken
    }

    fn listen_to_the_waker(&mut self) {
        self.is_woken_again = true;
        let poll = opcode::PollAdd::new(io_uring::types::Fd(self.eventfd.as_raw_fd()), libc::POLLIN as u32).multi(true);
        self.push(poll.build().user_data(Tag { number: 0, generation: 0, kind: Kind::Waker }.bits()));
    }

    #[inline]
    fn tag(&self, number: usize, kind: Kind) -> u64 {
        Tag { number: number as u32, generation: self.slots[number].generation, kind }.bits()
    }

    /// Queues a request that points to no memory.
    fn push(&mut self, entry: Entry) {
        if self.ring.submission().is_full() {
            self.submit_queued();
        }
        // SAFETY: the request refers to no memory but the ring's own buffers.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.failure.get_or_insert_with(|| io::Error::other("its queue does not empty"));
        }
    }
}

impl Drop for Ring {
    /// Sockets are closed with their connections, not when the kernel gets to it.
    fn drop(&mut self) {
        (0..self.slots.len()).for_each(|number| self.close(number));
        self.submit_and(Wait::Poll);
        // A ring that failed has nothing to give up.
        let _ = self.ring.submitter().unregister_files();
    }
}

fn eventfd() -> io::Result<File> {
    // SAFETY: the call takes plain numbers; a descriptor that it returns is this process's own.
    unsafe {
        let eventfd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
        if eventfd < 0 { Err(io::Error::last_os_error()) } else { Ok(File::from_raw_fd(eventfd)) }
    }
}
