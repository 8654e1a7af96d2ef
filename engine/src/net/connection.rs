//! One connection: socket, optional TLS, bytes to send, bytes received, operations in flight.
//!
//! Nothing here blocks. A socket is registered once, edge-triggered; bytes that the kernel does not take
//! stay in `out` until it says that there is room again. Where there is a ring (`ring.rs`) that sends and receives, and
//! a connection only keeps what is to be sent.

use super::inbox::Inbox;
use super::stamps;
use super::tls::{TlsConnector, explained};
use super::waiter::Waiter;
use crate::content::outbox::{Outbox, SLICES};
use crate::load::Request;
use crate::plan::Endpoint;
use crate::record::outcome::Phase;
use crate::wire::Reading;
use mio::net::{TcpStream, UnixStream};
use rustls::ClientConnection;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::SocketAddr;

/// An operation in flight.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    pub request: Request,
    pub member: Phase,
    pub intended_ns: u64,
    /// When its first command was sent; 0 until then.
    pub sent_ns: u64,
    /// When its current command was sent.
    pub step_sent_ns: u64,
    /// How the nodes of a cluster sent it on.
    pub redirected: Redirected,
    /// Where that is measured, once it is sent: how much of its time so far is the thread's own, at most. Before: how much
    /// of it is not, having gone by for a connection or an earlier reply.
    pub late_ns: u64,
}

impl Task {
    /// One that was not sent yet.
    #[inline]
    pub fn new(request: Request, member: Phase, intended_ns: u64) -> Self {
        Self {
            request,
            member,
            intended_ns,
            sent_ns: 0,
            step_sent_ns: 0,
            redirected: Redirected::default(),
            late_ns: 0,
        }
    }
}

/// How often the nodes of a cluster sent an operation on to another one, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redirected {
    pub times: u8,
    /// ASKING goes before it, and the reply to that comes first.
    pub asks: bool,
    /// The endpoint that was named last.
    pub to: u16,
}

/// Where connections go, resolved before the load starts.
#[derive(Debug, Clone)]
pub struct Target {
    pub endpoint: Endpoint,
    /// Unused when the endpoint is a Unix socket.
    pub address: Option<SocketAddr>,
    pub tls: Option<TlsConnector>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Closed,
    /// The socket is being connected.
    Connecting,
    /// The handshake's replies that are still to come; with none of them, TLS's own handshake.
    Greeting(usize),
    Ready,
    /// Waits before it is dialled again.
    BackingOff,
}

/// What one attempt to receive brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// So many bytes; whether there may be more.
    Bytes { count: usize, more: bool },
    /// The other side closed the connection.
    Closed,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    /// With the time since 1970 at which the last bytes that were received came, if the kernel stamped them.
    Stamped(TcpStream, Option<u64>),
    Unix(UnixStream),
}

impl Socket {
    /// Begins to connect; what comes is to be stamped, where that is requested and the system does.
    fn connect(target: &Target, stamped: bool) -> io::Result<Self> {
        if let Some(path) = &target.endpoint.unix_path {
            return UnixStream::connect(path).map(Self::Unix);
        }
        let address = target.address.ok_or(ErrorKind::AddrNotAvailable)?;
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        let is_stamped = stamped && stamps::request(&socket).is_ok();
        Ok(if is_stamped { Self::Stamped(socket, None) } else { Self::Tcp(socket) })
    }

    fn add_to(&mut self, waiter: &mut Waiter, number: usize) -> io::Result<()> {
        match self {
            Self::Tcp(socket) | Self::Stamped(socket, _) => waiter.add(socket, number),
            Self::Unix(socket) => waiter.add(socket, number),
        }
    }

    /// Whether the socket is connected by now.
    fn is_connected(&self) -> io::Result<bool> {
        let (error, peer) = match self {
            Self::Tcp(socket) | Self::Stamped(socket, _) => (socket.take_error()?, socket.peer_addr().map(drop)),
            Self::Unix(socket) => (socket.take_error()?, socket.peer_addr().map(drop)),
        };
        match (error, peer) {
            (Some(error), _) => Err(error),
            (None, Ok(())) => Ok(true),
            (None, Err(error)) if error.kind() == ErrorKind::NotConnected => Ok(false),
            (None, Err(error)) => Err(error),
        }
    }
}

