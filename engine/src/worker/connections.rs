//! The connections of a thread: its pool, its sockets, and which of them need something done.

use super::connection::{Connection, State};
use super::polled::Polled;
use crate::content::send_buffer::Sink;
use crate::machine::clock::{Clock, SECOND_NS};
use crate::net::event::Events;
use crate::net::inbox::{Arrived, Inbox};
use crate::net::line::{Line, Received, Target};
use crate::net::pool::Pool;
use crate::net::waiter::Waiter;
use crate::plan::{Endpoint, Model, Plan, Share};
use crate::record::calls::Sent;
use crate::wire::{ErrorKind, Wire};
use std::collections::VecDeque;
use std::io;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// Bytes of the inbox that connections share as long as their replies come whole.
const SHARED_INBOX: usize = 64 * 1024;
pub(super) const EVENTS_AT_ONCE: usize = 1024;
/// A source has one event at a time of a poll, and at most about so many of a ring before others have their turn.
const EVENTS_OF_A_SOURCE: usize = 32;
/// Connections whose bytes a ring sends at once: the first of them wait for the others, by some microseconds each.
const SENT_AT_ONCE: usize = 32;
/// Users whose replies a thread stays awake for: with more of them the server has something to do while it wakes up.
const AWAITED: usize = 8;
/// How long a connection waits before it is dialled again, at first and at the most.
const BACKOFF_FIRST_NS: u64 = SECOND_NS / 100;
const BACKOFF_LONGEST_NS: u64 = SECOND_NS;
/// The longest where Sentinel is queried: a gap is measured no finer.
const BACKOFF_FAILOVER_NS: u64 = SECOND_NS / 20;
/// How often connections that are being opened are checked.
const OPENING_TICK_NS: u64 = SECOND_NS / 200;

#[derive(Debug)]
pub(super) struct Connections {
    pub pool: Pool,
    all: Vec<Connection>,
    targets: Arc<[Target]>,
    waiter: Waiter,
    /// What deadlines are compared with.
    pub polled: Polled,
    /// Operations in flight on all connections.
    pub in_flight: usize,
    /// Connections that are being opened or wait to be.
    pub opening: Vec<usize>,
    /// Connections that the server closed with its reply, to be dialled again at once.
    pub reopening: Vec<usize>,
    /// Why connections of a shard could not be opened, each of which is to be the failure of an operation that waits.
    pub refused: Vec<(usize, ErrorKind)>,
    /// Why a connection could not be opened, the first time since this was taken.
    pub first_failure: Option<String>,
    /// Connections with encoded bytes that were not yet offered to the kernel.
    unflushed: Vec<usize>,
    /// Connections whose bytes the ring sends next.
    offered: Vec<usize>,
    /// Connections that may have more to receive although no event will say so.
    pub unfinished: VecDeque<usize>,
    pub shared_inbox: Inbox,
    /// When connections are to be checked next, and when their oldest requests are.
    pub check_ns: u64,
    pub scan_ns: u64,
    /// The thread stays awake for replies while no more operations than that are in flight.
    awaited: usize,
    connect_ns: u64,
    pub request_ns: u64,
    backoff_longest_ns: u64,
}

impl Index<usize> for Connections {
    type Output = Connection;

    #[inline]
    fn index(&self, number: usize) -> &Connection {
        &self.all[number]
    }
}

impl IndexMut<usize> for Connections {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut Connection {
        &mut self.all[number]
    }
}

