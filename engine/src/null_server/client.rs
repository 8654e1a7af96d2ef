//! One client of the null server: its socket, where it stands in its input, what is still to be sent.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Registry, Token};

use super::command_reader::{CommandReader, Found};
use super::line_reader::LineReader;
use super::replies::Replies;
use super::request_reader::RequestReader;
use crate::net::stamps;

#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    /// With the time since 1970 at which the last input came, if the kernel stamped it.
    Stamped(TcpStream, Option<u64>),
    Unix(UnixStream),
}

impl Listener {
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Listener::Tcp(listener) => registry.register(listener, token, Interest::READABLE),
            Listener::Unix(listener) => registry.register(listener, token, Interest::READABLE),
        }
    }

    /// `stamped`: it is to be known when input came.
    pub fn accept(&self, stamped: bool) -> io::Result<Stream> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                let stamped = stamped && stamps::request(&stream).is_ok();
                Ok(if stamped { Stream::Stamped(stream, None) } else { Stream::Tcp(stream) })
            }
            Listener::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }

    /// 0 for a Unix socket.
    pub fn port(&self) -> io::Result<u16> {
        match self {
            Listener::Tcp(listener) => listener.local_addr().map(|address| address.port()),
            Listener::Unix(_) => Ok(0),
        }
    }
}

impl Stream {
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match self {
            Stream::Tcp(stream) | Stream::Stamped(stream, _) => registry.register(stream, token, both),
            Stream::Unix(stream) => registry.register(stream, token, both),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Stamped(stream, came_unix_ns) => {
                let (count, stamp) = stamps::receive(stream, buffer)?;
                *came_unix_ns = stamp;
                Ok(count)
            }
            Stream::Unix(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) | Stream::Stamped(stream, _) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }
}

/// A reply from here on is never copied: it is written from where it lies.
const LARGE_REPLY: usize = 16 * 1024;
/// Copies of replies that a client may have waiting. Of what comes on top it is noted which replies they are, so that
/// all clients together hold so much each, however long the replies are and however many clients do not read.
const OUT_MAX_BYTES: usize = 64 * 1024;

/// Where a connection stands in its input.
#[derive(Debug)]
pub(super) enum Reader {
    Resp(CommandReader),
    Http(RequestReader),
    Lines(LineReader),
}

impl Reader {
    /// Goes on with `bytes`, as [`CommandReader::read`] says.
    #[inline]
    pub fn read(&mut self, bytes: &[u8], find: impl Fn(&[u8]) -> usize) -> (usize, Found) {
        match self {
            Reader::Resp(reader) => reader.read(bytes, find),
            Reader::Http(reader) => reader.read(bytes),
            Reader::Lines(reader) => reader.read(bytes, find),
        }
    }
}

#[derive(Debug)]
pub(super) struct Client {
    stream: Stream,
    pub reader: Reader,
    /// Tells this connection from an earlier one in the same place.
    pub serial: u64,
    pub resp3: bool,
    pub answered: u64,
    /// Input that was received and not used yet.
    pub held: Vec<u8>,
    out: Vec<u8>,
    written: usize,
    /// What leaves after `out`, in order.
    waiting: VecDeque<Waiting>,
    /// How much of the first that waits has left.
    first_written: usize,
}

/// What does not fit into `out`.
#[derive(Debug)]
enum Waiting {
    /// The reply to a command, so many times one after the other.
    Replies { command: usize, resp3: bool, times: u64 },
    /// What stands in no table: of a fault.
    Bytes(Vec<u8>),
}

/// What came in.
pub(super) enum Input {
    /// So many bytes in the buffer; whether there may be more.
    Bytes {
        length: usize,
        more: bool,
    },
    Closed,
}

impl Client {
    pub fn new(stream: Stream, reader: Reader, serial: u64) -> Self {
        let (held, out, waiting) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { stream, reader, serial, resp3: false, answered: 0, held, out, written: 0, waiting, first_written: 0 }
    }