impl Read for Socket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read(buffer),
            Self::Stamped(socket, stamp) => {
                let (count, stamped) = stamps::receive(socket, buffer)?;
                *stamp = stamped;
                Ok(count)
            }
            Self::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) | Self::Stamped(socket, _) => socket.write(bytes),
            Self::Unix(socket) => socket.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) | Self::Stamped(socket, _) => socket.write_vectored(slices),
            Self::Unix(socket) => socket.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Line {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

/// One slot of the pool. It keeps its buffers when it is closed and dialled again.
#[derive(Debug)]
pub struct Connection {
    pub target: usize,
    pub state: State,
    /// Until when it must be connected and greeted, or has to back off.
    pub deadline_ns: u64,
    pub backoff_ns: u64,
    pub user: u32,
    pub in_flight: VecDeque<Task>,
    /// How many of the last tasks in `in_flight` are encoded but not yet sent.
    pub unsent_tasks: usize,
    /// Whether it is listed to be flushed.
    pub is_listed: bool,
    /// Whether it is listed to be sent by a ring.
    pub is_offered: bool,
    pub out: Outbox,
    pub inbox: Inbox,
    pub reading: Reading,
    /// Opened since the primary was lost, and without a reply yet.
    pub is_first_since: bool,
    /// Whether it is to be known when bytes come.
    is_stamped: bool,
    /// When the last bytes came that were received, and those received before them, at the earliest; where it is noted.
    arrived_ns: u64,
    arrived_before_ns: u64,
    line: Option<Line>,
}

impl Connection {
    /// One that is closed; `is_stamped`: it is to be known when bytes come; `lends`: it sends long texts from where they are.
    pub fn new(target: usize, depth: usize, is_stamped: bool, lends: bool) -> Self {
        Self {
            target,
            state: State::Closed,
            deadline_ns: 0,
            backoff_ns: 0,
            user: 0,
            in_flight: VecDeque::with_capacity(depth),
            unsent_tasks: 0,
            is_listed: false,
            is_offered: false,
            out: Outbox::new(lends),
            inbox: Inbox::default(),
            reading: Reading::default(),
            is_first_since: false,
            is_stamped,
            arrived_ns: 0,
            arrived_before_ns: 0,
            line: None,
        }
    }

    /// Begins to connect, as number so much of those that a thread waits for.
    pub fn dial(&mut self, target: &Target, waiter: &mut Waiter, number: usize) -> io::Result<()> {
        let mut socket = Socket::connect(target, self.is_stamped)?;
        socket.add_to(waiter, number)?;
        let tls = target.tls.as_ref().map(TlsConnector::connect).transpose().map_err(io::Error::other)?;
        self.line = Some(Line { socket, tls: tls.map(Box::new) });
        self.state = State::Connecting;
        Ok(())
    }

    /// Bytes were received by `now_ns`, and had not come at `floor_ns`.
    pub fn note_arrival(&mut self, now_ns: u64, floor_ns: u64) {
        self.arrived_before_ns = self.arrived_ns;
        let stamp = match &mut self.line {
            Some(Line { socket: Socket::Stamped(_, stamp), .. }) => stamp.take(),
            _ => None,
        };
        // A clock that was set says nothing worse than that it all was the thread's own time.
        let lain_ns = stamp.map(stamps::ago_ns);
        self.arrived_ns = lain_ns.map_or(0, |lain_ns| now_ns.saturating_sub(lain_ns)).max(floor_ns);
    }

    /// When a reply had come at the earliest: one with the last bytes that were received, or with earlier ones of them.
    #[inline]
    pub fn arrived_ns(&self, is_last: bool) -> u64 {
        if is_last { self.arrived_ns } else { self.arrived_before_ns }
    }

    /// Whether a connecting socket is connected by now.
    pub fn is_connected(&self) -> io::Result<bool> {
        self.line.as_ref().map_or(Ok(false), |line| line.socket.is_connected())
    }

    /// Closes the socket and forgets all bytes; the caller accounts for what was in flight.
    pub fn close(&mut self) {
        self.line = None;
        self.state = State::Closed;
        self.out.clear();
        self.inbox.clear();
        self.reading = Reading::default();
        self.unsent_tasks = 0;
    }

    /// Whether a request was sent that is not answered. The last tasks may be encoded and not yet sent: what comes before
    /// that answers none of them.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.unsent_tasks < self.in_flight.len()
    }

    /// Whether it has a socket, greeted or not.
    pub fn is_open(&self) -> bool {
        self.line.is_some()
    }

    /// Whether TLS's handshake is under way.
    pub fn is_handshaking(&self) -> bool {
        self.line.as_ref().and_then(|line| line.tls.as_ref()).is_some_and(|tls| tls.is_handshaking())
    }

    /// Whether there are bytes that the kernel has not taken.
    pub fn has_unwritten(&self) -> bool {
        let in_tls = self.line.as_ref().and_then(|line| line.tls.as_ref()).is_some_and(|tls| tls.wants_write());
        !self.out.is_empty() || in_tls
    }

    /// Notes that everything encoded is sent at `now_ns`.
    #[inline]
    pub fn stamp(&mut self, now_ns: u64) {
        let from = self.in_flight.len().saturating_sub(self.unsent_tasks);
        for task in self.in_flight.range_mut(from..) {
            task.step_sent_ns = now_ns;
            if task.sent_ns == 0 {
                task.sent_ns = now_ns;
            }
        }
        self.unsent_tasks = 0;
    }

    /// Writes what the kernel takes; returns the bytes of the protocol that left.
    #[inline]
    pub fn flush(&mut self) -> io::Result<usize> {
        let Some(line) = &mut self.line else {
            return Ok(0);
        };
        match &mut line.tls {
            None => write_plain(&mut line.socket, &mut self.out),
            Some(tls) => write_tls(&mut line.socket, tls, &mut self.out),
        }
    }

    /// Receives into `inbox`, which is this connection's own or one that connections share.
    #[inline]
    pub fn receive(&mut self, inbox: &mut Inbox) -> io::Result<Received> {
        let Some(line) = &mut self.line else {
            return Ok(Received::Bytes { count: 0, more: false });
        };
        let room = inbox.room();
        let received = match &mut line.tls {
            None => read_plain(&mut line.socket, room)?,
            Some(tls) => read_tls(&mut line.socket, tls, room)?,
        };
        if let Received::Bytes { count, .. } = received {
            inbox.add(count);
        }
        Ok(received)
    }
}

