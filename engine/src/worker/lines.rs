//! Operations that wait for a connection, in one line a lane (see `Protocol::lanes`).

use crate::outcome::Phase;
use crate::protocol::Request;
use std::collections::VecDeque;

/// The lane of everything where keys do not decide on the endpoint, as in HTTP.
pub(super) const ONLY_LANE: usize = 0;
const ROOM: usize = 1024;

/// Operations that wait for one connection: an arrival, or a user's batch, or what of that goes to one lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub intended_ns: u64,
    pub user: u32,
    pub operations: u32,
    pub member: Phase,
    /// When the first request of an operation was sent that waits for a connection for its next; else 0.
    pub sent_ns: u64,
}

#[derive(Debug)]
struct Line {
    waiting: VecDeque<Waiting>,
    /// Their requests, in the same order.
    requests: VecDeque<Request>,
    /// Requests at the end that belong to nothing in `waiting` yet.
    loose: u32,
}

#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    waiting: usize,
}

impl Lines {
    pub fn new(lanes: usize) -> Self {
        let line =
            || Line { waiting: VecDeque::with_capacity(ROOM), requests: VecDeque::with_capacity(ROOM), loose: 0 };
        Self { lines: (0..lanes).map(|_| line()).collect(), waiting: 0 }
    }

    pub fn lanes(&self) -> usize {
        self.lines.len()
    }

    /// How many wait on all lanes.
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// How many wait on one lane.
    #[inline]
    pub fn len_of(&self, lane: usize) -> usize {
        self.lines[lane].waiting.len()
    }

    /// Adds a request; `close` says what it belongs to.
    #[inline]
    pub fn push(&mut self, lane: usize, request: Request) {
        let line = &mut self.lines[lane];
        line.requests.push_back(request);
        line.loose += 1;
    }

    /// The requests pushed to the lane wait together from now on. False if there were none.
    #[inline]
    pub fn close(&mut self, lane: usize, waiting: Waiting) -> bool {
        let line = &mut self.lines[lane];
        let operations = std::mem::take(&mut line.loose);
        if operations > 0 {
            line.waiting.push_back(Waiting { operations, ..waiting });
            self.waiting += 1;
        }
        operations > 0
    }

    /// Puts a single operation before all others of its lane.
    pub fn push_front(&mut self, lane: usize, request: Request, waiting: Waiting) {
        let line = &mut self.lines[lane];
        line.requests.push_front(request);
        line.waiting.push_front(Waiting { operations: 1, ..waiting });
        self.waiting += 1;
    }

    /// Who waits longest on a lane, who is to take its requests.
    #[inline]
    pub fn pop(&mut self, lane: usize) -> Option<Waiting> {
        let waiting = self.lines[lane].waiting.pop_front()?;
        self.waiting -= 1;
        Some(waiting)
    }

    /// Takes the requests of what was popped last.
    #[inline]
    pub fn requests(&mut self, lane: usize, operations: u32) -> impl Iterator<Item = Request> + '_ {
        self.lines[lane].requests.drain(..operations as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::protocol::{Protocol, Shared};
    use std::sync::Arc;

    fn requests(count: usize) -> Vec<Request> {
        let text = r#"{"endpoints": [{}], "model": {"kind": "closed", "users": 1}, "pool": {"connections": 1},
            "operations": [{"name": "a", "commands": [{"args": ["PING"]}]}]}"#;
        let plan = Plan::from_json(text).unwrap();
        let mut protocol = Protocol::new(&plan, Arc::new(Shared::new(&plan).unwrap()), 0).unwrap();
        (0..count).map(|_| protocol.begin().unwrap()).collect()
    }

    fn waiting(user: u32) -> Waiting {
        Waiting { intended_ns: 0, user, operations: 0, member: Phase::Measure, sent_ns: 0 }
    }

    #[test]
    fn a_batch_that_is_split_waits_on_each_of_its_lanes() {
        let drawn = requests(3);
        let mut lines = Lines::new(3);
        for (lane, request) in [(0, drawn[0]), (2, drawn[1]), (0, drawn[2])] {
            lines.push(lane, request);
        }
        let parts: Vec<bool> = (0..3).map(|lane| lines.close(lane, waiting(7))).collect();
        assert_eq!(parts, [true, false, true]);
        assert_eq!((lines.len(), lines.len_of(0), lines.len_of(1), lines.len_of(2)), (2, 1, 0, 1));
        let first = lines.pop(0).unwrap();
        assert_eq!((first.user, first.operations), (7, 2));
        assert_eq!(lines.requests(0, 2).collect::<Vec<_>>(), [drawn[0], drawn[2]]);
        assert!(lines.pop(0).is_none() && !lines.is_empty());
        assert_eq!(lines.pop(2).map(|waiting| waiting.operations), Some(1));
        assert!(lines.is_empty());
    }

    #[test]
    fn what_goes_on_is_served_first() {
        let drawn = requests(2);
        let mut lines = Lines::new(1);
        lines.push(ONLY_LANE, drawn[0]);
        lines.close(ONLY_LANE, waiting(1));
        lines.push_front(ONLY_LANE, drawn[1], waiting(2));
        assert_eq!(lines.pop(ONLY_LANE).map(|waiting| waiting.user), Some(2));
        assert_eq!(lines.requests(ONLY_LANE, 1).collect::<Vec<_>>(), [drawn[1]]);
    }
}
