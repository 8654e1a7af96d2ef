//! What one side of a connection sent and the other has not received yet.

use std::collections::VecDeque;

/// With so much in the line a connection is not read any further, as by a network whose window is full.
pub(super) const HELD_MOST_BYTES: usize = 1024 * 1024;
/// Pieces of a few bytes cost more than their bytes.
const PIECES_MOST: usize = 16 * 1024;
/// Pieces that are due so close together are one.
const ONE_PIECE_NS: u64 = 1000;

/// How a side ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It sends no more; the other side may.
    Finished,
    /// The connection is lost.
    Reset,
}

#[derive(Debug)]
struct Piece {
    due_ns: u64,
    bytes: usize,
}

/// From one side to the other.
#[derive(Debug, Default)]
pub(super) struct Path {
    bytes: VecDeque<u8>,
    pieces: VecDeque<Piece>,
    /// So many bytes at the front are due.
    open: usize,
    last_due_ns: u64,
    end: Option<(u64, End)>,
    is_end_taken: bool,
    /// Whether it stands among those that wait for their time.
    pub is_listed: bool,
    /// Whether the receiving socket takes no more for now.
    pub is_clogged: bool,
    /// Whether the sending side is not read any further for now.
    pub is_stalled: bool,
}

impl Path {
    /// Adds what is due then, or when all before it is.
    pub fn push(&mut self, bytes: &[u8], due_ns: u64) {
        self.bytes.extend(bytes);
        let due_ns = due_ns.max(self.last_due_ns);
        match self.pieces.back_mut() {
            Some(last) if due_ns - last.due_ns < ONE_PIECE_NS => last.bytes += bytes.len(),
            _ => {
                self.pieces.push_back(Piece { due_ns, bytes: bytes.len() });
                self.last_due_ns = due_ns;
            }
        }
    }

    /// Nothing comes after what is there. A reset may come after a side has finished.
    pub fn end(&mut self, due_ns: u64, end: End) {
        if self.end.is_none_or(|(_, before)| before == End::Finished && end == End::Reset) {
            self.end = Some((due_ns.max(self.last_due_ns), end));
            self.is_end_taken = false;
        }
    }

    /// Whether the sending side said that it sends no more.
    pub fn is_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Whether its end arrived.
    pub fn is_done(&self) -> bool {
        self.end.is_some() && self.is_end_taken
    }

    /// Whether its sending side may be read.
    pub fn has_room(&self) -> bool {
        self.bytes.len() < HELD_MOST_BYTES && self.pieces.len() < PIECES_MOST
    }

    /// Whether there is so much room again that it is worth while to read on.
    pub fn has_much_room(&self) -> bool {
        self.bytes.len() <= HELD_MOST_BYTES / 2 && self.pieces.len() <= PIECES_MOST / 2
    }

    pub fn held_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// When the next piece, or the end, is due.
    pub fn next_due_ns(&self) -> Option<u64> {
        let end = self.end.filter(|_| !self.is_end_taken && self.open == 0).map(|(due_ns, _)| due_ns);
        self.pieces.front().map(|piece| piece.due_ns).or(end)
    }

    /// What is due up to `upto_ns` may leave; calls `left` with when each piece was due.
    pub fn open_due(&mut self, upto_ns: u64, mut left: impl FnMut(u64)) {
        while let Some(piece) = self.pieces.front().filter(|piece| piece.due_ns <= upto_ns) {
            self.open += piece.bytes;
            left(piece.due_ns);
            self.pieces.pop_front();
        }
    }

    /// What may leave now, or the first part of it.
    pub fn due(&self) -> &[u8] {
        let first = self.bytes.as_slices().0;
        &first[..self.open.min(first.len())]
    }

    /// So many bytes left.
    pub fn left(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.open -= count;
    }

    /// The end, once, if it is due and nothing is before it.
    pub fn take_end(&mut self, now_ns: u64) -> Option<End> {
        let (due_ns, end) = self.end?;
        let is_due = due_ns <= now_ns && self.bytes.is_empty() && !self.is_end_taken;
        self.is_end_taken |= is_due;
        is_due.then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_due(path: &mut Path, now_ns: u64) -> Vec<u8> {
        path.open_due(now_ns, |_| {});
        let mut found = Vec::new();
        while !path.due().is_empty() {
            found.extend_from_slice(path.due());
            path.left(path.due().len());
        }
        found
    }

    #[test]
    fn nothing_overtakes_what_was_before_it() {
        let mut path = Path::default();
        path.push(b"first", 50_000);
        path.push(b"second", 10_000);
        path.end(0, End::Finished);
        assert_eq!(path.next_due_ns(), Some(50_000));
        assert_eq!(all_due(&mut path, 49_999), b"");
        assert_eq!(path.take_end(49_999), None);
        assert_eq!(all_due(&mut path, 50_000), b"firstsecond");
        assert_eq!((path.take_end(50_000), path.take_end(50_000)), (Some(End::Finished), None));
        assert!(path.is_done() && path.next_due_ns().is_none());
    }

    #[test]
    fn pieces_leave_when_they_are_due_and_say_when_that_was() {
        let mut path = Path::default();
        (0..3u64).for_each(|n| path.push(&[n as u8], 100_000 * n));
        let mut due = Vec::new();
        path.open_due(150_000, |ns| due.push(ns));
        assert_eq!((due, path.due()), (vec![0, 100_000], &[0u8, 1][..]));
        path.left(1);
        assert_eq!((path.due(), path.held_bytes(), path.next_due_ns()), (&[1u8][..], 2, Some(200_000)));
    }

    #[test]
    fn what_it_holds_is_bounded_in_bytes_and_in_pieces() {
        let mut path = Path::default();
        (0..PIECES_MOST as u64).for_each(|n| path.push(b"x", n * ONE_PIECE_NS));
        assert!(!path.has_room());
        assert_eq!(all_due(&mut path, u64::MAX).len(), PIECES_MOST);
        path.push(&vec![0; HELD_MOST_BYTES], 0);
        assert!(!path.has_room() && !path.has_much_room());
        path.open_due(u64::MAX, |_| {});
        path.left(HELD_MOST_BYTES / 2);
        assert!(path.has_much_room());
    }

    #[test]
    fn a_reset_follows_an_end_and_not_the_other_way_round() {
        let mut path = Path::default();
        path.end(1, End::Finished);
        assert_eq!(path.take_end(1), Some(End::Finished));
        path.end(2, End::Reset);
        assert_eq!(path.take_end(2), Some(End::Reset));
        path.end(3, End::Finished);
        assert_eq!(path.take_end(3), None);
    }
}
