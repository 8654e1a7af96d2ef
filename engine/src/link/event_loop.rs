//! The line's thread: accepts, reads, holds, and writes what is due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Events, Interest, Token, Waker};

use super::lead::Lead;
use super::options::LinkOptions;
use super::pair::{CLIENT, Fate, Pair, SERVER, close_by_reset, other};
use super::path::End;
use super::tally::Tally;
use super::way::Way;
use super::{LinkReport, Order, Shared, address_of};
use crate::machine::clock::{Clock, SECOND_NS, thread_cpu_ns};
use crate::machine::run_delay::RunDelay;
use crate::net::poller::{Poller, WAKER};
use crate::net::stamps;

const LISTENER: Token = Token(usize::MAX - 1);
const EVENTS: usize = 1024;
const BUFFER_BYTES: usize = 64 * 1024;
/// All connections together hold at most so much, and what one read brings.
const HELD_MOST_BYTES: usize = 256 * 1024 * 1024;
/// How long the thread sleeps when nothing is due.
const LONGEST_WAIT_NS: u64 = 3600 * SECOND_NS;
/// What came in is read so long before it can be due, and waits unread for no longer than the other: it may be a
/// connection, or an order.
const READ_BEFORE_NS: u64 = 250_000;
const UNREAD_MOST_NS: u64 = 250_000;
/// An arrival is never taken to be longer ago than this: the machine's clock may have been set.
const LONGEST_AGO_NS: u64 = SECOND_NS;
/// Two for each connection of a test of many users.
const OPEN_FILES: u64 = 220_000;

/// Where something waits for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    due_ns: u64,
    place: usize,
    from: usize,
    serial: u64,
}

pub(super) struct EventLoop {
    shared: Arc<Shared>,
    clock: Clock,
    poller: Poller,
    listener: TcpListener,
    server: SocketAddr,
    /// By the side that sends.
    ways: [Way; 2],
    tallies: [Tally; 2],
    pairs: Vec<Option<Box<Pair>>>,
    free: Vec<usize>,
    due: BinaryHeap<Reverse<Due>>,
    /// Place, serial and side of what is not read any further for now.
    stalled: Vec<(usize, u64, usize)>,
    buffer: Vec<u8>,
    held_bytes: usize,
    /// How many sides of all pairs take no more for now.
    clogged: usize,
    /// What comes in may stay unread for so long: nothing of it is due by then.
    unread_ns: u64,
    lead: Lead,
    spent: Spent,
    accepted: u64,
    dropped: u64,
}

/// What the line's thread had spent when it last reported.
#[derive(Default)]
struct Spent {
    at_ns: u64,
    cpu_ns: u64,
    waited_ns: Option<u64>,
}

impl EventLoop {
    pub fn new(options: &LinkOptions, shared: Arc<Shared>) -> io::Result<Self> {
        crate::machine::affinity::raise_open_files(OPEN_FILES);
        let clock = Clock::new();
        let poller = Poller::new(clock, 0)?;
        let mut listener = TcpListener::bind(address_of(&options.host, options.port)?)?;
        poller.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let ways = [Way::new(&options.to_server, options.seed, 0), Way::new(&options.to_client, options.seed, 1)];
        let least_ns = ways[CLIENT].least_ns().min(ways[SERVER].least_ns());
        Ok(Self {
            shared,
            clock,
            poller,
            listener,
            server: address_of(&options.to_host, options.to_port)?,
            clogged: 0,
            unread_ns: least_ns.saturating_sub(READ_BEFORE_NS).min(UNREAD_MOST_NS),
            lead: Lead::new(&ways),
            ways,
            tallies: [Tally::new(), Tally::new()],
            pairs: Vec::new(),
            free: Vec::new(),
            due: BinaryHeap::new(),
            stalled: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
            held_bytes: 0,
            spent: Spent::default(),
            accepted: 0,
            dropped: 0,
        })
    }

    pub fn port(&self) -> io::Result<u16> {
        self.listener.local_addr().map(|address| address.port())
    }

    pub fn waker(&self) -> io::Result<Waker> {
        self.poller.waker()
    }

