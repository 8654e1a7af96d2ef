//! Where the replies of Redis end, and what a complete one holds.
//!
//! [`decode`] finds where a reply ends without allocating; [`reply`] reads a complete one. Bytes that no server should
//! send are [`Malformed`], after which the connection is of no more use.

use crate::wire::Decoded;
use crate::wire::reply::Reply;

/// The longest line taken: of a status, an error, a number.
const LINE_MAX_BYTES: usize = 64 * 1024;
/// The shortest element, as `_\r\n`.
const ELEMENT_MIN_BYTES: usize = 3;
/// Fewer elements are read again as often as bytes come.
const MANY_ELEMENTS: u64 = 1000;
/// The deepest nesting taken.
const DEPTH_MAX: usize = 32;

/// Bytes that are not RESP, or beyond the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("a reply begins with byte {0:#04x}, which is no RESP type")]
    UnknownType(u8),
    #[error("a length in a reply is not a number")]
    BadLength,
    #[error("a reply holds a malformed value or lacks its line end")]
    BadValue,
    #[error("a push message stands inside a reply")]
    NestedPush,
    #[error("a reply is longer than {0} bytes, which verify.reply_max_bytes of the plan can raise")]
    TooLong(usize),
    #[error("a line of a reply is longer than {LINE_MAX_BYTES} bytes")]
    LineTooLong,
    #[error("a reply is nested deeper than {DEPTH_MAX}")]
    TooDeep,
}

/// The elements of an array, a set or a map (key, value, key, value...), in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Items<'a> {
    /// Elements not yet taken.
    pub left: u64,
    bytes: &'a [u8],
}

/// One element of a reply; of an aggregate only its head.
enum Element<'a> {
    Line { kind: u8, text: &'a [u8] },
    Blob { kind: u8, text: &'a [u8] },
    Nothing,
    Items { kind: u8, count: u64 },
}

enum Found<'a> {
    Element(Element<'a>, usize),
    More { at_least: usize },
}

/// Where the reply at the beginning of `bytes` ends. One of more than `max_bytes` is an error as soon as its length is
/// known; a line of up to 64 KiB is always taken.
#[inline]
pub fn decode(bytes: &[u8], max_bytes: usize) -> Result<Decoded, Malformed> {
    match common(bytes, max_bytes) {
        Some((_, length)) => Ok(Decoded::Complete { length }),
        None => decode_any(bytes, max_bytes),
    }
}

/// The commonest replies, in few instructions: OK, and texts of less than 10 MB. None for all that is to be looked at
/// closely.
#[inline(always)]
fn common(bytes: &[u8], max_bytes: usize) -> Option<(Reply<'_>, usize)> {
    if bytes.first() != Some(&b'$') {
        return bytes.starts_with(b"+OK\r\n").then_some((Reply::Status(b"OK"), b"+OK\r\n".len()));
    }
    let mut length = 0;
    for at in 1..9 {
        let digit = bytes.get(at)?.wrapping_sub(b'0');
        if digit > 9 {
            let whole = at + length + 4;
            let text = bytes.get(at..whole)?.strip_prefix(b"\r\n")?.strip_suffix(b"\r\n")?;
            return (at > 1 && whole <= max_bytes).then_some((Reply::Text(text), whole));
        }
        length = length * 10 + usize::from(digit);
    }
    None
}

/// How the last text was framed: most replies to the commands of a plan are as long as the one before.
#[derive(Debug)]
pub(super) struct LastText {
    /// The reply's first bytes, and which of them are its head.
    head: u64,
    mask: u64,
    text_at: usize,
    length: usize,
}

impl Default for LastText {
    fn default() -> Self {
        Self { head: 0, mask: u64::MAX, text_at: 0, length: usize::MAX }
    }
}

impl LastText {
    /// The reply at the beginning of `bytes`, if that is a text framed as the last one was.
    #[inline]
    pub fn find<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let reply = bytes.get(..self.length)?;
        let first = u64::from_le_bytes(*reply.first_chunk()?);
        ((first ^ self.head) & self.mask == 0 && reply.ends_with(b"\r\n")).then_some(reply)
    }

    /// The text of a whole `reply`, if that is framed as the last one was.
    #[inline]
    pub fn text<'a>(&self, reply: &'a [u8]) -> Option<&'a [u8]> {
        let is_as_long = reply.len() == self.length;
        self.find(reply).filter(|_| is_as_long)?.get(self.text_at..self.length - 2)
    }

    /// Notes how a complete `reply` is framed, if it is a text.
    pub fn note(&mut self, reply: &[u8]) {
        let (Some((Reply::Text(text), length)), Some(&first)) = (common(reply, reply.len()), reply.first_chunk())
        else {
            return;
        };
        let text_at = length - text.len() - 2;
        if text_at <= first.len() {
            let mask = u64::MAX >> (64 - 8 * text_at);
            *self = Self { head: u64::from_le_bytes(first), mask, text_at, length };
        }
    }
}

