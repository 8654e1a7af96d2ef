//! Where the replies of HTTP servers end.
//!
//! [`decode`] takes the bytes of a reply as they come and releases them at once: what it must remember is in a
//! [`Reading`] of a few fields a connection. A body is kept only if a check reads it, and copied only if it did not
//! come in one piece.

use crate::wire::Decoded;
use crate::wire::example::EXAMPLE_BYTES;
use httparse::{Header, ParserConfig, Response, Status};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The longest head, line of a chunk or block of trailers taken.
pub const HEAD_MAX_BYTES: usize = 64 * 1024;
/// The longest head that is kept to be compared with the next.
const HEAD_KEPT_BYTES: usize = 1024;
/// What is kept of a status line; its reason may be as long as the server likes.
const STATUS_LINE_BYTES: usize = 1024;
/// The lowest status that is not the success of a request.
const REFUSED: u16 = 300;
/// The most headers of a reply.
const HEADERS_MAX: usize = 128;

/// Bytes that are not an HTTP/1.1 reply, or beyond the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("the reply is not HTTP: {0}")]
    Head(httparse::Error),
    #[error("a reply's head is longer than {HEAD_MAX_BYTES} bytes or has more than {HEADERS_MAX} headers")]
    HeadTooLong,
    #[error("a reply's status is not 100 to 599")]
    Status,
    #[error("a reply switches to another protocol, which was not requested")]
    Switches,
    #[error("a reply's Content-Length is not one number")]
    Length,
    #[error("a reply has both Content-Length and Transfer-Encoding")]
    TwoLengths,
    #[error("a chunk of a reply has no proper size or end")]
    Chunk,
    #[error("a body to be checked is longer than {0} bytes, which verify.reply_max_bytes of the plan can raise")]
    TooLong(usize),
    #[error("bytes came that answer no request")]
    Unrequested,
}

/// What the decoder must know of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requested {
    /// The reply has no body, whatever its head says.
    pub is_head: bool,
    /// A check reads the body, which may be so long; None: it is released.
    pub kept_max_bytes: Option<usize>,
}

/// Where a reply stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Head,
    /// So many bytes of the body are to come.
    Length(u64),
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
    UntilClose,
}

/// How a connection that was closed leaves the reply it was at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// That was the end of the reply.
    Complete,
    /// Nothing of a reply had come.
    BeforeReply,
    Truncated,
}

/// What is remembered of the reply that a connection is receiving.
#[derive(Debug, Default)]
pub struct Reading {
    stage: Stage,
    status: u16,
    begun: bool,
    closes: bool,
    /// Where the body lies in the last bytes of the reply, if it came in one piece.
    piece: Option<Range<usize>>,
    body: Vec<u8>,
    /// That of the last refusal whose body came after its head.
    status_line: Vec<u8>,
}

impl Reading {
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the connection is of no more use after this reply.
    pub fn closes(&self) -> bool {
        self.closes
    }

    /// The body, if it was to be kept; `reply` are the last bytes of the reply.
    pub fn body<'a>(&'a self, reply: &'a [u8]) -> &'a [u8] {
        match &self.piece {
            Some(range) => reply.get(range.clone()).unwrap_or(&[]),
            None => &self.body,
        }
    }

    /// Goes on to the next reply. A buffer that was in use goes to those that are spare.
    pub fn restart(&mut self, kept: &mut Kept) {
        (self.stage, self.begun, self.piece) = (Stage::Head, false, None);
        if self.body.capacity() > 0 {
            self.body.clear();
            kept.spares.push(std::mem::take(&mut self.body));
        }
    }

    /// What the end of the connection makes of the reply; `unread` bytes were not decoded.
    pub fn ending(&self, unread: usize) -> Ending {
        match self.stage {
            Stage::UntilClose => Ending::Complete,
            Stage::Head if !self.begun && unread == 0 => Ending::BeforeReply,
            _ => Ending::Truncated,
        }
    }

    fn keep(&mut self, bytes: &[u8], max_bytes: usize, kept: &mut Kept) -> Result<(), Malformed> {
        if self.body.capacity() == 0 {
            self.body = kept.spares.pop().unwrap_or_default();
        }
        if self.body.len() + bytes.len() > max_bytes {
            return Err(Malformed::TooLong(max_bytes));
        }
        self.body.extend_from_slice(bytes);
        Ok(())
    }

    /// The status line of the reply, as far as it is still there: `reply` are the last bytes of it.
    pub fn status_line<'a>(&'a self, reply: &'a [u8]) -> Option<&'a [u8]> {
        let status = self.status.to_string();
        let is_of_it = |line: &&[u8]| line.starts_with(b"HTTP/1.") && line.get(9..12) == Some(status.as_bytes());
        [first_line(reply), &self.status_line].into_iter().find(is_of_it)
    }