    /// Fills `buffer` with the input that was held and what the socket has. `to_end`: the socket is read until it
    /// says that there is nothing left.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8], to_end: bool) -> Input {
        let held = self.held.len();
        buffer[..held].copy_from_slice(&self.held);
        self.held.clear();
        if held > buffer.len() / 2 {
            // Held while the client was too slow: to be used up first.
            return Input::Bytes { length: held, more: true };
        }
        loop {
            let room = &mut buffer[held..];
            return match self.stream.read(room) {
                Ok(0) => Input::Closed,
                Ok(length) => Input::Bytes { length: held + length, more: to_end || length == room.len() },
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Input::Bytes { length: held, more: false },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => Input::Closed,
            };
        }
    }

    /// How long ago the last input came; None where that is not known.
    pub fn ago_ns(&self) -> Option<u64> {
        match self.stream {
            Stream::Stamped(_, came_unix_ns) => came_unix_ns.map(stamps::ago_ns),
            _ => None,
        }
    }

    /// Adds the reply to a command; it may leave at once. The error is that of the socket.
    #[inline]
    pub fn reply(&mut self, replies: &Replies, command: usize) -> io::Result<()> {
        let text = replies.text(command, self.resp3);
        if self.takes(text.len()) {
            self.out.extend_from_slice(text);
            return Ok(());
        }
        self.reply_later(command);
        self.flush(replies)
    }

    /// Notes that this reply is to leave after all that waits.
    fn reply_later(&mut self, command: usize) {
        match self.waiting.back_mut() {
            Some(Waiting::Replies { command: same, resp3, times }) if (*same, *resp3) == (command, self.resp3) => {
                *times += 1;
            }
            _ => self.waiting.push_back(Waiting::Replies { command, resp3: self.resp3, times: 1 }),
        }
    }

    /// Adds other bytes than a reply of the table, which are few.
    pub fn say(&mut self, text: &[u8]) {
        if self.waiting.is_empty() {
            self.out.extend_from_slice(text);
        } else {
            self.waiting.push_back(Waiting::Bytes(text.to_vec()));
        }
    }

    /// Whether a copy of so many bytes may be kept.
    #[inline]
    fn takes(&self, length: usize) -> bool {
        length < LARGE_REPLY && self.waiting.is_empty() && self.out.len() - self.written + length <= OUT_MAX_BYTES
    }

    /// Whether the client takes its replies too slowly to be given more.
    #[inline]
    pub fn is_clogged(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Sends what the socket takes.
    #[inline]
    pub fn flush(&mut self, replies: &Replies) -> io::Result<()> {
        while self.send_copies()? {
            match self.waiting.pop_front() {
                None => break,
                Some(Waiting::Bytes(text)) => self.out = text,
                Some(Waiting::Replies { command, resp3, times }) => {
                    let text = replies.text(command, resp3);
                    let done = if text.len() < LARGE_REPLY { self.copy(text, times) } else { self.send_large(text)? };
                    if done < times {
                        self.waiting.push_front(Waiting::Replies { command, resp3, times: times - done });
                    }
                    if done == 0 {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies a small reply as often as `out`, which is empty, takes it, and at most `times`; returns how often.
    fn copy(&mut self, text: &[u8], times: u64) -> u64 {
        let copies = times.min((OUT_MAX_BYTES / text.len().max(1)) as u64);
        (0..copies).for_each(|_| self.out.extend_from_slice(text));
        copies
    }

    /// Sends what is left of a large reply; returns 1 if all of it has left, else 0.
    fn send_large(&mut self, text: &[u8]) -> io::Result<u64> {
        self.first_written += self.write(&text[self.first_written..])?;
        if self.first_written < text.len() {
            return Ok(0);
        }
        self.first_written = 0;
        Ok(1)
    }

    /// Sends what was copied; whether all of it has left.
    #[inline]
    fn send_copies(&mut self) -> io::Result<bool> {
        if self.out.is_empty() {
            return Ok(true);
        }
        let out = std::mem::take(&mut self.out);
        let sent = self.write(&out[self.written..]);
        self.out = out;
        self.written += sent?;
        if self.written < self.out.len() {
            return Ok(false);
        }
        self.out.clear();
        self.written = 0;
        Ok(true)
    }

    /// Writes until the socket is full; returns what it took.
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.stream.write(&bytes[sent..]) {
                Ok(length) => sent += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }
}
