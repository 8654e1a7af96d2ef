//! A complete reply, as the judge takes it from any protocol of commands.

use super::resp::Items;

/// A complete reply; of an aggregate only its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply<'a> {
    /// A simple string, as `OK`.
    Status(&'a [u8]),
    Error(&'a [u8]),
    /// An integer's digits, with its sign if it has one.
    Integer(&'a [u8]),
    /// The text that a key, or a part of it, holds.
    Text(&'a [u8]),
    /// There is no such value.
    Nothing,
    /// What a write requires of its key was not so, and nothing was written (memcached).
    NotStored,
    Items(Items<'a>),
    /// A Boolean, a double, a big number.
    Other,
}