    #[cold]
    fn keep_status_line(&mut self, head: &[u8]) {
        self.status_line.clear();
        self.status_line.extend_from_slice(first_line(head));
    }

    /// Of a refusal as much is kept as a person is shown of it.
    #[cold]
    fn keep_beginning(&mut self, bytes: &[u8], kept: &mut Kept) {
        let room = EXAMPLE_BYTES.saturating_sub(self.body.len());
        // It is as long as there is room for, and so not too long.
        let _ = self.keep(&bytes[..bytes.len().min(room)], EXAMPLE_BYTES, kept);
    }
}

/// The beginning of `bytes` up to the end of a line, as much as an example may have of a status line.
fn first_line(bytes: &[u8]) -> &[u8] {
    let line = bytes.split(|byte| b"\r\n".contains(byte)).next().unwrap_or(bytes);
    &line[..line.len().min(STATUS_LINE_BYTES)]
}

/// What a thread keeps from one reply to the next, of whatever connection.
#[derive(Debug, Default)]
pub struct Kept {
    /// Buffers for bodies that come in parts.
    spares: Vec<Vec<u8>>,
    /// The last head that was read, and what it says: most replies of a server have the same, as long as their date is.
    head_bytes: Vec<u8>,
    head: Head,
    is_head: bool,
}

impl Kept {
    /// As [`read_head`].
    #[inline]
    fn read_head(&mut self, bytes: &[u8], is_head: bool) -> Result<Option<(Option<Head>, usize)>, Malformed> {
        if !self.head_bytes.is_empty() && self.is_head == is_head && bytes.starts_with(&self.head_bytes) {
            return Ok(Some((Some(self.head), self.head_bytes.len())));
        }
        let read = read_head(bytes, is_head)?;
        if let Some((Some(head), length)) = read
            && length <= HEAD_KEPT_BYTES
        {
            self.head_bytes.clear();
            self.head_bytes.extend_from_slice(&bytes[..length]);
            (self.head, self.is_head) = (head, is_head);
        }
        Ok(read)
    }
}

/// Goes on with the reply to what was `requested`.
#[inline]
pub fn decode(
    reading: &mut Reading,
    requested: Option<Requested>,
    bytes: &[u8],
    kept: &mut Kept,
) -> Result<Decoded, Malformed> {
    let Some(requested) = requested else { return Err(Malformed::Unrequested) };
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        match reading.stage {
            Stage::Head => {
                let Some((head, length)) = kept.read_head(rest, requested.is_head)? else { return partial(at, rest) };
                at += length;
                reading.begun = true;
                let Some(head) = head else { continue };
                (reading.status, reading.closes, reading.stage) = (head.status, head.closes, head.body);
                match head.body {
                    Stage::Head => return Ok(Decoded::Complete { length: at }),
                    Stage::Length(left)
                        if requested.kept_max_bytes.is_some_and(|max_bytes| left > max_bytes as u64) =>
                    {
                        return Err(Malformed::TooLong(requested.kept_max_bytes.unwrap_or_default()));
                    }
                    Stage::Length(left) if (rest.len() - length) as u64 >= left => {
                        reading.piece = Some(at..at + left as usize);
                        return Ok(Decoded::Complete { length: at + left as usize });
                    }
                    _ if head.status >= REFUSED => reading.keep_status_line(&rest[..length]),
                    _ => {}
                }
            }
            Stage::Length(0) => return Ok(Decoded::Complete { length: at }),
            Stage::Chunk(0) => reading.stage = Stage::ChunkEnd,
            Stage::Length(_) | Stage::Chunk(_) | Stage::UntilClose if rest.is_empty() => {
                return Ok(if at > 0 { Decoded::Part { length: at } } else { Decoded::Incomplete { at_least: 1 } });
            }
            Stage::Length(_) | Stage::Chunk(_) | Stage::UntilClose => {
                let taken = take_body(&mut reading.stage, rest.len());
                match requested.kept_max_bytes {
                    Some(max_bytes) => reading.keep(&rest[..taken], max_bytes, kept)?,
                    None if reading.status >= REFUSED => reading.keep_beginning(&rest[..taken], kept),
                    None => {}
                }
                at += taken;
            }
            // httparse takes a line without a number for a chunk of length 0.
            Stage::ChunkSize if rest.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => {
                return Err(Malformed::Chunk);
            }
            Stage::ChunkSize => match httparse::parse_chunk_size(rest) {
                Ok(Status::Complete((length, size))) => {
                    at += length;
                    reading.stage = if size == 0 { Stage::Trailers } else { Stage::Chunk(size) };
                }
                Ok(Status::Partial) => return partial(at, rest),
                Err(_) => return Err(Malformed::Chunk),
            },
            Stage::ChunkEnd => match rest {
                [b'\r', b'\n', ..] => {
                    at += 2;
                    reading.stage = Stage::ChunkSize;
                }
                [] | [b'\r'] => return partial(at, rest),
                _ => return Err(Malformed::Chunk),
            },
            Stage::Trailers => match read_trailers(rest)? {
                Some(length) => return Ok(Decoded::Complete { length: at + length }),
                None => return partial(at, rest),
            },
        }
    }
}

