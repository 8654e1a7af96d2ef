//! What a protocol's decoder found in the bytes so far.

/// What the bytes received so far hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    /// A reply, or the rest of one, ends after `length` bytes.
    Complete { length: usize },
    /// The first `length` bytes belong to a reply that goes on, and are of no more use.
    Part { length: usize },
    /// A message of `length` bytes that answers nothing (RESP3).
    Push { length: usize },
    /// A part of a reply: there is nothing to be done before there are `at_least` bytes.
    Incomplete { at_least: usize },
}
