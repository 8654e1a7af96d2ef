//! One connection through the line: the client's socket, the server's, and what is on its way between them.

use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, SocketAddr};

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::path::{End, Path};
use crate::net::stamps;

/// The two sides of a connection, and where they stand in what each pair has two of.
pub(super) const CLIENT: usize = 0;
pub(super) const SERVER: usize = 1;

pub(super) fn other(side: usize) -> usize {
    1 - side
}

/// What became of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Stays,
    /// Both sides have ended, and know it of each other.
    Over,
    /// It is lost: both sides are to see a reset.
    Lost,
}

#[derive(Debug)]
pub(super) struct Pair {
    /// Tells it from an earlier one in the same place.
    pub serial: u64,
    pub streams: [TcpStream; 2],
    /// By the side that sends.
    pub paths: [Path; 2],
    /// By the side that sends: what comes before counts as sent then.
    pub not_before_ns: [u64; 2],
    /// Whether a side said that nothing more comes: it is read until the system says so, too.
    pub to_end: [bool; 2],
    is_connected: bool,
}

impl Pair {
    /// Begins to connect to the server.
    pub fn new(client: TcpStream, server: SocketAddr, serial: u64, not_before_ns: [u64; 2]) -> io::Result<Self> {
        let server = TcpStream::connect(server)?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
            // Where that is refused, bytes came when they are read.
            let _ = stamps::request(stream);
        }
        Ok(Self {
            serial,
            streams: [client, server],
            paths: [Path::default(), Path::default()],
            not_before_ns,
            to_end: [false; 2],
            is_connected: false,
        })
    }

    /// The client's socket has the token `first`, the server's the next one.
    pub fn register(&mut self, registry: &Registry, first: usize) -> io::Result<()> {
        for (side, stream) in self.streams.iter_mut().enumerate() {
            registry.register(stream, Token(first + side), Interest::READABLE | Interest::WRITABLE)?;
        }
        Ok(())
    }

    /// Notes what an event says of a side.
    pub fn note(&mut self, side: usize, event: &Event) -> Fate {
        if side == SERVER && !self.is_connected {
            match is_connected(&self.streams[SERVER]) {
                Ok(connected) => self.is_connected = connected,
                Err(_) => return Fate::Lost,
            }
        }
        if event.is_writable() {
            self.paths[other(side)].is_clogged = false;
        }
        self.to_end[side] |= event.is_read_closed() || event.is_error();
        Fate::Stays
    }

    /// Writes what is due up to `upto_ns` from a side to the other; calls `left` as `Path::open_due` does.
    pub fn deliver(&mut self, from: usize, upto_ns: u64, left: impl FnMut(u64)) -> Fate {
        let path = &mut self.paths[from];
        path.open_due(upto_ns, left);
        if from == CLIENT && !self.is_connected {
            path.is_clogged = true;
            return Fate::Stays;
        }
        while !path.due().is_empty() {
            match self.streams[other(from)].write(path.due()) {
                Ok(count) => path.left(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    path.is_clogged = true;
                    return Fate::Stays;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Fate::Lost,
            }
        }
        match self.paths[from].take_end(upto_ns) {
            None => Fate::Stays,
            Some(End::Reset) => Fate::Lost,
            Some(End::Finished) => {
                // Refused where the other side is gone, which its own socket says.
                let _ = self.streams[other(from)].shutdown(Shutdown::Write);
                if self.paths.iter().all(Path::is_done) { Fate::Over } else { Fate::Stays }
            }
        }
    }

    pub fn held_bytes(&self) -> usize {
        self.paths.iter().map(Path::held_bytes).sum()
    }

    /// How many sides take no more for now.
    pub fn clogged(&self) -> usize {
        self.paths.iter().filter(|path| path.is_clogged).count()
    }

    /// Closes both sides by a reset.
    pub fn reset(self) {
        self.streams.iter().for_each(close_by_reset);
    }
}

/// Whether a connecting socket is connected by now.
fn is_connected(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

/// The socket's close is a reset.
pub(super) fn close_by_reset(stream: &TcpStream) {
    use std::os::fd::AsRawFd;
    let now = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the option is a linger that lives through the call. Where it is refused the close is a usual one.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const now).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        );
    }
}
