//! Bytes that a connection received and did not consume yet.

/// Size of a connection's own inbox, once it got a reply that came in parts.
const LARGE_INBOX: usize = 16 * 1024;

/// Bytes received and not yet consumed.
#[derive(Debug, Default)]
pub struct Inbox {
    /// Always initialised to its full length.
    pub bytes: Vec<u8>,
    pub start: usize,
    pub end: usize,
    /// How many bytes are needed before decoding can get any further.
    pub need: usize,
}

/// Bytes where a ring received them, lent to whoever consumes them.
#[derive(Debug)]
pub struct Arrived {
    /// It is not received into.
    pub inbox: Inbox,
    pub buffer: u16,
}

impl Inbox {
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity], ..Self::default() }
    }

    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether it has room of its own, having once taken a reply that came in parts.
    pub fn has_room(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Takes over what another inbox has not consumed.
    pub fn take_over(&mut self, other: &mut Inbox) {
        let length = other.unread().len();
        if self.bytes.len() <= length {
            self.bytes.resize((length + 1).next_power_of_two().max(LARGE_INBOX), 0);
        }
        (self.start, self.end, self.need) = (0, length, other.need);
        self.bytes[..length].copy_from_slice(other.unread());
        other.clear();
    }

    /// Keeps what another inbox has not consumed, in no more room than that takes.
    pub fn hold(&mut self, other: &mut Inbox) {
        self.bytes.clear();
        self.bytes.extend_from_slice(other.unread());
        (self.start, self.end, self.need) = (0, self.bytes.len(), other.need);
        other.clear();
    }

    pub fn clear(&mut self) {
        (self.start, self.end, self.need) = (0, 0, 0);
    }

    /// Takes as many of `bytes` as there is room for, as a receive does.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        let room = self.room();
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.add(count);
        count
    }

    /// Where the next bytes are to be received; not empty.
    #[inline]
    pub fn room(&mut self) -> &mut [u8] {
        self.make_room();
        &mut self.bytes[self.end..]
    }

    /// So many bytes were received into the room.
    #[inline]
    pub fn add(&mut self, count: usize) {
        self.end += count;
    }

    /// Releases the first `length` unread bytes.
    #[inline]
    pub fn consume(&mut self, length: usize) {
        self.start += length;
        self.need = 0;
    }

    /// Makes room for some bytes at least. It doubles at most, and only when it is full: what a server announces
    /// takes no memory before it has come.
    fn make_room(&mut self) {
        let unread = self.end - self.start;
        if unread == 0 {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 && self.start + self.need.max(unread + 1) > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, unread);
        }
        if self.end == self.bytes.len() {
            let required = self.need.max(self.end + 1).next_power_of_two();
            self.bytes.resize(required.min(2 * self.bytes.len()).max(LARGE_INBOX), 0);
        }
    }
}