/// Writes what the kernel takes; returns how much that is.
#[inline]
fn write_plain(socket: &mut Socket, out: &mut Outbox) -> io::Result<usize> {
    let mut written = 0;
    while !out.is_empty() {
        match write_once(socket, out) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                out.took(count);
                written += count;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

#[inline]
fn write_once(socket: &mut Socket, out: &Outbox) -> io::Result<usize> {
    if !out.has_lent() {
        return socket.write(out.unwritten());
    }
    let mut room = [IoSlice::new(&[]); SLICES];
    let count = out.slices(&mut room);
    socket.write_vectored(&room[..count])
}

fn write_tls(socket: &mut Socket, tls: &mut ClientConnection, out: &mut Outbox) -> io::Result<usize> {
    let mut written = 0;
    loop {
        if !out.is_empty() {
            let count = tls.writer().write(out.unwritten())?;
            out.took(count);
            written += count;
        }
        while tls.wants_write() {
            match tls.write_tls(socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(written),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if out.is_empty() || tls.is_handshaking() {
            return Ok(written);
        }
    }
}

/// A read that fills less than the room there is has emptied the socket.
fn read_plain(socket: &mut Socket, room: &mut [u8]) -> io::Result<Received> {
    loop {
        match socket.read(room) {
            Ok(0) => return Ok(Received::Closed),
            Ok(count) => return Ok(Received::Bytes { count, more: count == room.len() }),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Ok(Received::Bytes { count: 0, more: false });
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn read_tls(socket: &mut Socket, tls: &mut ClientConnection, room: &mut [u8]) -> io::Result<Received> {
    loop {
        match tls.reader().read(room) {
            Ok(0) => return Ok(Received::Closed),
            Ok(count) => return Ok(Received::Bytes { count, more: true }),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(Received::Closed),
            Err(error) => return Err(error),
        }
        match tls.read_tls(socket) {
            Ok(0) => return Ok(Received::Closed),
            Ok(_) => {
                let processed = tls.process_new_packets();
                // An alert that says why, or the next message of the handshake.
                while tls.wants_write() && tls.write_tls(socket).is_ok() {}
                processed.map_err(|error| io::Error::other(explained(&error)))?;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Ok(Received::Bytes { count: 0, more: false });
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