fn decode_any(bytes: &[u8], max_bytes: usize) -> Result<Decoded, Malformed> {
    match element(bytes, max_bytes)? {
        Found::Element(Element::Items { .. }, _) => decode_nested(bytes, max_bytes),
        Found::Element(_, length) => Ok(Decoded::Complete { length }),
        Found::More { at_least } => Ok(Decoded::Incomplete { at_least }),
    }
}

fn decode_nested(bytes: &[u8], max_bytes: usize) -> Result<Decoded, Malformed> {
    // Elements still to come on each level; level 0 is the reply itself.
    let mut open = [0u64; DEPTH_MAX];
    open[0] = 1;
    let (mut depth, mut at, mut push) = (0, 0, false);
    loop {
        while open[depth] == 0 {
            if depth == 0 {
                within(at, max_bytes)?;
                return Ok(if push { Decoded::Push { length: at } } else { Decoded::Complete { length: at } });
            }
            depth -= 1;
        }
        let (element, length) = match element(&bytes[at..], max_bytes)? {
            Found::Element(element, length) => (element, length),
            Found::More { at_least } => {
                // A reply is read again from its beginning: one of many elements waits for all that must come.
                let others = open[..=depth].iter().sum::<u64>() - 1;
                let others = if others < MANY_ELEMENTS { 0 } else { others as usize };
                let at_least = at + at_least + ELEMENT_MIN_BYTES * others;
                within(at_least, max_bytes)?;
                return Ok(Decoded::Incomplete { at_least });
            }
        };
        at += length;
        let Element::Items { kind, count } = element else {
            open[depth] -= 1;
            continue;
        };
        match kind {
            // Attributes stand before the element that they belong to and do not count.
            b'|' => {}
            b'>' if depth == 0 => (push, open[depth]) = (true, 0),
            b'>' => return Err(Malformed::NestedPush),
            _ => open[depth] -= 1,
        }
        if count > 0 {
            depth += 1;
            *open.get_mut(depth).ok_or(Malformed::TooDeep)? = count;
        }
    }
}

fn within(length: usize, max_bytes: usize) -> Result<(), Malformed> {
    if length > max_bytes { Err(Malformed::TooLong(max_bytes)) } else { Ok(()) }
}

#[inline]
fn element(bytes: &[u8], max_bytes: usize) -> Result<Found<'_>, Malformed> {
    let Some(&kind) = bytes.first() else { return Ok(Found::More { at_least: 3 }) };
    match kind {
        b'$' | b'!' | b'=' => blob(kind, bytes, max_bytes),
        b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => line(kind, bytes),
        b'*' | b'%' | b'~' | b'>' | b'|' => items(kind, bytes, max_bytes),
        other => Err(Malformed::UnknownType(other)),
    }
}

#[inline]
fn blob(kind: u8, bytes: &[u8], max_bytes: usize) -> Result<Found<'_>, Malformed> {
    let (length, head) = match length_line(bytes, max_bytes)? {
        Length::Is { length, head } => (length, head),
        Length::Null if kind == b'$' => return Ok(Found::Element(Element::Nothing, b"$-1\r\n".len())),
        Length::Null => return Err(Malformed::BadLength),
        Length::More { at_least } => return Ok(Found::More { at_least }),
    };
    let whole = head + length + 2;
    within(whole, max_bytes)?;
    let Some(found) = bytes.get(head..whole) else { return Ok(Found::More { at_least: whole }) };
    let (text, end) = found.split_at(length);
    if end != b"\r\n" {
        return Err(Malformed::BadValue);
    }
    Ok(Found::Element(Element::Blob { kind, text }, whole))
}

fn items(kind: u8, bytes: &[u8], max_bytes: usize) -> Result<Found<'_>, Malformed> {
    let (length, head) = match length_line(bytes, max_bytes)? {
        Length::Is { length, head } => (length as u64, head),
        Length::Null if kind == b'*' => return Ok(Found::Element(Element::Nothing, b"*-1\r\n".len())),
        Length::Null => return Err(Malformed::BadLength),
        Length::More { at_least } => return Ok(Found::More { at_least }),
    };
    let count = if matches!(kind, b'%' | b'|') { length * 2 } else { length };
    if count > (max_bytes / ELEMENT_MIN_BYTES) as u64 {
        return Err(Malformed::TooLong(max_bytes));
    }
    Ok(Found::Element(Element::Items { kind, count }, head))
}

