//! The buffers that a ring receives into: lent to the kernel, and given back once their bytes are taken.

use io_uring::types::BufRingEntry;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, Ordering};

/// What one receive brings at most.
const BUFFER_BYTES: usize = 8 * 1024;
/// A line of the CPU's cache more than that, so that the beginnings of buffers do not share one place in it.
const STRIDE_BYTES: usize = BUFFER_BYTES + 64;
const FEWEST: usize = 64;
const MOST: usize = 1024;
/// The one group of buffers of a ring.
pub(super) const GROUP: u16 = 0;

#[derive(Debug)]
pub(super) struct Buffers {
    /// Shared with the kernel, which reads `count` entries of it.
    entries: NonNull<BufRingEntry>,
    bytes: Vec<u8>,
    /// Where `bytes` are, as the kernel knows them.
    address: u64,
    count: usize,
    tail: u16,
}

impl Buffers {
    /// Buffers for so many connections, all of them lent.
    pub fn new(connections: usize) -> io::Result<Self> {
        let count = (2 * connections).next_power_of_two().clamp(FEWEST, MOST);
        let entries = map_entries(count * size_of::<BufRingEntry>())?;
        let mut bytes = vec![0; count * STRIDE_BYTES];
        let mut buffers = Self { entries, address: bytes.as_mut_ptr() as u64, bytes, count, tail: 0 };
        (0..count).for_each(|buffer| buffers.lend(buffer as u16));
        Ok(buffers)
    }

    /// Where the entries are, and how many.
    pub fn place(&self) -> (u64, u16) {
        (self.entries.as_ptr() as u64, self.count as u16)
    }

    /// The bytes of a buffer that was filled.
    #[inline]
    pub fn bytes(&self, buffer: u16, start: usize, end: usize) -> &[u8] {
        let first = usize::from(buffer) * STRIDE_BYTES;
        &self.bytes[first + start..first + end]
    }

    /// All bytes, to be put back before any others are looked at, and where those of a buffer begin.
    #[inline]
    pub fn take(&mut self, buffer: u16) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.bytes), usize::from(buffer) * STRIDE_BYTES)
    }

    /// Puts them back.
    #[inline]
    pub fn put_back(&mut self, bytes: Vec<u8>) {
        self.bytes = bytes;
    }

    /// Lends a buffer to the kernel, for the first time or again.
    #[inline]
    pub fn lend(&mut self, buffer: u16) {
        debug_assert!(usize::from(buffer) < self.count);
        let address = self.address + (usize::from(buffer) * STRIDE_BYTES) as u64;
        let place = usize::from(self.tail) & (self.count - 1);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: `place` is below `count`, the number of entries that were mapped; only this thread writes to them. The
        // tail lies in a field of the first entry that no entry uses.
        unsafe {
            let entry = self.entries.add(place).as_mut();
            entry.set_addr(address);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(buffer);
            let tail = BufRingEntry::tail(self.entries.as_ptr()).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }

    fn entries_bytes(&self) -> usize {
        self.count * size_of::<BufRingEntry>()
    }
}

/// Whole pages, which a forked child does not get: the kernel goes on reading this process's own.
fn map_entries(bytes: usize) -> io::Result<NonNull<BufRingEntry>> {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory of a valid size, which nothing else refers to; the second call is about that memory.
    unsafe {
        let mapped = libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0);
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        libc::madvise(mapped, bytes, libc::MADV_DONTFORK);
        NonNull::new(mapped.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` at this size, and unmapped once. The ring that used it is closed before.
        unsafe { libc::munmap(self.entries.as_ptr().cast(), self.entries_bytes()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_buffer_has_bytes_of_its_own() {
        let buffers = Buffers::new(40).unwrap();
        let (_, count) = buffers.place();
        assert_eq!(count, 128);
        let first = buffers.bytes(0, 0, BUFFER_BYTES).as_ptr_range();
        let second = buffers.bytes(1, 0, BUFFER_BYTES).as_ptr_range();
        assert!(first.end <= second.start);
        assert_eq!(buffers.bytes(count - 1, 5, 9).len(), 4);
    }

    #[test]
    fn there_are_some_for_few_connections_and_not_too_many_for_thousands() {
        assert_eq!(Buffers::new(1).unwrap().place().1, 64);
        assert_eq!(Buffers::new(10_000).unwrap().place().1, 1024);
    }
}