impl Connections {
    /// The closed connections of one thread, to `targets`, of which keys choose among `shards`.
    pub fn new(plan: &Plan, share: Share, targets: Arc<[Target]>, shards: usize, waiter: Waiter) -> Self {
        let target_of = targets_of(plan, share, shards);
        let own = target_of.len();
        // Of a recording each connection is a shard of its own.
        let (shards, shard_of) = match &plan.recording {
            Some(_) => (own, (0..own).collect()),
            None => (shards, target_of.clone()),
        };
        let max_idle = plan.pool.max_idle.map(|idle| share.part_of(idle as usize));
        let holders = match &plan.model {
            Model::Closed(_) if plan.recording.is_none() => 1,
            Model::Closed(_) | Model::Open(_) => plan.pipeline_depth,
        };
        let is_stamped = plan.model.is_open() && matches!(waiter, Waiter::Poll(_));
        // A ring sends one piece of memory at a time.
        let lends = matches!(waiter, Waiter::Poll(_));
        let connection = |&target: &usize| Connection::new(target, plan.pipeline_depth, Line::new(is_stamped, lends));
        let all = target_of.iter().map(connection).collect();
        let mut pool = Pool::new(shard_of, shards, holders, max_idle, plan.pool.order);
        if plan.endpoints.iter().any(|endpoint| !endpoint.slots.is_empty()) {
            // Of a cluster; nothing goes to a node without slots, and without reads, before a redirection does.
            let is_spare = |endpoint: &Endpoint| endpoint.slots.is_empty() && endpoint.replica_of.is_none();
            let endpoint_of = |shard: usize| if plan.recording.is_some() { target_of[shard] } else { shard };
            let empty = (0..shards).filter(|&shard| is_spare(&plan.endpoints[endpoint_of(shard)]));
            empty.for_each(|shard| pool.open_by_need(shard));
        }
        Self {
            all,
            pool,
            targets,
            waiter,
            polled: Polled::default(),
            in_flight: 0,
            opening: Vec::with_capacity(own),
            reopening: Vec::new(),
            refused: Vec::new(),
            first_failure: None,
            unflushed: Vec::with_capacity(own),
            offered: Vec::with_capacity(own),
            unfinished: VecDeque::with_capacity(own),
            shared_inbox: Inbox::with_capacity(SHARED_INBOX),
            check_ns: 0,
            scan_ns: 0,
            awaited: match plan.model {
                Model::Closed(_) => AWAITED * plan.pipeline_depth,
                Model::Open(_) => usize::MAX,
            },
            connect_ns: (plan.timeouts.connect_ms * 1e6) as u64,
            request_ns: (plan.timeouts.request_ms * 1e6) as u64,
            backoff_longest_ns: if plan.endpoints.iter().all(Endpoint::in_service) {
                BACKOFF_LONGEST_NS
            } else {
                BACKOFF_FAILOVER_NS
            },
        }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The address of a connection's endpoint, as printed for people.
    pub fn label(&self, number: usize) -> String {
        self.targets[self.all[number].target].endpoint.label()
    }

    /// A closed connection of a shard that is to be dialled now, if there is one left.
    pub fn take_closed(&mut self, shard: usize) -> Option<usize> {
        let number = self.pool.dial(shard)?;
        self.all[number].backoff_ns = BACKOFF_FIRST_NS;
        self.opening.push(number);
        Some(number)
    }

    /// Begins to connect. A Unix socket whose queue is full for now is dialled again later.
    pub fn dial(&mut self, number: usize, clock_ns: u64, now_ns: u64) -> io::Result<()> {
        let connection = &mut self.all[number];
        connection.deadline_ns = clock_ns + self.connect_ns;
        self.check_ns = self.check_ns.min(now_ns + OPENING_TICK_NS);
        match connection.dial(&self.targets[connection.target], &mut self.waiter, number) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.back_off(number, now_ns);
                Ok(())
            }
            dialled => dialled,
        }
    }

    /// Closes a connection that is to be dialled again after a while.
    pub fn back_off(&mut self, number: usize, now_ns: u64) {
        self.close(number);
        let connection = &mut self.all[number];
        connection.state = State::BackingOff;
        connection.deadline_ns = now_ns + connection.backoff_ns;
        connection.backoff_ns = (connection.backoff_ns * 2).min(self.backoff_longest_ns);
        self.check_ns = self.check_ns.min(now_ns + OPENING_TICK_NS);
    }

    /// Closes a connection; the caller accounts for what was in flight.
    pub fn close(&mut self, number: usize) {
        if let Some(ring) = self.waiter.ring() {
            ring.close(number);
        }
        self.all[number].close();
    }

    /// A socket is not connected although it was reported: it is reported again.
    pub fn await_connected(&mut self, number: usize) {
        if let Some(ring) = self.waiter.ring() {
            ring.await_room(number);
        }
    }

    /// A connection is dialled at another target, at once.
    pub fn turn_to(&mut self, number: usize, target: usize, now_ns: u64) {
        self.back_off(number, now_ns);
        self.all[number].target = target;
        self.reopening.push(number);
    }

    /// A connected socket is to say what the protocol says first. The answer has its time from then on: a thread that was
    /// held up while it connected has taken the time of the connection.
    pub fn greet(&mut self, number: usize, wire: &Wire, clock_ns: u64) {
        if let Some(ring) = self.waiter.ring() {
            ring.arm(number);
        }
        let connection = &mut self.all[number];
        let replies = wire.hello(&self.targets[connection.target].endpoint, connection.line.out.bytes());
        connection.state = State::Greeting(replies);
        connection.deadline_ns = clock_ns + self.connect_ns;
    }

    /// A connection takes operations from now on.
    pub fn opened(&mut self, number: usize) {
        let connection = &mut self.all[number];
        connection.state = State::Ready;
        connection.backoff_ns = BACKOFF_FIRST_NS;
        self.pool.opened(number);
    }

    /// An open connection ended, and is to be dialled again.
    pub fn ended(&mut self, number: usize, now_ns: u64) {
        self.back_off(number, now_ns);
        self.opening.push(number);
        self.pool.lost(number);
    }

    /// A ready connection whose requests go to a shard.
    pub fn ready_of(&self, shard: usize) -> Option<usize> {
        (0..self.all.len()).find(|&other| self.all[other].state == State::Ready && self.pool.shard_of(other) == shard)
    }

    /// So many operations of a user were encoded for a connection, and are to be flushed.
    #[inline]
    pub fn load(&mut self, number: usize, user: u32, operations: usize) {
        let connection = &mut self.all[number];
        connection.user = user;
        connection.unsent_tasks += operations;
        self.in_flight += operations;
        self.list_unflushed(number);
    }

    /// Whether anything is to be flushed.
    #[inline]
    pub fn has_unflushed(&self) -> bool {
        !self.unflushed.is_empty()
    }

    /// What was encoded for a connection is to be flushed.
    pub fn list_unflushed(&mut self, number: usize) {
        if !std::mem::replace(&mut self.all[number].is_listed, true) {
            self.unflushed.push(number);
        }
    }

    /// A ready connection whose bytes are to be flushed now.
    #[inline]
    pub fn take_unflushed(&mut self) -> Option<usize> {
        while let Some(number) = self.unflushed.pop() {
            self.all[number].is_listed = false;
            if self.all[number].state == State::Ready {
                return Some(number);
            }
        }
        None
    }

    /// The drive was paused and goes on at `now_ns` on `clock`: deadlines that were set meanwhile are not on it.
    pub fn go_on(&mut self, clock: Clock, now_ns: u64) {
        self.waiter.set_clock(clock);
        self.polled = Polled::default();
        (self.check_ns, self.scan_ns) = (now_ns, now_ns);
        self.refused.clear();
        for &number in &self.opening {
            let connection = &mut self.all[number];
            let longest_ns =
                if connection.state == State::BackingOff { connection.backoff_ns } else { self.connect_ns };
            connection.deadline_ns = connection.deadline_ns.min(now_ns + longest_ns);
        }
    }

    /// The next check is due when a connection that is being opened, or the oldest request, may be late.
    pub fn plan_check(&mut self, now_ns: u64) {
        let tick_ns = if self.opening.is_empty() { u64::MAX } else { now_ns + OPENING_TICK_NS };
        self.check_ns = self.scan_ns.min(tick_ns);
    }

    /// Whether what is to be flushed waits for more of that: a ring sends it together.
    #[inline]
    pub fn holds_back(&self) -> bool {
        self.unflushed.len() < SENT_AT_ONCE && matches!(self.waiter, Waiter::Ring(_))
    }

    /// Writes what the kernel takes, or leaves it to the ring.
    #[inline]
    pub fn flush(&mut self, number: usize) -> io::Result<Sent> {
        let connection = &mut self.all[number];
        let mut sent = Sent::default();
        match self.waiter {
            Waiter::Poll(_) => sent.add(connection.line.flush()?),
            Waiter::Ring(_) => {
                if !std::mem::replace(&mut connection.is_offered, true) {
                    self.offered.push(number);
                }
            }
        }
        Ok(sent)
    }

    /// Receives into `inbox`, which is the connection's own or one that connections share.
    #[inline]
    pub fn receive(&mut self, number: usize, inbox: &mut Inbox) -> io::Result<Received> {
        match &mut self.waiter {
            Waiter::Poll(_) => self.all[number].line.receive(inbox),
            Waiter::Ring(ring) => {
                let received = ring.receive(number, inbox.room())?;
                if let Received::Bytes { count, .. } = received {
                    inbox.add(count);
                }
                Ok(received)
            }
        }
    }

    /// What a ring received of a connection where nothing is unread, in place; to be given back.
    #[inline]
    pub fn lend(&mut self, number: usize) -> Option<Arrived> {
        let is_empty = self.all[number].line.inbox.is_empty();
        self.waiter.ring().filter(|_| is_empty)?.lend(number)
    }

    /// Gives back what was lent.
    #[inline]
    pub fn give_back(&mut self, arrived: Arrived) {
        if let Some(ring) = self.waiter.ring() {
            ring.give_back(arrived);
        }
    }

    /// Lets the ring, if there is one, send what was offered.
    #[inline]
    pub fn send_offered(&mut self) -> Sent {
        let Waiter::Ring(ring) = &mut self.waiter else { return Sent::default() };
        ring.send(unwritten(&self.all, &self.offered));
        self.settle()
    }

    /// Waits for events, until an instant at the latest. A ring first sends what was offered.
    #[inline]
    pub fn wait(&mut self, events: &mut Events, now_and_until_ns: (u64, u64)) -> Sent {
        let expects = (1..=self.awaited).contains(&self.in_flight);
        match &mut self.waiter {
            Waiter::Poll(poller) => {
                events.poll(poller, now_and_until_ns, expects);
                Sent::default()
            }
            Waiter::Ring(ring) => {
                events.wait_for(ring, now_and_until_ns, expects, unwritten(&self.all, &self.offered));
                self.settle()
            }
        }
    }

    /// Time spent awake in waits since this was last asked.
    #[inline]
    pub fn take_spun_ns(&mut self) -> u64 {
        self.waiter.spin().take_spun_ns()
    }

    /// What events report had not come by then.
    #[inline]
    pub fn floor_ns(&mut self) -> u64 {
        self.waiter.spin().floor_ns()
    }

    /// Bytes of a connection were received by `now_ns`.
    pub fn note_arrival(&mut self, number: usize, now_ns: u64) {
        let floor_ns = self.floor_ns();
        self.all[number].line.note_arrival(now_ns, floor_ns);
    }

    /// What the ring took of what was offered is no longer to be sent.
    fn settle(&mut self) -> Sent {
        let mut sent = Sent::default();
        let Waiter::Ring(ring) = &mut self.waiter else { return sent };
        for number in self.offered.drain(..) {
            let taken = ring.settle(number);
            let connection = &mut self.all[number];
            connection.is_offered = false;
            connection.line.out.took(taken);
            sent.add(taken);
        }
        sent
    }

    /// Why nothing can be sent or received any more.
    #[inline]
    pub fn failure(&mut self) -> Option<&io::Error> {
        self.waiter.ring().and_then(|ring| ring.failure())
    }

    /// All events of a poll that did not wait were handled; it began at `begun_ns`.
    pub fn note_polled(&mut self, begun_ns: u64, events: usize) {
        let (of_a_source, left_some) = match &self.waiter {
            Waiter::Poll(_) => (1, false),
            Waiter::Ring(ring) => (EVENTS_OF_A_SOURCE, ring.left_some()),
        };
        let is_whole = events < EVENTS_AT_ONCE && !left_some;
        // Each connection and the waker.
        self.polled.note(begun_ns, events, is_whole, (self.all.len() + 1) * of_a_source);
    }
}

/// What is to be sent on these connections.
fn unwritten<'a>(all: &'a [Connection], numbers: &'a [usize]) -> impl Iterator<Item = (usize, &'a [u8])> {
    numbers.iter().map(|&number| (number, all[number].line.out.unwritten()))
}

/// The endpoints of a thread's connections. Each shard has one in every thread (see `drive::useful_threads`); over all
/// threads each endpoint has the same number, but for one.
fn targets_of(plan: &Plan, share: Share, shards: usize) -> Vec<usize> {
    let first = share.before(plan.sequences()) * plan.connections_a_sequence();
    let several = plan.endpoints.iter().filter(|endpoint| endpoint.in_service()).count();
    debug_assert!(shards == 1 || plan.recording.is_some() || several == shards);
    (0..plan.own_connections(share)).map(|connection| (first + connection) % several).collect()
}