fn line(kind: u8, bytes: &[u8]) -> Result<Found<'_>, Malformed> {
    let end = match memchr::memchr(b'\r', bytes) {
        Some(end) if end <= LINE_MAX_BYTES => end,
        None if bytes.len() <= LINE_MAX_BYTES => return Ok(Found::More { at_least: bytes.len() + 2 }),
        _ => return Err(Malformed::LineTooLong),
    };
    match bytes.get(end + 1) {
        Some(b'\n') => {}
        Some(_) => return Err(Malformed::BadValue),
        None => return Ok(Found::More { at_least: end + 2 }),
    }
    let text = &bytes[1..end];
    let well_formed = match kind {
        b':' | b'(' => is_integer(text),
        b'#' => text == b"t" || text == b"f",
        b'_' => text.is_empty(),
        b',' => !text.is_empty(),
        _ => true,
    };
    if !well_formed {
        return Err(Malformed::BadValue);
    }
    let element = if kind == b'_' { Element::Nothing } else { Element::Line { kind, text } };
    Ok(Found::Element(element, end + 2))
}

enum Length {
    Is { length: usize, head: usize },
    Null,
    More { at_least: usize },
}

/// Reads `<type><digits>\r\n`, or `<type>-1\r\n`.
#[inline]
fn length_line(bytes: &[u8], max_bytes: usize) -> Result<Length, Malformed> {
    let mut length = 0usize;
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return length_end(bytes, at, length);
        }
        // Eleven digits exceed every limit, and ten do not overflow.
        if at > 10 {
            return Err(Malformed::TooLong(max_bytes));
        }
        length = length * 10 + usize::from(digit);
        at += 1;
    }
    Ok(Length::More { at_least: at.max(2) + 2 })
}

#[inline]
fn length_end(bytes: &[u8], at: usize, length: usize) -> Result<Length, Malformed> {
    if at > 1 && bytes[at] == b'\r' {
        return match bytes.get(at + 1) {
            Some(b'\n') => Ok(Length::Is { length, head: at + 2 }),
            Some(_) => Err(Malformed::BadLength),
            None => Ok(Length::More { at_least: at + 2 }),
        };
    }
    let null = b"-1\r\n";
    let rest = &bytes[1..bytes.len().min(1 + null.len())];
    match (null.starts_with(rest), rest.len() == null.len()) {
        (true, true) => Ok(Length::Null),
        (true, false) => Ok(Length::More { at_least: 1 + null.len() }),
        _ => Err(Malformed::BadLength),
    }
}

fn is_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Reads a complete reply, as [`decode`] found it. None for bytes that are not one.
#[inline]
pub fn reply(bytes: &[u8]) -> Option<Reply<'_>> {
    match common(bytes, bytes.len()) {
        Some((reply, _)) => Some(reply),
        None => any_reply(bytes),
    }
}

fn any_reply(mut bytes: &[u8]) -> Option<Reply<'_>> {
    while bytes.first() == Some(&b'|') {
        bytes = after_attributes(bytes)?;
    }
    take(bytes).map(|(reply, _)| reply)
}

/// What follows the attributes at the beginning of `bytes`.
fn after_attributes(bytes: &[u8]) -> Option<&[u8]> {
    let found = element(bytes, bytes.len()).ok()?;
    let Found::Element(Element::Items { kind: b'|', count }, mut at) = found else { return None };
    for _ in 0..count {
        let Ok(Decoded::Complete { length }) = decode(&bytes[at..], bytes.len()) else { return None };
        at += length;
    }
    Some(&bytes[at..])
}

#[inline]
fn take(bytes: &[u8]) -> Option<(Reply<'_>, usize)> {
    let Found::Element(element, length) = element(bytes, bytes.len()).ok()? else { return None };
    let reply = match element {
        Element::Blob { kind: b'$', text } => Reply::Text(text),
        Element::Blob { kind: b'=', text } => Reply::Text(text.get(4..)?), // Behind its format, as `txt:`.
        Element::Blob { text, .. } | Element::Line { kind: b'-', text } => Reply::Error(text),
        Element::Line { kind: b'+', text } => Reply::Status(text),
        Element::Line { kind: b':', text } => Reply::Integer(text),
        Element::Line { .. } => Reply::Other,
        Element::Nothing => Reply::Nothing,
        Element::Items { kind: b'|', .. } => return None,
        Element::Items { count, .. } => Reply::Items(Items { left: count, bytes: &bytes[length..] }),
    };
    Some((reply, length))
}

/// The elements of a complete reply in the order of its bytes: those of an aggregate follow its head.
pub fn elements(mut bytes: &[u8]) -> impl Iterator<Item = Reply<'_>> {
    std::iter::from_fn(move || {
        let (reply, length) = take(bytes)?;
        bytes = &bytes[length..];
        Some(reply)
    })
}

impl<'a> Items<'a> {
    /// The next element if it is a string; None at the end, and for anything else.
    #[inline]
    pub fn next_text(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let (reply, length) = take(self.bytes)?;
        self.bytes = &self.bytes[length..];
        match reply {
            Reply::Text(text) | Reply::Status(text) => Some(text),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
