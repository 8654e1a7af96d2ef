//! A complete reply, as the judge takes it from any protocol of commands.

use super::resp::Items;
use crate::wire::example::push_beginning;

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

/// Appends the beginning of a reply as people read it: a text without what frames it, a number and nothing at all as
/// `redis-cli` shows them, all else as the `bytes` of the reply are.
pub fn write_example(reply: Option<Reply>, bytes: &[u8], out: &mut Vec<u8>) {
    let text = match reply {
        Some(Reply::Status(text) | Reply::Error(text) | Reply::Text(text)) => text,
        Some(Reply::Integer(digits)) => {
            out.extend_from_slice(b"(integer) ");
            digits
        }
        Some(Reply::Nothing) => b"(nil)",
        Some(Reply::NotStored | Reply::Items(_) | Reply::Other) | None => bytes,
    };
    push_beginning(text, out);
}
