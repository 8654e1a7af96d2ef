//! The null server's thread: accepts, reads, answers; or holds replies back until they are due.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::event::Event;
use mio::net::{TcpListener, UnixListener};
use mio::{Events, Token, Waker};

use crate::clock::{Clock, SECOND_NS, from_s};
use crate::wait::{WAKER, Waiter};

use super::command::{CommandReader, Found};
use super::connection::{Connection, Input, Listener, Reader};
use super::replies::{FIRST_AFTER_HANDSHAKE, HELLO, Replies};
use super::request::RequestReader;
use super::{Fault, NullOptions, NullProtocol, State, resolve};

const LISTENER: Token = Token(usize::MAX - 1);
const EVENTS: usize = 1024;
const BUFFER_BYTES: usize = 256 * 1024;
/// How long the thread sleeps when nothing is due.
const LONGEST_WAIT_NS: u64 = 3600 * SECOND_NS;
/// Connections that a test of many users needs.
const OPEN_FILES: u64 = 110_000;

/// A reply that is not due yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    due_ns: u64,
    place: usize,
    serial: u64,
    command: usize,
}

/// When replies may leave.
#[derive(Debug)]
struct Timing {
    delay_ns: u64,
    busy_ns: u64,
    freeze_every_ns: u64,
    freeze_ns: u64,
}

impl Timing {
    fn is_needed(&self) -> bool {
        self.delay_ns + self.busy_ns + self.freeze_ns > 0
    }

    /// `due_ns`, or the end of the freeze that it falls into; in nanoseconds since the start.
    fn leave_at(&self, due_ns: u64) -> u64 {
        if self.freeze_ns == 0 {
            return due_ns;
        }
        let phase_ns = due_ns % self.freeze_every_ns;
        let frozen = phase_ns >= self.freeze_every_ns - self.freeze_ns;
        if frozen { due_ns + (self.freeze_every_ns - phase_ns) } else { due_ns }
    }
}

pub(super) struct EventLoop {
    state: Arc<State>,
    clock: Clock,
    waiter: Waiter,
    listener: Listener,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    buffer: Vec<u8>,
    protocol: NullProtocol,
    replies: Replies,
    timing: Timing,
    /// In the order in which they are due.
    pending: VecDeque<Pending>,
    fault: Option<Fault>,
    answered: u64,
    accepted: u64,
}

/// The connection is of no more use.
struct Gone;

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Gone
    }
}

impl EventLoop {
    pub fn new(options: NullOptions, state: Arc<State>) -> io::Result<Self> {
        crate::affinity::raise_open_files(OPEN_FILES);
        let clock = Clock::new();
        let waiter = Waiter::new(clock, 0)?;
        let mut listener = match &options.unix_path {
            Some(path) => Listener::Unix(UnixListener::bind(path)?),
            None => Listener::Tcp(TcpListener::bind(resolve(&options.host, options.port)?)?),
        };
        listener.register(waiter.registry(), LISTENER)?;
        let timing = Timing {
            delay_ns: (options.delay_us * 1000.0) as u64,
            busy_ns: (options.busy_us * 1000.0) as u64,
            freeze_every_ns: from_s(options.freeze_every_s),
            freeze_ns: from_s(options.freeze_s),
        };
        Ok(Self {
            state,
            clock,
            waiter,
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            protocol: options.protocol,
            replies: Replies::new(&options),
            timing,
            pending: VecDeque::new(),
            fault: options.fault,
            answered: 0,
            accepted: 0,
        })
    }

    pub fn port(&self) -> io::Result<u16> {
        self.listener.port()
    }

    pub fn waker(&self) -> io::Result<Waker> {
        self.waiter.waker()
    }

