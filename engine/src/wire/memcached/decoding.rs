//! Where the replies of memcached end, and what a complete one holds.
//!
//! A reply is a line that begins with a code; behind the line of `VA` come so many bytes of data. [`decode`] finds where
//! it ends without allocating; [`reply`] reads a complete one.

use crate::content::values::number;
use crate::wire::Decoded;
use crate::wire::reply::Reply;

/// The longest line taken: a code with a key and flags, or an error.
const LINE_MAX_BYTES: usize = 4096;
/// The shortest reply, as `HD\r\n`.
const REPLY_MIN_BYTES: usize = 4;
/// Digits of a length: eleven exceed every limit.
const LENGTH_DIGITS_MAX: usize = 10;

/// Bytes that are no reply of the meta protocol, or beyond the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("a reply begins with bytes {0:#04x} {1:#04x}, which are no code of memcached's meta protocol")]
    UnknownCode(u8, u8),
    #[error("the length of a value is not a number")]
    BadLength,
    #[error("a reply lacks its line end")]
    BadEnd,
    #[error("a reply is longer than {0} bytes, which verify.reply_max_bytes of the plan can raise")]
    TooLong(usize),
    #[error("a line of a reply is longer than {LINE_MAX_BYTES} bytes")]
    LineTooLong,
}

/// What a reply's code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    Done,
    Value,
    Nothing,
    NotStored,
    Error,
    /// To the login.
    Stored,
}

/// Where the reply at the beginning of `bytes` ends. One of more than `max_bytes` is an error as soon as its length is
/// known.
#[inline]
pub fn decode(bytes: &[u8], max_bytes: usize) -> Result<Decoded, Malformed> {
    let Some(line) = line(bytes)? else {
        return Ok(Decoded::Incomplete { at_least: REPLY_MIN_BYTES.max(bytes.len() + 1) });
    };
    let head = line.len() + 2;
    if code(line)? != Code::Value {
        return Ok(Decoded::Complete { length: head });
    }
    let whole = head + value_bytes(line, max_bytes)? + 2;
    if whole > max_bytes {
        return Err(Malformed::TooLong(max_bytes));
    }
    match bytes.get(whole - 2..whole) {
        None => Ok(Decoded::Incomplete { at_least: whole }),
        Some(b"\r\n") => Ok(Decoded::Complete { length: whole }),
        Some(_) => Err(Malformed::BadEnd),
    }
}

/// The line at the beginning of `bytes`, without its end; None where that did not come yet. Bytes that no reply begins
/// with are an error at once.
#[inline]
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    if let [first, second, ..] = *bytes
        && beginning(first, second).is_none()
    {
        return Err(Malformed::UnknownCode(first, second));
    }
    let end = match memchr::memchr(b'\r', bytes) {
        Some(end) if end <= LINE_MAX_BYTES => end,
        None if bytes.len() <= LINE_MAX_BYTES => return Ok(None),
        _ => return Err(Malformed::LineTooLong),
    };
    match bytes.get(end + 1) {
        None => Ok(None),
        Some(b'\n') => Ok(Some(&bytes[..end])),
        Some(_) => Err(Malformed::BadEnd),
    }
}

/// What a reply that begins with these two bytes is, and its first word, if there is such a reply.
#[inline]
fn beginning(first: u8, second: u8) -> Option<(Code, &'static str)> {
    Some(match [first, second] {
        [b'H', b'D'] => (Code::Done, "HD"),
        [b'V', b'A'] => (Code::Value, "VA"),
        [b'E', b'N'] => (Code::Nothing, "EN"),
        [b'N', b'F'] => (Code::Nothing, "NF"),
        [b'N', b'S'] => (Code::NotStored, "NS"),
        [b'E', b'X'] => (Code::NotStored, "EX"),
        [b'M', b'N'] => (Code::Done, "MN"),
        [b'E', b'R'] => (Code::Error, "ERROR"),
        [b'C', b'L'] => (Code::Error, "CLIENT_ERROR"),
        [b'S', b'E'] => (Code::Error, "SERVER_ERROR"),
        [b'S', b'T'] => (Code::Stored, "STORED"),
        _ => return None,
    })
}

/// The code of a whole line.
#[inline]
fn code(line: &[u8]) -> Result<Code, Malformed> {
    let [first, second, ..] = *line else { return Err(Malformed::BadEnd) };
    match beginning(first, second) {
        Some((code, word))
            if line.strip_prefix(word.as_bytes()).is_some_and(|rest| matches!(rest, [] | [b' ', ..])) =>
        {
            Ok(code)
        }
        _ => Err(Malformed::UnknownCode(first, second)),
    }
}

/// The length in a line as `VA 100 t60`.
#[inline]
fn value_bytes(line: &[u8], max_bytes: usize) -> Result<usize, Malformed> {
    let rest = line.get(3..).unwrap_or_default();
    let digits = &rest[..memchr::memchr(b' ', rest).unwrap_or(rest.len())];
    if digits.len() > LENGTH_DIGITS_MAX && digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::TooLong(max_bytes));
    }
    number(digits).and_then(|length| usize::try_from(length).ok()).ok_or(Malformed::BadLength)
}

/// Reads a complete reply, as [`decode`] found it. None for bytes that are not one.
#[inline]
pub fn reply(bytes: &[u8]) -> Option<Reply<'_>> {
    let line = line(bytes).ok()??;
    Some(match code(line).ok()? {
        Code::Done => Reply::Status(b"OK"),
        Code::Value => Reply::Text(bytes.get(line.len() + 2..)?.strip_suffix(b"\r\n")?),
        Code::Nothing => Reply::Nothing,
        Code::NotStored => Reply::NotStored,
        Code::Error => Reply::Error(line),
        Code::Stored => Reply::Other,
    })
}

#[cfg(test)]
mod tests;
