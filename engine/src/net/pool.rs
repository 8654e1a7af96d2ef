//! A pool of connections: which one is assigned next, which is closed, when another is dialled.
//!
//! It holds numbers of connections, no sockets. In the closed model a user has a connection to itself
//! (`depth` 1); in the open model up to `depth` operations share one, and the connections take turns. Where
//! connections go to several endpoints, the endpoints take turns as far as they have one available; or, where
//! keys decide on the endpoint, the connections of each are a shard of their own.

use crate::plan::PoolOrder;
use std::collections::VecDeque;

/// What becomes of a released connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Released {
    Kept,
    /// `max_idle` others are idle: close it.
    Surplus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Neither open nor being opened.
    Closed,
    /// Being dialled, or waiting to be dialled again.
    Opening,
    /// Open, with so many holders.
    Open { holders: usize },
}

/// Connections of which any will do.
#[derive(Debug, Default)]
struct Shard {
    connections: usize,
    open: usize,
    closed: Vec<usize>,
    /// Its connections are opened when an operation waits for one, and not before.
    by_need: bool,
}

#[derive(Debug)]
pub struct Pool {
    order: PoolOrder,
    depth: usize,
    max_idle: usize,
    slots: Vec<State>,
    /// The endpoint of each connection.
    endpoints: Vec<usize>,
    /// Open connections with room for another holder, by endpoint, in the order of their release.
    available: Vec<VecDeque<usize>>,
    /// The endpoint whose turn it is.
    turn: usize,
    /// One for all connections, or one an endpoint.
    shards: Vec<Shard>,
    idle: usize,
    open: usize,
}

impl Pool {
    /// A pool of closed connections to these endpoints, of one shard, or of one an endpoint. `depth` holders may
    /// share a connection.
    pub fn new(endpoints: Vec<usize>, shards: usize, depth: usize, max_idle: Option<usize>, order: PoolOrder) -> Self {
        let connections = endpoints.len();
        let mut available = vec![0; endpoints.iter().max().map_or(1, |last| last + 1)];
        endpoints.iter().for_each(|&endpoint| available[endpoint] += 1);
        let mut shards: Vec<Shard> = (0..shards).map(|_| Shard::default()).collect();
        for (connection, &endpoint) in endpoints.iter().enumerate().rev() {
            let shard = if shards.len() > 1 { &mut shards[endpoint] } else { &mut shards[0] };
            shard.connections += 1;
            shard.closed.push(connection);
        }
        Self {
            order: if depth > 1 { PoolOrder::Fifo } else { order },
            depth,
            max_idle: max_idle.unwrap_or(usize::MAX),
            slots: vec![State::Closed; connections],
            endpoints,
            available: available.into_iter().map(VecDeque::with_capacity).collect(),
            turn: 0,
            shards,
            idle: 0,
            open: 0,
        }
    }

    /// The connections of a shard are opened when an operation waits for one, and not before.
    pub fn open_by_need(&mut self, shard: usize) {
        self.shards[shard].by_need = true;
    }

    /// Connections that may be opened before an operation waits for one.
    pub fn to_open(&self) -> usize {
        self.shards.iter().filter(|shard| !shard.by_need).map(|shard| shard.connections).sum()
    }