    /// Answers until told to stop.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        while !self.state.stop.load(Ordering::Relaxed) {
            let now_ns = self.clock.now();
            let due_ns = self.pending.front().map_or(now_ns + LONGEST_WAIT_NS, |pending| pending.due_ns);
            self.waiter.wait(&mut events, now_ns, due_ns);
            for event in &events {
                match event.token() {
                    WAKER => {}
                    LISTENER => self.accept(),
                    Token(place) => self.handle(place, event),
                }
            }
            self.release_due();
        }
    }

    fn accept(&mut self) {
        while let Ok(mut stream) = self.listener.accept() {
            let place = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            if stream.register(self.waiter.registry(), Token(place)).is_ok() {
                self.accepted += 1;
                let reader = match self.protocol {
                    NullProtocol::Resp => Reader::Resp(CommandReader::default()),
                    NullProtocol::Http1 => Reader::Http(RequestReader::default()),
                };
                self.connections[place] = Some(Box::new(Connection::new(stream, reader, self.accepted)));
            } else {
                self.free.push(place);
            }
        }
    }

    fn handle(&mut self, place: usize, event: &Event) {
        // Taken out while it is worked on, so that the server and the connection can both be changed.
        let Some(mut connection) = self.connections.get_mut(place).and_then(Option::take) else { return };
        let to_end = event.is_read_closed() || event.is_error();
        match self.serve(place, &mut connection, to_end) {
            Ok(()) => self.connections[place] = Some(connection),
            Err(Gone) => self.free.push(place),
        }
    }

    fn serve(&mut self, place: usize, connection: &mut Connection, to_end: bool) -> Result<(), Gone> {
        loop {
            connection.flush()?;
            if connection.is_clogged() {
                // The event that says that there is room again brings it back here.
                return Ok(());
            }
            let Input::Bytes { length, more } = connection.receive(&mut self.buffer, to_end) else {
                return Err(Gone);
            };
            let used = self.answer_all(place, connection, length)?;
            connection.held.extend_from_slice(&self.buffer[used..length]);
            connection.flush()?;
            if !more && !connection.is_clogged() {
                return Ok(());
            }
        }
    }

    /// Answers the commands in the first `length` bytes of the buffer; returns how many bytes they took.
    #[inline]
    fn answer_all(&mut self, place: usize, connection: &mut Connection, length: usize) -> Result<usize, Gone> {
        let mut used = 0;
        while used < length && !connection.is_clogged() {
            let replies = &self.replies;
            let (taken, found) = connection.reader.read(&self.buffer[used..length], |name| replies.find(name));
            used += taken;
            match found {
                Found::More => break,
                Found::Bad => {
                    connection.reply(self.replies.to_bad_input())?;
                    connection.flush()?;
                    return Err(Gone);
                }
                Found::Command { command, digit } => {
                    if command == HELLO {
                        connection.resp3 = digit == 3;
                    }
                    self.answer_or_hold(place, connection, command)?;
                }
            }
        }
        Ok(used)
    }

    #[inline]
    fn answer_or_hold(&mut self, place: usize, connection: &mut Connection, command: usize) -> Result<(), Gone> {
        if !self.timing.is_needed() || command < FIRST_AFTER_HANDSHAKE {
            return self.answer(connection, command);
        }
        let now_ns = self.clock.now();
        let due_ns = self.timing.leave_at(now_ns + self.timing.delay_ns);
        if due_ns <= now_ns && self.pending.is_empty() {
            self.spend_service_time();
            self.answer(connection, command)?;
            connection.flush()?;
        } else {
            self.pending.push_back(Pending { due_ns, place, serial: connection.serial, command });
        }
        Ok(())
    }

    /// Answers what is due. What falls into a freeze by now waits for its end, and so does all behind it.
    fn release_due(&mut self) {
        while let Some(&Pending { due_ns, place, serial, command }) = self.pending.front() {
            let now_ns = self.clock.now();
            if due_ns > now_ns {
                return;
            }
            let leave_ns = self.timing.leave_at(now_ns);
            if leave_ns > now_ns {
                self.pending.iter_mut().take_while(|pending| pending.due_ns < leave_ns).for_each(|pending| {
                    pending.due_ns = leave_ns;
                });
                return;
            }
            self.pending.pop_front();
            let Some(mut connection) = self.connections[place].take() else { continue };
            if connection.serial != serial {
                self.connections[place] = Some(connection);
                continue;
            }
            self.spend_service_time();
            let answered = self.answer(&mut connection, command).and_then(|()| Ok(connection.flush()?));
            match answered {
                Ok(()) => self.connections[place] = Some(connection),
                Err(Gone) => self.free.push(place),
            }
        }
    }

    fn spend_service_time(&self) {
        if self.timing.busy_ns == 0 {
            return;
        }
        let end_ns = self.clock.now() + self.timing.busy_ns;
        while self.clock.now() < end_ns {
            std::hint::spin_loop();
        }
    }

    #[inline]
    fn answer(&mut self, connection: &mut Connection, command: usize) -> Result<(), Gone> {
        let text = self.replies.text(command, connection.resp3);
        if command < FIRST_AFTER_HANDSHAKE {
            return Ok(connection.reply(text)?);
        }
        self.answered += 1;
        connection.answered += 1;
        self.state.commands.store(self.answered, Ordering::Relaxed);
        match &self.fault {
            None => Ok(connection.reply(text)?),
            Some(fault) => answer_faultily(fault, self.answered, connection, text),
        }
    }
}

/// Answers command number `number` as the fault has it.
#[cold]
fn answer_faultily(fault: &Fault, number: u64, connection: &mut Connection, text: &[u8]) -> Result<(), Gone> {
    match fault {
        Fault::CloseAfter { commands } => {
            if connection.answered <= *commands {
                connection.reply(text)?;
            }
            connection.flush()?;
            if connection.answered >= *commands { Err(Gone) } else { Ok(()) }
        }
        Fault::Garbage { nth } if number == *nth => Ok(connection.reply(b"@garbage\r\n\0\xff")?),
        Fault::Error { nth, text } if number == *nth => Ok(connection.reply(format!("-{text}\r\n").as_bytes())?),
        Fault::HalfThenClose { nth } if number == *nth => {
            connection.reply(&text[..text.len() / 2])?;
            connection.flush()?;
            Err(Gone)
        }
        Fault::Silence { nth } if number == *nth => Ok(()),
        Fault::Pieces { bytes, pause_us } => {
            for piece in text.chunks((*bytes).max(1)) {
                connection.reply(piece)?;
                connection.flush()?;
                std::thread::sleep(Duration::from_micros(*pause_us));
            }
            Ok(())
        }
        _ => Ok(connection.reply(text)?),
    }
}