    /// Forwards until it is stopped.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.wait(&mut events);
            for event in &events {
                match event.token() {
                    WAKER => self.obey(),
                    LISTENER => self.accept(),
                    Token(number) => self.with_pair(number / 2, None, |line, place, pair| {
                        let side = number % 2;
                        let was_clogged = pair.paths[other(side)].is_clogged;
                        let fate = pair.note(side, event);
                        if fate != Fate::Stays {
                            return fate;
                        }
                        let is_free = was_clogged && event.is_writable();
                        let fate = if is_free { line.deliver(place, pair, other(side)) } else { fate };
                        if fate == Fate::Stays {
                            line.read(place, pair, side);
                        }
                        fate
                    }),
                }
            }
            self.deliver_due();
            self.read_stalled();
        }
    }

    /// Waits until something is due or comes in.
    ///
    /// What comes in while the next thing is due soon need not wake the thread, since it has the kernel's time of
    /// arrival: under load this saves half of the turns that it takes from others on its CPU.
    fn wait(&mut self, events: &mut Events) {
        let now_ns = self.clock.now();
        let until_ns = self.next_ns(now_ns);
        let left_ns = until_ns.saturating_sub(now_ns);
        if left_ns > 0 && left_ns <= self.unread_ns && self.clogged == 0 {
            std::thread::sleep(Duration::from_nanos(left_ns));
            self.poller.wait(events, (until_ns, until_ns), false);
        } else {
            self.poller.wait(events, (now_ns, until_ns), false);
        }
    }

    /// When there is something to do, if nothing comes in before. Whoever woke up early sleeps once more.
    fn next_ns(&self, now_ns: u64) -> u64 {
        let Some(Reverse(first)) = self.due.peek() else { return now_ns + LONGEST_WAIT_NS };
        let awake_ns = self.lead.awake_ns(first.due_ns);
        if now_ns < awake_ns { awake_ns } else { first.due_ns.saturating_sub(self.lead.early_ns(first.from)) }
    }

    fn accept(&mut self) {
        loop {
            let client = match self.listener.accept() {
                Ok((client, _)) => client,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            self.accepted += 1;
            // A handshake takes a round trip until the client may send, and as long again until the server may.
            let round_trip_ns = self.ways[CLIENT].mean_ns() + self.ways[SERVER].mean_ns();
            let greeted_ns = self.clock.now() + round_trip_ns;
            let not_before_ns = [greeted_ns, greeted_ns + self.ways[CLIENT].mean_ns()];
            // A client whose connection cannot be made learns it by the close of its own.
            let Ok(mut pair) = Pair::new(client, self.server, self.accepted, not_before_ns) else { continue };
            let place = self.free.pop().unwrap_or_else(|| {
                self.pairs.push(None);
                self.pairs.len() - 1
            });
            if pair.register(self.poller.registry(), 2 * place).is_ok() {
                self.pairs[place] = Some(Box::new(pair));
            } else {
                pair.reset();
                self.free.push(place);
            }
        }
    }

    /// Works on a pair, if it is still there; it is taken out meanwhile, so that both can be changed.
    fn with_pair(&mut self, place: usize, serial: Option<u64>, work: impl FnOnce(&mut Self, usize, &mut Pair) -> Fate) {
        let Some(mut pair) = self.pairs.get_mut(place).and_then(Option::take) else { return };
        if serial.is_some_and(|serial| serial != pair.serial) {
            self.pairs[place] = Some(pair);
            return;
        }
        let (held_bytes, clogged) = (pair.held_bytes(), pair.clogged());
        let fate = work(self, place, &mut pair);
        self.held_bytes = self.held_bytes + pair.held_bytes() - held_bytes;
        self.clogged = self.clogged + pair.clogged() - clogged;
        if fate == Fate::Stays {
            self.pairs[place] = Some(pair);
            return;
        }
        self.held_bytes -= pair.held_bytes();
        self.clogged -= pair.clogged();
        self.free.push(place);
        if fate == Fate::Lost {
            pair.reset();
        }
    }

    /// Takes in what a side sent, as far as there is room.
    fn read(&mut self, place: usize, pair: &mut Pair, from: usize) {
        while !pair.paths[from].is_ended() {
            let path = &mut pair.paths[from];
            if !path.has_room() || self.held_bytes >= HELD_MOST_BYTES {
                if !path.is_stalled {
                    path.is_stalled = true;
                    self.stalled.push((place, pair.serial, from));
                }
                break;
            }
            match stamps::receive(&mut pair.streams[from], &mut self.buffer) {
                Ok((0, _)) => self.end(pair, from, End::Finished),
                Ok((count, came_unix_ns)) => {
                    let ago_ns = came_unix_ns.map(|unix_ns| stamps::ago_ns(unix_ns).min(LONGEST_AGO_NS));
                    self.take_in(pair, from, count, ago_ns);
                    if count < self.buffer.len() && !pair.to_end[from] {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock || error.kind() == ErrorKind::NotConnected => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.end(pair, from, End::Reset),
            }
        }
        self.list(place, pair, from);
    }

    fn take_in(&mut self, pair: &mut Pair, from: usize, count: usize, ago_ns: Option<u64>) {
        if ago_ns.is_none() {
            self.unread_ns = 0; // without the kernel's time of arrival it counts when something is read
        }
        let sent_ns = self.clock.now().saturating_sub(ago_ns.unwrap_or(0)).max(pair.not_before_ns[from]);
        self.tallies[from].bytes += count as u64;
        for piece in self.buffer[..count].chunks(self.ways[from].piece_bytes) {
            let due_ns = self.ways[from].due_ns(sent_ns, piece.len());
            pair.paths[from].push(piece, due_ns);
        }
    }

    /// A side ended, and the other side is to know it as late as if it were a byte.
    fn end(&mut self, pair: &mut Pair, from: usize, end: End) {
        let sent_ns = self.clock.now().max(pair.not_before_ns[from]);
        let due_ns = self.ways[from].due_ns(sent_ns, 0);
        pair.paths[from].end(due_ns, end);
    }

    /// Has it wait for its time.
    fn list(&mut self, place: usize, pair: &mut Pair, from: usize) {
        let path = &mut pair.paths[from];
        if path.is_listed || path.is_clogged {
            return;
        }
        if let Some(due_ns) = path.next_due_ns() {
            path.is_listed = true;
            self.due.push(Reverse(Due { due_ns, place, from, serial: pair.serial }));
        }
    }

    fn deliver_due(&mut self) {
        while let Some(&Reverse(Due { due_ns, place, from, serial })) = self.due.peek() {
            if due_ns > self.clock.now() + self.lead.early_ns(from) {
                return;
            }
            self.due.pop();
            self.with_pair(place, Some(serial), |line, place, pair| {
                pair.paths[from].is_listed = false;
                line.deliver(place, pair, from)
            });
        }
    }

    /// Writes what is due, and has the rest wait.
    ///
    /// It counts as arrived when its write begins. The write takes a few microseconds, and about as many are saved by
    /// a receiver on this CPU, which is awake then.
    fn deliver(&mut self, place: usize, pair: &mut Pair, from: usize) -> Fate {
        let (now_ns, early_ns) = (self.clock.now(), self.lead.early_ns(from));
        let (tally, lead) = (&mut self.tallies[from], &mut self.lead);
        let fate = pair.deliver(from, now_ns + early_ns, |due_ns| {
            let late_ns = now_ns as i64 - due_ns as i64;
            tally.record(late_ns);
            lead.learn(from, late_ns);
        });
        self.list(place, pair, from);
        fate
    }

    /// Reads on where there is room again.
    fn read_stalled(&mut self) {
        if self.stalled.is_empty() {
            return;
        }
        for (place, serial, from) in std::mem::take(&mut self.stalled) {
            self.with_pair(place, Some(serial), |line, place, pair| {
                let path = &mut pair.paths[from];
                if path.has_much_room() && line.held_bytes < HELD_MOST_BYTES {
                    path.is_stalled = false;
                    line.read(place, pair, from);
                } else {
                    line.stalled.push((place, serial, from));
                }
                Fate::Stays
            });
        }
    }

    fn obey(&mut self) {
        // Who does not wait for the answer any more does without it.
        for order in self.shared.take_orders() {
            match order {
                Order::Drop(count, answer) => {
                    let _ = answer.send(self.drop_connections(count));
                }
                Order::LeadTo(server, answer) => {
                    self.server = server;
                    let _ = answer.send(());
                }
                Order::Report(answer) => {
                    let _ = answer.send(self.report());
                }
            }
        }
    }

    fn drop_connections(&mut self, count: usize) -> usize {
        let mut open: Vec<(u64, usize)> = self.open().map(|(place, pair)| (pair.serial, place)).collect();
        open.sort_unstable();
        open.truncate(count);
        for &(_, place) in &open {
            self.with_pair(place, None, |_, _, _| Fate::Lost);
        }
        self.dropped += open.len() as u64;
        open.len()
    }

    fn open(&self) -> impl Iterator<Item = (usize, &Pair)> {
        self.pairs.iter().enumerate().filter_map(|(place, pair)| pair.as_deref().map(|pair| (place, pair)))
    }

    /// What this thread spent since the last report.
    fn spent_since(&mut self) -> Spent {
        let waited_ns = RunDelay::of_this_thread().read_ns();
        let now = Spent { at_ns: self.clock.now(), cpu_ns: thread_cpu_ns(), waited_ns };
        let before = std::mem::replace(&mut self.spent, now);
        Spent {
            at_ns: self.spent.at_ns - before.at_ns,
            cpu_ns: self.spent.cpu_ns - before.cpu_ns,
            waited_ns: waited_ns.map(|ns| ns - before.waited_ns.unwrap_or(0)),
        }
    }

    fn report(&mut self) -> LinkReport {
        let connections = self.open().count();
        let spent = self.spent_since();
        let [to_server, to_client] = &mut self.tallies;
        LinkReport {
            connections,
            accepted: self.accepted,
            dropped: self.dropped,
            held_bytes: self.held_bytes,
            wall_ns: spent.at_ns,
            cpu_ns: spent.cpu_ns,
            waited_ns: spent.waited_ns,
            to_server: to_server.report(),
            to_client: to_client.report(),
        }
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        // Whoever is connected is to learn that the line broke, and not that the other side has finished.
        for pair in self.pairs.iter().flatten() {
            pair.streams.iter().for_each(close_by_reset);
        }
    }
}