    /// Connections of a shard that are open.
    pub fn open_of(&self, shard: usize) -> usize {
        self.shards[shard].open
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Connections that are being opened.
    pub fn opening(&self) -> usize {
        self.shards.iter().map(Shard::opening).sum()
    }

    /// Connections of a shard that are being opened.
    pub fn opening_of(&self, shard: usize) -> usize {
        self.shards[shard].opening()
    }

    /// Connections of a shard that are not open.
    pub fn not_open_of(&self, shard: usize) -> usize {
        self.shards[shard].connections - self.shards[shard].open
    }

    /// The shard of a connection.
    #[inline]
    pub fn shard_of(&self, connection: usize) -> usize {
        if self.shards.len() > 1 { self.endpoints[connection] } else { 0 }
    }

    /// The shard that has most connections to be dialled, so that all are opened evenly.
    pub fn shard_to_dial(&self) -> usize {
        let early = (0..self.shards.len()).rev().filter(|&shard| !self.shards[shard].by_need);
        early.max_by_key(|&shard| self.shards[shard].closed.len()).unwrap_or(0)
    }

    /// A closed connection of a shard to be dialled now, if there is one left.
    pub fn dial(&mut self, shard: usize) -> Option<usize> {
        let connection = self.shards[shard].closed.pop()?;
        self.slots[connection] = State::Opening;
        Some(connection)
    }

    /// A dialled connection is open and idle.
    pub fn opened(&mut self, connection: usize) {
        debug_assert_eq!(self.slots[connection], State::Opening);
        self.slots[connection] = State::Open { holders: 0 };
        self.make_available(connection);
        self.idle += 1;
        self.count_open(connection, 1);
    }

    /// Assigns a connection of a shard, or None if all of it are in use.
    pub fn acquire(&mut self, shard: usize) -> Option<usize> {
        let connection = if self.shards.len() > 1 {
            self.take(shard)?
        } else {
            (0..self.available.len()).find_map(|_| self.take_turn())?
        };
        if let State::Open { holders } = &mut self.slots[connection] {
            self.idle -= usize::from(*holders == 0);
            *holders += 1;
            if *holders < self.depth {
                self.make_available(connection);
            }
        }
        Some(connection)
    }

    /// Whether a connection that its only holder releases is the one that is assigned next: no other is idle.
    #[inline]
    pub fn has_no_other(&self) -> bool {
        self.depth == 1 && self.idle == 0 && self.max_idle > 0 && self.available.len() == 1
    }

    /// A connection to the endpoint whose turn it is, if it has one; then it is the next one's turn.
    #[inline]
    fn take_turn(&mut self) -> Option<usize> {
        let turn = self.turn;
        self.turn = if turn + 1 < self.available.len() { turn + 1 } else { 0 };
        self.take(turn)
    }

    #[inline]
    fn take(&mut self, endpoint: usize) -> Option<usize> {
        match self.order {
            PoolOrder::Lifo => self.available[endpoint].pop_back(),
            PoolOrder::Fifo => self.available[endpoint].pop_front(),
        }
    }

    fn count_open(&mut self, connection: usize, change: isize) {
        let shard = self.shard_of(connection);
        self.open = self.open.wrapping_add_signed(change);
        self.shards[shard].open = self.shards[shard].open.wrapping_add_signed(change);
    }

    #[inline]
    fn make_available(&mut self, connection: usize) {
        self.available[self.endpoints[connection]].push_back(connection);
    }

    /// Takes a connection back. It is kept whatever `max_idle` says if `someone_waits`.
    pub fn release(&mut self, connection: usize, someone_waits: bool) -> Released {
        let State::Open { holders } = &mut self.slots[connection] else {
            return Released::Kept;
        };
        let was_full = *holders == self.depth;
        *holders -= 1;
        let is_idle = *holders == 0;
        if is_idle && !someone_waits && self.idle >= self.max_idle {
            self.forget(connection);
            self.slots[connection] = State::Closed;
            self.count_open(connection, -1);
            let shard = self.shard_of(connection);
            self.shards[shard].closed.push(connection);
            return Released::Surplus;
        }
        self.idle += usize::from(is_idle);
        if was_full {
            self.make_available(connection);
        }
        Released::Kept
    }

    /// An open connection was lost and is opened again: it is no longer assigned.
    pub fn lost(&mut self, connection: usize) {
        if let State::Open { holders } = self.slots[connection] {
            self.idle -= usize::from(holders == 0);
            self.count_open(connection, -1);
            if holders < self.depth {
                self.forget(connection);
            }
        }
        self.slots[connection] = State::Opening;
    }

    fn forget(&mut self, connection: usize) {
        let available = &mut self.available[self.endpoints[connection]];
        if let Some(position) = available.iter().position(|&other| other == connection) {
            available.remove(position);
        }
    }
}

impl Shard {
    fn opening(&self) -> usize {
        self.connections - self.open - self.closed.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(connections: usize, depth: usize, max_idle: Option<usize>, order: PoolOrder) -> Pool {
        let mut pool = Pool::new(vec![0; connections], 1, depth, max_idle, order);
        while let Some(connection) = pool.dial(0) {
            pool.opened(connection);
        }
        pool
    }

    #[test]
    fn lifo_assigns_the_one_released_last() {
        let mut pool = opened(3, 1, None, PoolOrder::Lifo);
        let (a, b) = (pool.acquire(0).unwrap(), pool.acquire(0).unwrap());
        pool.release(a, false);
        pool.release(b, false);
        assert_eq!(pool.acquire(0), Some(b));
    }

    #[test]
    fn fifo_assigns_the_one_released_first() {
        let mut pool = opened(2, 1, None, PoolOrder::Fifo);
        let (a, b) = (pool.acquire(0).unwrap(), pool.acquire(0).unwrap());
        assert_eq!(pool.acquire(0), None);
        pool.release(b, false);
        pool.release(a, false);
        assert_eq!(pool.acquire(0), Some(b));
    }

    #[test]
    fn a_connection_is_its_own_successor_where_no_other_is_idle_and_it_may_stay() {
        for order in [PoolOrder::Lifo, PoolOrder::Fifo] {
            let mut pool = opened(2, 1, None, order);
            let first = pool.acquire(0).unwrap();
            assert!(!pool.has_no_other());
            pool.acquire(0);
            assert!(pool.has_no_other());
            pool.release(first, false);
            assert_eq!(pool.acquire(0), Some(first));
        }
        let mut closing = opened(1, 1, Some(0), PoolOrder::Lifo);
        let only = closing.acquire(0).unwrap();
        assert!(!closing.has_no_other());
        assert_eq!(closing.release(only, false), Released::Surplus);
        let mut two_endpoints = Pool::new(vec![0, 1], 1, 1, None, PoolOrder::Lifo);
        while let Some(connection) = two_endpoints.dial(0) {
            two_endpoints.opened(connection);
        }
        assert!(std::iter::from_fn(|| two_endpoints.acquire(0)).count() == 2 && !two_endpoints.has_no_other());
    }

    #[test]
    fn a_connection_released_beside_max_idle_others_is_closed_and_can_be_dialled_again() {
        let mut pool = opened(3, 1, Some(1), PoolOrder::Lifo);
        let held: Vec<usize> = std::iter::from_fn(|| pool.acquire(0)).collect();
        assert_eq!(held.len(), 3);
        assert_eq!(pool.release(held[0], false), Released::Kept);
        assert_eq!(pool.release(held[1], false), Released::Surplus);
        assert_eq!(pool.release(held[2], true), Released::Kept, "an operation waits for it");
        assert_eq!(pool.open(), 2);
        assert_eq!(pool.dial(0), Some(held[1]));
        assert_eq!((pool.dial(0), pool.opening()), (None, 1));
    }

    #[test]
    fn only_what_was_opened_is_assigned() {
        let mut pool = Pool::new(vec![0; 4], 1, 1, None, PoolOrder::Lifo);
        assert_eq!(pool.acquire(0), None);
        let first = pool.dial(0).unwrap();
        assert_eq!(pool.acquire(0), None);
        pool.opened(first);
        assert_eq!(pool.acquire(0), Some(first));
        assert_eq!((pool.open(), pool.opening()), (1, 0));
    }

    #[test]
    fn a_lost_connection_is_not_assigned_until_it_is_opened_again() {
        let mut pool = opened(1, 1, None, PoolOrder::Lifo);
        pool.lost(0);
        assert_eq!(pool.acquire(0), None);
        assert_eq!((pool.open(), pool.opening()), (0, 1));
        pool.opened(0);
        assert_eq!(pool.acquire(0), Some(0));
    }

    #[test]
    fn shared_connections_take_turns_and_fill_to_their_depth() {
        let mut pool = opened(2, 2, None, PoolOrder::Lifo);
        let order: Vec<usize> = std::iter::from_fn(|| pool.acquire(0)).collect();
        assert_eq!(order, [0, 1, 0, 1]);
        pool.release(1, false);
        assert_eq!((pool.acquire(0), pool.acquire(0)), (Some(1), None));
    }

    #[test]
    fn endpoints_take_turns_as_far_as_they_have_a_connection() {
        let mut pool = Pool::new(vec![0, 1, 0, 1], 1, 1, None, PoolOrder::Lifo);
        while let Some(connection) = pool.dial(0) {
            pool.opened(connection);
        }
        let held = pool.acquire(0).unwrap();
        assert_eq!(held, 2);
        for expected in [3, 0, 3, 0] {
            assert_eq!(pool.acquire(0), Some(expected));
            pool.release(expected, false);
        }
        pool.lost(3);
        pool.lost(1);
        assert_eq!((pool.acquire(0), pool.acquire(0)), (Some(0), None));
    }

    #[test]
    fn a_shard_assigns_its_own_connections_alone() {
        let mut pool = Pool::new(vec![0, 1, 2, 0], 3, 1, None, PoolOrder::Lifo);
        let dialled: Vec<usize> = std::iter::from_fn(|| pool.dial(pool.shard_to_dial())).collect();
        assert_eq!(dialled, [0, 3, 1, 2], "the shard with most to be opened comes first");
        assert_eq!((pool.opening(), pool.opening_of(0), pool.not_open_of(1)), (4, 2, 1));
        dialled.into_iter().for_each(|connection| pool.opened(connection));
        assert_eq!((pool.acquire(0), pool.acquire(0), pool.acquire(0)), (Some(3), Some(0), None));
        assert_eq!((pool.acquire(2), pool.acquire(1), pool.acquire(1)), (Some(2), Some(1), None));
        assert_eq!((pool.shard_of(3), pool.shard_of(2)), (0, 2));
        pool.release(1, false);
        pool.lost(1);
        assert_eq!((pool.opening_of(1), pool.not_open_of(1), pool.not_open_of(0), pool.open()), (1, 1, 0, 3));
    }

    #[test]
    fn a_shard_may_be_opened_by_need_alone() {
        let mut pool = Pool::new(vec![0, 1, 2, 1], 3, 1, None, PoolOrder::Lifo);
        pool.open_by_need(1);
        assert_eq!((pool.to_open(), pool.shard_to_dial()), (2, 0));
        for expected in [0, 2] {
            assert_eq!(pool.dial(pool.shard_to_dial()), Some(expected));
            pool.opened(expected);
        }
        assert_eq!((pool.open(), pool.open_of(1), pool.not_open_of(1)), (2, 0, 2));
        assert_eq!((pool.acquire(1), pool.dial(1)), (None, Some(1)));
    }

    #[test]
    fn a_surplus_connection_is_dialled_again_for_its_own_shard() {
        let mut pool = Pool::new(vec![0, 1], 2, 1, Some(0), PoolOrder::Lifo);
        while let Some(connection) = pool.dial(pool.shard_to_dial()) {
            pool.opened(connection);
        }
        pool.acquire(1);
        assert_eq!(pool.release(1, false), Released::Surplus);
        assert_eq!((pool.dial(0), pool.dial(1)), (None, Some(1)));
    }

    #[test]
    fn a_shared_connection_is_listed_once_whatever_the_order_of_releases() {
        let mut pool = opened(1, 3, None, PoolOrder::Lifo);
        for _ in 0..3 {
            pool.acquire(0);
        }
        for _ in 0..3 {
            pool.release(0, false);
        }
        let again: Vec<usize> = std::iter::from_fn(|| pool.acquire(0)).collect();
        assert_eq!(again, [0, 0, 0]);
    }
}
