//! The null server's thread: accepts, reads, answers; or keeps replies until they are due.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::event::Event;
use mio::net::{TcpListener, UnixListener};
use mio::{Events, Token, Waker};

use crate::machine::clock::{Clock, SECOND_NS, from_s, thread_cpu_ns};
use crate::net::poller::{Poller, WAKER};

use super::client::{Client, Input, Listener, Reader};
use super::command_reader::{CommandReader, Found};
use super::line_reader::LineReader;
use super::queueing::Servers;
use super::replies::{FIRST_AFTER_HANDSHAKE, HELLO, Replies};
use super::request_reader::RequestReader;
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
    poller: Poller,
    listener: Listener,
    clients: Vec<Option<Box<Client>>>,
    free: Vec<usize>,
    buffer: Vec<u8>,
    protocol: NullProtocol,
    replies: Replies,
    timing: Timing,
    /// In the order in which they are due.
    pending: VecDeque<Pending>,
    queue: Option<Servers<Pending>>,
    fault: Option<Fault>,
    records: bool,
    answered: u64,
    accepted: u64,
}

/// The client is of no more use.
struct Gone;

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Gone
    }
}

impl EventLoop {
    pub fn new(options: NullOptions, state: Arc<State>) -> io::Result<Self> {
        crate::machine::affinity::raise_open_files(OPEN_FILES);
        let clock = Clock::new();
        let poller = Poller::new(clock, 0)?;
        let mut listener = match &options.unix_path {
            Some(path) => Listener::Unix(UnixListener::bind(path)?),
            None => Listener::Tcp(TcpListener::bind(resolve(&options.host, options.port)?)?),
        };
        listener.register(poller.registry(), LISTENER)?;
        let timing = Timing {
            delay_ns: (options.delay_us * 1000.0) as u64,
            busy_ns: (options.busy_us * 1000.0) as u64,
            freeze_every_ns: from_s(options.freeze_every_s),
            freeze_ns: from_s(options.freeze_s),
        };
        Ok(Self {
            state,
            clock,
            poller,
            listener,
            clients: Vec::new(),
            free: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            protocol: options.protocol,
            replies: Replies::new(&options),
            timing,
            pending: VecDeque::new(),
            queue: options.queue.map(Servers::new),
            fault: options.fault,
            records: options.record,
            answered: 0,
            accepted: 0,
        })
    }

    pub fn port(&self) -> io::Result<u16> {
        self.listener.port()
    }

    pub fn waker(&self) -> io::Result<Waker> {
        self.poller.waker()
    }