/// Whether a server says in `bytes` why it closes a connection that idles: that is the reply to no request.
pub(in crate::wire) fn is_idle_timeout(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HTTP/1.") && bytes.get(8..12) == Some(b" 408")
}

/// Counts bytes of the body off; returns how many of `there` belong to it.
fn take_body(stage: &mut Stage, there: usize) -> usize {
    match stage {
        Stage::Length(left) | Stage::Chunk(left) => {
            let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(there);
            *left -= taken as u64;
            taken
        }
        _ => there,
    }
}

/// `rest` needs more bytes before it can be read; what stood before it is done with.
fn partial(done: usize, rest: &[u8]) -> Result<Decoded, Malformed> {
    match done {
        0 if rest.len() >= HEAD_MAX_BYTES => Err(Malformed::HeadTooLong),
        0 => Ok(Decoded::Incomplete { at_least: rest.len() + 1 }),
        _ => Ok(Decoded::Part { length: done }),
    }
}

fn head_error(error: httparse::Error) -> Malformed {
    if error == httparse::Error::TooManyHeaders { Malformed::HeadTooLong } else { Malformed::Head(error) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Head {
    status: u16,
    closes: bool,
    /// Where the reply stands after its head; [`Stage::Head`] if it has no body.
    body: Stage,
}

/// Reads the head at the beginning of `bytes`, and says how long it is; the head is None for one that only
/// announces another. Its stack is not that of whoever receives.
#[inline(never)]
fn read_head(bytes: &[u8], is_head: bool) -> Result<Option<(Option<Head>, usize)>, Malformed> {
    let mut headers = [const { MaybeUninit::<Header>::uninit() }; HEADERS_MAX];
    let mut response = Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
    let Status::Complete(length) = parsed.map_err(head_error)? else { return Ok(None) };
    let status = response.code.unwrap_or(0);
    match status {
        101 => return Err(Malformed::Switches),
        100..200 => return Ok(Some((None, length))),
        200..600 => {}
        _ => return Err(Malformed::Status),
    }
    let fields = Fields::of(response.headers, response.version == Some(0))?;
    let body = match fields {
        _ if is_head || matches!(status, 204 | 304) => Stage::Head,
        Fields { chunked: true, .. } => Stage::ChunkSize,
        Fields { encoded: true, .. } | Fields { length: None, .. } => Stage::UntilClose,
        Fields { length: Some(length), .. } => Stage::Length(length),
    };
    let closes = fields.closes || body == Stage::UntilClose;
    Ok(Some((Some(Head { status, closes, body }), length)))
}

/// How long the trailers at the beginning of `bytes` are, if they are all there.
#[inline(never)]
fn read_trailers(bytes: &[u8]) -> Result<Option<usize>, Malformed> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    Ok(match httparse::parse_headers(bytes, &mut headers).map_err(head_error)? {
        Status::Complete((length, _)) => Some(length),
        Status::Partial => None,
    })
}

/// What the headers say about the end of the reply and of the connection.
#[derive(Debug, Clone, Copy, Default)]
struct Fields {
    length: Option<u64>,
    /// There is a Transfer-Encoding...
    encoded: bool,
    /// ...and its last value is `chunked`.
    chunked: bool,
    closes: bool,
}

impl Fields {
    #[inline]
    fn of(headers: &[Header], is_old: bool) -> Result<Self, Malformed> {
        let mut fields = Fields { closes: is_old, ..Fields::default() };
        for Header { name, value } in headers {
            // Most names differ by their length.
            match name.len() {
                14 if name.eq_ignore_ascii_case("content-length") => {
                    let length = content_length(value).ok_or(Malformed::Length)?;
                    if fields.length.is_some_and(|other| other != length) {
                        return Err(Malformed::Length);
                    }
                    fields.length = Some(length);
                }
                17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                    fields.encoded = true;
                    fields.chunked =
                        listed(value).next_back().is_some_and(|item| item.eq_ignore_ascii_case(b"chunked"));
                }
                10 if name.eq_ignore_ascii_case("connection") => {
                    if listed(value).any(|item| item.eq_ignore_ascii_case(b"close")) {
                        fields.closes = true;
                    } else if listed(value).any(|item| item.eq_ignore_ascii_case(b"keep-alive")) {
                        fields.closes = false;
                    }
                }
                _ => {}
            }
        }
        if fields.encoded && fields.length.is_some() { Err(Malformed::TwoLengths) } else { Ok(fields) }
    }
}

fn content_length(value: &[u8]) -> Option<u64> {
    // `parse` alone would take a sign.
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()
}

fn listed(value: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests;
