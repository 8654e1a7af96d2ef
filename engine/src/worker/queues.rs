//! Operations that wait for a connection, in one queue a shard (see `Workload::shards`).

use super::connection::Redirected;
use crate::load::Request;
use crate::record::outcome::Phase;
use std::collections::VecDeque;

/// Room for what waits, of all shards together, and of one at least.
const ROOM: usize = 1024;
const ROOM_LEAST: usize = 16;

/// Operations that wait for one connection: an arrival, or a user's batch, or what of that goes to one shard.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub intended_ns: u64,
    pub user: u32,
    pub operations: u32,
    pub member: Phase,
    /// When the first request of an operation was sent that waits for a connection for its next; else 0.
    pub sent_ns: u64,
    /// Of a single operation that a node of a cluster sent on.
    pub redirected: Redirected,
    /// How much of its time so far was not the thread's own; 0 of one that was never sent.
    pub excused_ns: u64,
}

impl Waiting {
    /// So many operations that were never sent.
    pub fn new(intended_ns: u64, user: u32, operations: u32, member: Phase) -> Self {
        let redirected = Redirected::default();
        Self { intended_ns, user, operations, member, sent_ns: 0, redirected, excused_ns: 0 }
    }
}

#[derive(Debug)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Their requests, in the same order.
    requests: VecDeque<Request>,
    /// Requests at the end that belong to nothing in `waiting` yet.
    loose: u32,
}

#[derive(Debug)]
pub(super) struct Queues {
    queues: Vec<Queue>,
    waiting: usize,
}

impl Queues {
    pub fn new(shards: usize) -> Self {
        // A few shards are as busy as one can be; of many each is not.
        let room = if shards <= ROOM_LEAST { ROOM } else { ROOM_LEAST };
        let queue =
            || Queue { waiting: VecDeque::with_capacity(room), requests: VecDeque::with_capacity(room), loose: 0 };
        Self { queues: (0..shards).map(|_| queue()).collect(), waiting: 0 }
    }

    pub fn shards(&self) -> usize {
        self.queues.len()
    }

    /// How many wait on all shards.
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whether any connection will do, and no one waits for one.
    #[inline]
    pub fn is_passed_by(&self) -> bool {
        self.queues.len() == 1 && self.waiting == 0
    }

    /// How many wait on one shard.
    #[inline]
    pub fn len_of(&self, shard: usize) -> usize {
        self.queues[shard].waiting.len()
    }

    /// Adds a request; `close` says what it belongs to.
    #[inline]
    pub fn push(&mut self, shard: usize, request: Request) {
        let queue = &mut self.queues[shard];
        queue.requests.push_back(request);
        queue.loose += 1;
    }

    /// The requests pushed to the shard wait together from now on. False if there were none.
    #[inline]
    pub fn close(&mut self, shard: usize, waiting: Waiting) -> bool {
        let queue = &mut self.queues[shard];
        let operations = std::mem::take(&mut queue.loose);
        if operations > 0 {
            queue.waiting.push_back(Waiting { operations, ..waiting });
            self.waiting += 1;
        }
        operations > 0
    }

    /// Puts a single operation before all others of its shard.
    pub fn push_front(&mut self, shard: usize, request: Request, waiting: Waiting) {
        let queue = &mut self.queues[shard];
        queue.requests.push_front(request);
        queue.waiting.push_front(Waiting { operations: 1, ..waiting });
        self.waiting += 1;
    }

    /// Who waits longest on a shard of which nothing waits together, and for what.
    #[inline]
    pub fn first(&self, shard: usize) -> Option<(Waiting, Request)> {
        let queue = &self.queues[shard];
        queue.waiting.front().copied().zip(queue.requests.front().copied())
    }

    /// Puts a single operation behind so many others of its shard, of which nothing waits together.
    pub fn insert(&mut self, shard: usize, behind: usize, request: Request, waiting: Waiting) {
        let queue = &mut self.queues[shard];
        queue.requests.insert(behind, request);
        queue.waiting.insert(behind, Waiting { operations: 1, ..waiting });
        self.waiting += 1;
    }

    /// Who waits longest on a shard is to be served next on another one, as if no node had sent it on yet. False if no one
    /// waits.
    pub fn move_first(&mut self, from: usize, to: usize) -> bool {
        let Some(waiting) = self.queues[from].waiting.pop_front() else {
            return false;
        };
        for _ in 0..waiting.operations {
            let request = self.queues[from].requests.pop_front();
            self.queues[to].requests.extend(request);
        }
        self.queues[to].requests.rotate_right(waiting.operations as usize);
        self.queues[to].waiting.push_front(Waiting { redirected: Redirected::default(), ..waiting });
        true
    }