    /// Answers until it is stopped.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        while !self.state.stop.load(Ordering::Relaxed) {
            let now_ns = self.clock.now();
            let pending_ns = self.pending.front().map(|pending| pending.due_ns);
            let served_ns = self.queue.as_ref().and_then(Servers::next_done_ns);
            let due_ns = pending_ns.or(served_ns).unwrap_or(now_ns + LONGEST_WAIT_NS);
            self.poller.wait(&mut events, (now_ns, due_ns), false);
            for event in &events {
                match event.token() {
                    WAKER => {}
                    LISTENER => self.accept(),
                    Token(place) => self.handle(place, event),
                }
            }
            self.release_due();
            self.release_served();
        }
    }

    fn accept(&mut self) {
        while let Ok(mut stream) = self.listener.accept(self.records) {
            let place = self.free.pop().unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() - 1
            });
            if stream.register(self.poller.registry(), Token(place)).is_ok() {
                self.accepted += 1;
                let reader = match self.protocol {
                    NullProtocol::Resp => Reader::Resp(CommandReader::default()),
                    NullProtocol::Http1 => Reader::Http(RequestReader::default()),
                    NullProtocol::Memcached => Reader::Lines(LineReader::default()),
                };
                self.clients[place] = Some(Box::new(Client::new(stream, reader, self.accepted)));
            } else {
                self.free.push(place);
            }
        }
    }

    fn handle(&mut self, place: usize, event: &Event) {
        // Taken out while it is worked on, so that the server and the client can both be changed.
        let Some(mut client) = self.clients.get_mut(place).and_then(Option::take) else { return };
        let to_end = event.is_read_closed() || event.is_error();
        match self.serve(place, &mut client, to_end) {
            Ok(()) => self.clients[place] = Some(client),
            Err(Gone) => self.free.push(place),
        }
    }

    fn serve(&mut self, place: usize, client: &mut Client, to_end: bool) -> Result<(), Gone> {
        loop {
            client.flush(&self.replies)?;
            if client.is_clogged() {
                // The event that says that there is room again brings it back here.
                return Ok(());
            }
            let Input::Bytes { length, more } = client.receive(&mut self.buffer, to_end) else {
                return Err(Gone);
            };
            let (used, is_stopped) = self.answer_all(place, client, length)?;
            client.held.extend_from_slice(&self.buffer[used..length]);
            client.flush(&self.replies)?;
            if !more && !is_stopped {
                return Ok(());
            }
        }
    }

    /// Answers the commands in the first `length` bytes of the buffer; returns how many bytes they took, and whether it
    /// stopped because the client does not take its replies.
    #[inline]
    fn answer_all(&mut self, place: usize, client: &mut Client, length: usize) -> Result<(usize, bool), Gone> {
        let mut used = 0;
        while used < length {
            if client.is_clogged() {
                return Ok((used, true));
            }
            let replies = &self.replies;
            let (taken, found) = client.reader.read(&self.buffer[used..length], |name| replies.find(name));
            used += taken;
            match found {
                Found::More => break,
                Found::Bad => {
                    client.say(self.replies.to_bad_input());
                    client.flush(&self.replies)?;
                    return Err(Gone);
                }
                Found::Command { command, digit } => {
                    if command == HELLO {
                        client.resp3 = digit == 3;
                    }
                    self.answer_or_hold(place, client, command)?;
                }
            }
        }
        Ok((used, false))
    }

    #[inline]
    fn answer_or_hold(&mut self, place: usize, client: &mut Client, command: usize) -> Result<(), Gone> {
        if command < FIRST_AFTER_HANDSHAKE || (self.queue.is_none() && !self.timing.is_needed()) {
            return self.answer(client, command);
        }
        let now_ns = self.clock.now();
        if let Some(queue) = &mut self.queue {
            queue.come(Pending { due_ns: now_ns, place, serial: client.serial, command }, now_ns);
            return Ok(());
        }
        let due_ns = self.timing.leave_at(now_ns + self.timing.delay_ns);
        if due_ns <= now_ns && self.pending.is_empty() {
            self.spend_service_time();
            self.answer(client, command)?;
            client.flush(&self.replies)?;
        } else {
            self.pending.push_back(Pending { due_ns, place, serial: client.serial, command });
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
            self.answer_held(place, serial, command);
        }
    }

    /// Answers what the queue's servers have done.
    fn release_served(&mut self) {
        while let Some(Pending { place, serial, command, .. }) =
            self.queue.as_mut().and_then(|queue| queue.take_done(self.clock.now()))
        {
            self.answer_held(place, serial, command);
        }
    }

    /// Answers a command that was kept, if its client is still there.
    fn answer_held(&mut self, place: usize, serial: u64, command: usize) {
        let Some(mut client) = self.clients[place].take() else { return };
        if client.serial != serial {
            self.clients[place] = Some(client);
            return;
        }
        self.spend_service_time();
        let answered = self.answer(&mut client, command).and_then(|()| Ok(client.flush(&self.replies)?));
        match answered {
            Ok(()) => self.clients[place] = Some(client),
            Err(Gone) => self.free.push(place),
        }
    }

    fn spend_service_time(&self) {
        if self.timing.busy_ns == 0 {
            return;
        }
        let end_ns = thread_cpu_ns() + self.timing.busy_ns;
        while thread_cpu_ns() < end_ns {
            std::hint::spin_loop();
        }
    }

    #[inline]
    fn answer(&mut self, client: &mut Client, command: usize) -> Result<(), Gone> {
        if command < FIRST_AFTER_HANDSHAKE {
            return Ok(client.reply(&self.replies, command)?);
        }
        self.answered += 1;
        client.answered += 1;
        self.state.commands.store(self.answered, Ordering::Relaxed);
        if self.records {
            self.state.note_leaving();
        }
        match &self.fault {
            None => client.reply(&self.replies, command)?,
            Some(fault) => answer_faultily(fault, self.answered, client, &self.replies, command)?,
        }
        if self.records {
            client.flush(&self.replies)?;
            self.state.note_residence(client.ago_ns());
        }
        Ok(())
    }
}

/// Answers command number `number` as the fault has it.
#[cold]
fn answer_faultily(
    fault: &Fault,
    number: u64,
    client: &mut Client,
    replies: &Replies,
    command: usize,
) -> Result<(), Gone> {
    let text = replies.text(command, client.resp3);
    match fault {
        Fault::CloseAfter { commands } => {
            if client.answered <= *commands {
                client.reply(replies, command)?;
            }
            client.flush(replies)?;
            if client.answered >= *commands { Err(Gone) } else { Ok(()) }
        }
        Fault::Garbage { nth } if number == *nth => {
            client.say(b"@garbage\r\n\0\xff");
            Ok(())
        }
        Fault::Error { nth, text } if number == *nth => {
            client.say(format!("-{text}\r\n").as_bytes());
            Ok(())
        }
        Fault::HalfThenClose { nth } if number == *nth => {
            client.say(&text[..text.len() / 2]);
            client.flush(replies)?;
            Err(Gone)
        }
        Fault::Silence { nth } if number == *nth => Ok(()),
        Fault::Pieces { bytes, pause_us } => {
            for piece in text.chunks((*bytes).max(1)) {
                client.say(piece);
                client.flush(replies)?;
                std::thread::sleep(Duration::from_micros(*pause_us));
            }
            Ok(())
        }
        _ => Ok(client.reply(replies, command)?),
    }
}
