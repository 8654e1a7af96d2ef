//! What the kernel reports: which request of which socket it is about, and what follows from it.

use super::{Chunk, End, Ring};
use crate::net::event::Event;
use io_uring::cqueue::{self, Entry};
use std::io::Read;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// What needs no answer.
    Other,
    Receive,
    Send,
    /// A wait until a socket can be written to.
    Room,
    Waker,
}

/// What a request and its completion have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    pub number: u32,
    pub generation: u32,
    pub kind: Kind,
}

const GENERATION_BITS: u32 = 28;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;

impl Tag {
    #[inline]
    pub fn bits(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.generation & GENERATION_MASK) << 4 | self.kind as u64
    }

    #[inline]
    fn of(bits: u64) -> Self {
        let kind = match bits & 0xf {
            1 => Kind::Receive,
            2 => Kind::Send,
            3 => Kind::Room,
            4 => Kind::Waker,
            _ => Kind::Other,
        };
        Self { number: (bits >> 32) as u32, generation: (bits as u32) >> 4, kind }
    }
}

impl Ring {
    /// Takes all completions that are there, and says how many these were.
    pub(super) fn collect(&mut self) -> usize {
        let mut taken = 0;
        // Each is taken by itself, since handling one may queue another request.
        while let Some(entry) = self.take_completion() {
            self.complete(&entry);
            taken += 1;
        }
        taken
    }

    #[inline]
    fn take_completion(&mut self) -> Option<Entry> {
        self.ring.completion().next()
    }

    #[inline]
    fn complete(&mut self, entry: &Entry) {
        let tag = Tag::of(entry.user_data());
        if tag.kind == Kind::Waker {
            return self.was_woken(entry);
        }
        let number = tag.number as usize;
        let is_current = self.slots.get(number).is_some_and(|slot| slot.generation & GENERATION_MASK == tag.generation);
        let result = entry.result();
        match tag.kind {
            Kind::Receive => self.received(number, is_current, entry),
            Kind::Send if is_current => self.was_not_taken(number, result),
            Kind::Room if is_current => {
                self.slots[number].awaits_room = false;
                self.ready.push(Event::writable(number));
            }
            Kind::Send | Kind::Room | Kind::Other | Kind::Waker => {}
        }
    }

    #[inline]
    fn received(&mut self, number: usize, is_current: bool, entry: &Entry) {
        let result = entry.result();
        let buffer = cqueue::buffer_select(entry.flags());
        if !is_current {
            return buffer.into_iter().for_each(|buffer| self.buffers.lend(buffer));
        }
        let slot = &mut self.slots[number];
        match buffer {
            Some(buffer) if result > 0 => slot.arrived.push_back(Chunk { buffer, start: 0, end: result as usize }),
            Some(buffer) => self.buffers.lend(buffer),
            None => {}
        }
        if !cqueue::more(entry.flags()) {
            slot.is_receiving = false;
            match -result {
                0 => slot.end = slot.end.or(Some(End::Closed)),
                // No buffer was left, or the kernel had enough of it for now: it goes on once buffers are given back.
                error if error < 0 || [libc::ENOBUFS, libc::EINTR, libc::EAGAIN].contains(&error) => {
                    self.unarmed.push((number, slot.generation));
                }
                error => slot.end = slot.end.or(Some(End::Failed(error))),
            }
        }
        self.ready.push(Event::received(number));
    }

    /// Of what was offered a part, or nothing: there is no room for it now, or the connection failed.
    #[cold]
    fn was_not_taken(&mut self, number: usize, result: i32) {
        let slot = &mut self.slots[number];
        slot.taken = Some(usize::try_from(result).unwrap_or(0));
        if result < 0 && ![libc::EAGAIN, libc::EINTR].contains(&-result) {
            slot.end = slot.end.or(Some(End::Failed(-result)));
            self.ready.push(Event::received(number));
        }
    }

    #[cold]
    fn was_woken(&mut self, entry: &Entry) {
        // Emptied, so that it is never full; that there is nothing to read is as good.
        let _ = (&*self.eventfd).read(&mut [0; 8]);
        self.is_woken_again = cqueue::more(entry.flags());
        self.was_woken = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_back_as_it_went() {
        for kind in [Kind::Other, Kind::Receive, Kind::Send, Kind::Room, Kind::Waker] {
            let tag = Tag { number: 99_999, generation: GENERATION_MASK, kind };
            assert_eq!(Tag::of(tag.bits()), tag);
        }
        let wrapped = Tag { number: 1, generation: GENERATION_MASK + 2, kind: Kind::Send };
        assert_eq!(Tag::of(wrapped.bits()), Tag { generation: 1, ..wrapped });
    }
}