    /// Adds all that waits in `other`, after what waits here.
    pub fn append(&mut self, mut other: Queues) {
        for (queue, more) in self.queues.iter_mut().zip(&mut other.queues) {
            queue.waiting.append(&mut more.waiting);
            queue.requests.append(&mut more.requests);
        }
        self.waiting += other.waiting;
    }

    /// Who waits longest on a shard, who is to take its requests.
    #[inline]
    pub fn pop(&mut self, shard: usize) -> Option<Waiting> {
        let waiting = self.queues[shard].waiting.pop_front()?;
        self.waiting -= 1;
        Some(waiting)
    }

    /// Takes the requests of what was popped last, one after the other: to be called to its end.
    #[inline]
    pub fn requests(&mut self, shard: usize, operations: u32) -> impl Iterator<Item = Request> + '_ {
        let requests = &mut self.queues[shard].requests;
        (0..operations).map_while(|_| requests.pop_front())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Shared, Workload};
    use crate::plan::Plan;
    use std::sync::Arc;

    fn requests(count: usize) -> Vec<Request> {
        let text = r#"{"endpoints": [{}], "model": {"kind": "closed", "users": 1}, "pool": {"connections": 1},
            "operations": [{"name": "a", "commands": [{"args": ["PING"]}]}]}"#;
        let plan = Plan::from_json(text).unwrap();
        let mut workload = Workload::new(&plan, Arc::new(Shared::new(&plan).unwrap()), 0).unwrap();
        (0..count).map(|_| workload.begin().unwrap()).collect()
    }

    fn waiting(user: u32) -> Waiting {
        Waiting::new(0, user, 0, Phase::Measure)
    }

    #[test]
    fn a_batch_that_is_split_waits_on_each_of_its_shards() {
        let drawn = requests(3);
        let mut queues = Queues::new(3);
        for (shard, request) in [(0, drawn[0]), (2, drawn[1]), (0, drawn[2])] {
            queues.push(shard, request);
        }
        let parts: Vec<bool> = (0..3).map(|shard| queues.close(shard, waiting(7))).collect();
        assert_eq!(parts, [true, false, true]);
        assert_eq!((queues.len(), queues.len_of(0), queues.len_of(1), queues.len_of(2)), (2, 1, 0, 1));
        let first = queues.pop(0).unwrap();
        assert_eq!((first.user, first.operations), (7, 2));
        assert_eq!(queues.requests(0, 2).collect::<Vec<_>>(), [drawn[0], drawn[2]]);
        assert!(queues.pop(0).is_none() && !queues.is_empty());
        assert_eq!(queues.pop(2).map(|waiting| waiting.operations), Some(1));
        assert!(queues.is_empty());
    }

    #[test]
    fn what_is_appended_is_served_last() {
        let drawn = requests(2);
        let (mut queues, mut more) = (Queues::new(1), Queues::new(1));
        for (queues, request, user) in [(&mut queues, drawn[0], 1), (&mut more, drawn[1], 2)] {
            queues.push(0, request);
            queues.close(0, waiting(user));
        }
        queues.append(more);
        assert_eq!(queues.len(), 2);
        for (user, request) in [(1, drawn[0]), (2, drawn[1])] {
            assert_eq!(queues.pop(0).map(|waiting| waiting.user), Some(user));
            assert_eq!(queues.requests(0, 1).collect::<Vec<_>>(), [request]);
        }
        assert!(queues.is_empty());
    }

    #[test]
    fn what_cannot_be_served_is_first_on_another_shard_in_its_order() {
        let drawn = requests(4);
        let mut queues = Queues::new(2);
        for (shard, own, user) in [(0, &drawn[..2], 1), (0, &drawn[2..3], 2), (1, &drawn[3..], 3)] {
            own.iter().for_each(|&request| queues.push(shard, request));
            queues.close(shard, waiting(user));
        }
        assert!(queues.move_first(0, 1));
        assert_eq!((queues.len(), queues.len_of(0), queues.len_of(1)), (3, 1, 2));
        assert_eq!(queues.pop(1).map(|waiting| (waiting.user, waiting.operations)), Some((1, 2)));
        assert_eq!(queues.requests(1, 2).collect::<Vec<_>>(), drawn[..2]);
        assert_eq!(queues.pop(1).map(|waiting| waiting.user), Some(3));
        assert_eq!(queues.requests(1, 1).collect::<Vec<_>>(), drawn[3..]);
        assert!(queues.move_first(0, 1) && !queues.move_first(0, 1));
    }

    #[test]
    fn what_goes_on_is_served_first() {
        let drawn = requests(2);
        let mut queues = Queues::new(1);
        queues.push(0, drawn[0]);
        queues.close(0, waiting(1));
        queues.push_front(0, drawn[1], waiting(2));
        assert_eq!(queues.pop(0).map(|waiting| waiting.user), Some(2));
        assert_eq!(queues.requests(0, 1).collect::<Vec<_>>(), [drawn[1]]);
    }
}
