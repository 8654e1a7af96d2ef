//! What is to be sent: bytes of its own, and long texts that stay where they were made.
//!
//! To copy a text of 100 kB takes as long as the kernel's copy of it, and the memory of both CPUs twice. So a long one is
//! lent: only its place is noted, and the call that sends it names both.

use super::values::Values;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::Arc;

/// Shorter texts are copied: a call with several places takes longer than one with a single one.
pub const LONG_BYTES: usize = 8 * 1024;
/// Places that one call names at most.
pub const SLICES: usize = 16;

/// Where requests are written to.
pub trait Sink {
    /// Where bytes are appended to.
    fn bytes(&mut self) -> &mut Vec<u8>;

    /// Appends a text that `values` made.
    fn push_generated(&mut self, text: &[u8], values: &Values);
}

impl Sink for Vec<u8> {
    #[inline(always)]
    fn bytes(&mut self) -> &mut Vec<u8> {
        self
    }

    #[inline(always)]
    fn push_generated(&mut self, text: &[u8], _: &Values) {
        self.extend_from_slice(text);
    }
}

/// A text that lies in the block, before a byte of the outbox's own.
#[derive(Debug, Clone, Copy)]
struct Lent {
    at: usize,
    start: usize,
    length: usize,
}

/// What a connection has to send. It keeps its room when all is sent.
#[derive(Debug, Default)]
pub struct SendBuffer {
    bytes: Vec<u8>,
    /// Those of them that were sent.
    written: usize,
    lends: bool,
    /// In order; of the first one so many bytes were sent.
    lent: VecDeque<Lent>,
    lent_written: usize,
    /// Where lent texts lie.
    block: Option<Arc<[u8]>>,
}

impl Sink for SendBuffer {
    #[inline(always)]
    fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    #[inline]
    fn push_generated(&mut self, text: &[u8], values: &Values) {
        if !self.lends || text.len() < LONG_BYTES {
            return self.bytes.extend_from_slice(text);
        }
        let start = values.place_of(text);
        self.lent.push_back(Lent { at: self.bytes.len(), start, length: text.len() });
        self.block.get_or_insert_with(|| values.block());
    }
}

impl SendBuffer {
    /// An empty one; `lends`: whoever sends from it takes several places.
    pub fn new(lends: bool) -> Self {
        Self { lends, ..Self::default() }
    }

    /// Whether there is nothing left to be sent.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.written == self.bytes.len() && self.lent.is_empty()
    }

    /// What is to be sent up to the first text that is lent: all of it where nothing is.
    #[inline(always)]
    pub fn unwritten(&self) -> &[u8] {
        match self.lent.front() {
            None => &self.bytes[self.written..],
            Some(lent) if lent.at > self.written => &self.bytes[self.written..lent.at],
            Some(lent) => &self.text(lent)[self.lent_written..],
        }
    }

    /// Whether that is not all of it.
    #[inline(always)]
    pub fn has_lent(&self) -> bool {
        !self.lent.is_empty()
    }

    /// What is to be sent, as far as there is room for its places; how many those are.
    pub fn slices<'a>(&'a self, room: &mut [IoSlice<'a>; SLICES]) -> usize {
        let (mut count, mut at) = (0, self.written);
        let mut skipped = self.lent_written;
        let mut push = |bytes: &'a [u8]| {
            if !bytes.is_empty() && count < SLICES {
                room[count] = IoSlice::new(bytes);
                count += 1;
            }
        };
        for lent in self.lent.iter().take(SLICES) {
            push(&self.bytes[at..lent.at]);
            push(&self.text(lent)[skipped..]);
            (at, skipped) = (lent.at, 0);
        }
        if self.lent.len() < SLICES {
            push(&self.bytes[at..]);
        }
        count
    }

    /// So many bytes were sent.
    #[inline(always)]
    pub fn took(&mut self, count: usize) {
        if self.lent.is_empty() {
            self.written += count;
        } else {
            self.took_lent(count);
        }
        if self.is_empty() {
            self.bytes.clear();
            self.written = 0;
        }
    }

    fn took_lent(&mut self, mut count: usize) {
        while let Some(&Lent { at, length, .. }) = self.lent.front() {
            let own = count.min(at - self.written);
            self.written += own;
            count -= own;
            let part = count.min(length - self.lent_written);
            self.lent_written += part;
            count -= part;
            if self.written < at || self.lent_written < length {
                return;
            }
            self.lent.pop_front();
            self.lent_written = 0;
        }
        self.written += count;
    }

    /// Forgets all of it.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lent.clear();
        (self.written, self.lent_written) = (0, 0);
    }

    fn text(&self, lent: &Lent) -> &[u8] {
        self.block.as_ref().map_or(&[], |block| &block[lent.start..lent.start + lent.length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::rng::Rng;
    use crate::plan::Documents;

    fn values(payload_bytes: usize) -> Values {
        Values::new(5, &Documents { payload_bytes, field_bytes: 1, ..Documents::default() })
    }

    /// Everything that is to be sent, as one call after the other names it and `take` of its bytes are taken.
    fn sent(outbox: &mut SendBuffer, mut take: impl FnMut(usize) -> usize) -> Vec<u8> {
        let mut found = Vec::new();
        while !outbox.is_empty() {
            let mut room = [IoSlice::new(&[]); SLICES];
            let count = outbox.slices(&mut room);
            let named: Vec<u8> = room[..count].iter().flat_map(|slice| slice.iter().copied()).collect();
            assert!(!named.is_empty() && named.starts_with(outbox.unwritten()));
            let taken = take(named.len());
            found.extend_from_slice(&named[..taken]);
            outbox.took(taken);
        }
        found
    }

    #[test]
    fn long_texts_are_lent_and_sent_in_their_places_however_little_is_taken_at_once() {
        let values = values(LONG_BYTES);
        let mut rng = Rng::new(1, 1);
        for pieces in 1..40 {
            let (mut outbox, mut copied) = (SendBuffer::new(true), SendBuffer::new(false));
            let mut expected = Vec::new();
            for _ in 0..pieces {
                let (key, is_text) = (rng.below(1000), rng.below(2) == 0);
                for out in [&mut outbox as &mut dyn Sink, &mut copied, &mut expected] {
                    if is_text {
                        out.push_generated(values.value(key, 1), &values);
                    } else {
                        out.bytes().extend_from_slice(format!("<{key}>").as_bytes());
                    }
                }
            }
            assert!(!copied.has_lent() && copied.unwritten() == expected);
            assert!(outbox.bytes.len() <= 5 * pieces, "texts are not copied");
            let capacity = outbox.bytes.capacity();
            assert!(sent(&mut outbox, |count| 1 + rng.below(count as u64) as usize) == expected);
            assert!(outbox.bytes.is_empty() && outbox.bytes.capacity() == capacity);
        }
    }

    #[test]
    fn short_texts_are_copied_and_what_is_cleared_is_gone() {
        let values = values(LONG_BYTES - 1);
        let mut outbox = SendBuffer::new(true);
        outbox.push_generated(values.value(1, 1), &values);
        assert!(!outbox.has_lent() && outbox.unwritten() == values.value(1, 1));
        let values = self::values(LONG_BYTES);
        outbox.push_generated(values.value(1, 1), &values);
        outbox.took(LONG_BYTES);
        outbox.clear();
        assert!(outbox.is_empty() && outbox.unwritten().is_empty());
        outbox.bytes().extend_from_slice(b"next");
        assert!(sent(&mut outbox, |count| count) == b"next");
    }
}
