//! A line to a server: socket, optional TLS, bytes to send and bytes received.
//!
//! Nothing here blocks. A socket is registered once, edge-triggered; bytes that the kernel does not take
//! stay in `out` until it says that there is room again. Where there is a ring (`ring.rs`) that sends and receives, and
//! a line only keeps what is to be sent.

use super::inbox::Inbox;
use super::stamps;
use super::tls::{TlsConnector, explained};
use super::waiter::Waiter;
use crate::content::send_buffer::{SLICES, SendBuffer};
use crate::plan::Endpoint;
use mio::net::{TcpStream, UnixStream};
use rustls::ClientConnection;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::SocketAddr;

/// Where connections go, resolved before the load starts.
#[derive(Debug, Clone)]
pub struct Target {
    pub endpoint: Endpoint,
    /// Unused when the endpoint is a Unix socket.
    pub address: Option<SocketAddr>,
    pub tls: Option<TlsConnector>,
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
    #[cfg(test)]
    Simulated(super::simulated::Socket),
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
            #[cfg(test)]
            Self::Simulated(_) => Ok(()),
        }
    }

    /// Whether the socket is connected by now.
    fn is_connected(&self) -> io::Result<bool> {
        let (error, peer) = match self {
            #[cfg(test)]
            Self::Simulated(socket) => return socket.is_connected(),
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
            #[cfg(test)]
            Self::Simulated(socket) => socket.read(buffer),
        }
    }
}

impl Write for Socket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) | Self::Stamped(socket, _) => socket.write(bytes),
            Self::Unix(socket) => socket.write(bytes),
            #[cfg(test)]
            Self::Simulated(socket) => socket.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) | Self::Stamped(socket, _) => socket.write_vectored(slices),
            Self::Unix(socket) => socket.write_vectored(slices),
            #[cfg(test)]
            Self::Simulated(socket) => {
                socket.write(&slices.iter().flat_map(|one| one.iter().copied()).collect::<Vec<u8>>())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket that is connected, or being connected.
#[derive(Debug)]
struct Open {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
}

/// It keeps its buffers when it is closed and dialled again.
#[derive(Debug)]
pub struct Line {
    pub out: SendBuffer,
    pub inbox: Inbox,
    /// Whether it is to be known when bytes come.
    is_stamped: bool,
    /// When the last bytes came that were received, and those received before them, at the earliest; where it is noted.
    arrived_ns: u64,
    arrived_before_ns: u64,
    open: Option<Open>,
}

impl Line {
    /// One that is closed; `is_stamped`: it is to be known when bytes come; `lends`: it sends long texts from where they are.
    pub fn new(is_stamped: bool, lends: bool) -> Self {
        Self {
            out: SendBuffer::new(lends),
            inbox: Inbox::default(),
            is_stamped,
            arrived_ns: 0,
            arrived_before_ns: 0,
            open: None,
        }
    }

    /// Begins to connect, as number so much of those that a thread waits for.
    pub fn dial(&mut self, target: &Target, waiter: &mut Waiter, number: usize) -> io::Result<()> {
        #[cfg(not(test))]
        let mut socket = Socket::connect(target, self.is_stamped)?;
        #[cfg(test)]
        let mut socket = if waiter.is_simulated() {
            Socket::Simulated(super::simulated::Socket::connect(number))
        } else {
            Socket::connect(target, self.is_stamped)?
        };
        socket.add_to(waiter, number)?;
        let tls = target.tls.as_ref().map(TlsConnector::connect).transpose().map_err(io::Error::other)?;
        self.open = Some(Open { socket, tls: tls.map(Box::new) });
        Ok(())
    }

    /// Bytes were received by `now_ns`, and had not come at `floor_ns`.
    pub fn note_arrival(&mut self, now_ns: u64, floor_ns: u64) {
        self.arrived_before_ns = self.arrived_ns;
        let stamp = match &mut self.open {
            Some(Open { socket: Socket::Stamped(_, stamp), .. }) => stamp.take(),
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
        self.open.as_ref().map_or(Ok(false), |open| open.socket.is_connected())
    }

    /// Closes the socket and forgets all bytes.
    pub fn close(&mut self) {
        self.open = None;
        self.out.clear();
        self.inbox.clear();
    }

    /// Whether it has a socket, greeted or not.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether TLS's handshake is under way.
    pub fn is_handshaking(&self) -> bool {
        self.open.as_ref().and_then(|open| open.tls.as_ref()).is_some_and(|tls| tls.is_handshaking())
    }

    /// Whether there are bytes that the kernel has not taken.
    pub fn has_unwritten(&self) -> bool {
        let in_tls = self.open.as_ref().and_then(|open| open.tls.as_ref()).is_some_and(|tls| tls.wants_write());
        !self.out.is_empty() || in_tls
    }

    /// Writes what the kernel takes; returns the bytes of the protocol that left.
    #[inline]
    pub fn flush(&mut self) -> io::Result<usize> {
        let Some(open) = &mut self.open else {
            return Ok(0);
        };
        match &mut open.tls {
            None => write_plain(&mut open.socket, &mut self.out),
            Some(tls) => write_tls(&mut open.socket, tls, &mut self.out),
        }
    }

    /// Receives into `inbox`, which is this connection's own or one that connections share.
    #[inline]
    pub fn receive(&mut self, inbox: &mut Inbox) -> io::Result<Received> {
        let Some(open) = &mut self.open else {
            return Ok(Received::Bytes { count: 0, more: false });
        };
        let room = inbox.room();
        let received = match &mut open.tls {
            None => read_plain(&mut open.socket, room)?,
            Some(tls) => read_tls(&mut open.socket, tls, room)?,
        };
        if let Received::Bytes { count, .. } = received {
            inbox.add(count);
        }
        Ok(received)
    }
}

/// Writes what the kernel takes; returns how much that is.
#[inline]
fn write_plain(socket: &mut Socket, out: &mut SendBuffer) -> io::Result<usize> {
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
fn write_once(socket: &mut Socket, out: &SendBuffer) -> io::Result<usize> {
    if !out.has_lent() {
        return socket.write(out.unwritten());
    }
    let mut room = [IoSlice::new(&[]); SLICES];
    let count = out.slices(&mut room);
    socket.write_vectored(&room[..count])
}

fn write_tls(socket: &mut Socket, tls: &mut ClientConnection, out: &mut SendBuffer) -> io::Result<usize> {
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
