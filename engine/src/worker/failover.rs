//! A primary that Sentinel watches: when a connection to it ends, a Sentinel is queried where it is now.
//!
//! Each connection queries by itself, as its own greeting to the Sentinel, and goes where that says: to a server of the
//! plan and to no other. How long no server answered is noted.

use super::Worker;
use super::receive::Lost;
use crate::plan::{Endpoint, Plan};
use crate::record::tally::{End, Gap};
use crate::wire::ErrorKind;

/// What a server that became a replica answers to a write.
const READ_ONLY: &[u8] = b"-READONLY";

/// Of one thread: which Sentinel is next, and what it noted.
#[derive(Debug)]
pub(super) struct Failover {
    sentinels: Vec<usize>,
    next: usize,
    /// In their order; the last may be open.
    pub gaps: Vec<Gap>,
}

impl Failover {
    /// None if no Sentinel watches the plan's server.
    pub fn new(plan: &Plan, thread: usize) -> Option<Self> {
        let all = plan.endpoints.iter().enumerate();
        let sentinels: Vec<usize> =
            all.filter(|(_, endpoint)| endpoint.sentinel_of.is_some()).map(|(index, _)| index).collect();
        (!sentinels.is_empty()).then(|| Self { sentinels, next: thread, gaps: Vec::new() })
    }

    fn next_sentinel(&mut self) -> usize {
        self.next += 1;
        self.sentinels[self.next % self.sentinels.len()]
    }

    fn open_gap(&mut self) -> Option<&mut Gap> {
        self.gaps.last_mut().filter(|gap| gap.answered_ns.is_none())
    }
}

impl Worker {
    /// A connection could not be opened, or was lost: it asks a Sentinel before it goes anywhere else.
    #[cold]
    pub(super) fn ask_sentinel(&mut self, number: usize) {
        let is_of_the_primary = self.is_of_the_primary(number);
        if let Some(failover) = self.failover.as_mut().filter(|_| is_of_the_primary) {
            self.connections[number].target = failover.next_sentinel();
        }
    }

    /// Whether a connection is for what the primary gets: a replica that is read from is gone to where it is.
    fn is_of_the_primary(&self, number: usize) -> bool {
        self.connections.pool.shard_of(number) == 0
    }

    /// Requests failed with their connection.
    #[cold]
    pub(super) fn note_lost(&mut self, number: usize) {
        let is_of_the_primary = self.is_of_the_primary(number);
        let Some(failover) = self.failover.as_mut().filter(|_| is_of_the_primary) else {
            return;
        };
        if failover.open_gap().is_none() {
            let target = self.connections[number].target;
            failover.gaps.push(Gap { lost_ns: self.now_ns, lost_target: target, answered_ns: None, primary: target });
        }
    }

    /// A connection takes operations again.
    #[cold]
    pub(super) fn note_ready(&mut self, number: usize) {
        let is_of_the_primary = self.is_of_the_primary(number);
        let Some(failover) = self.failover.as_mut().filter(|_| is_of_the_primary) else {
            return;
        };
        self.connections[number].is_first_since = failover.open_gap().is_some();
    }

    /// A reply of the primary, which may be the first one since it was lost, or say that it is none any more.
    pub(super) fn note_reply(&mut self, number: usize, reply: &[u8]) -> Result<(), Lost> {
        if reply.starts_with(READ_ONLY) {
            return Err(Lost { end: End::Lost(ErrorKind::ServerReadOnly), why: "it is a replica by now".into() });
        }
        if !std::mem::take(&mut self.connections[number].is_first_since) {
            return Ok(());
        }
        let primary = self.connections[number].target;
        if let Some(gap) = self.failover.as_mut().and_then(Failover::open_gap) {
            (gap.answered_ns, gap.primary) = (Some(self.now_ns), primary);
        }
        Ok(())
    }

    /// Whether a connection is to a Sentinel.
    pub(super) fn asks_sentinel(&self, number: usize) -> bool {
        self.failover.is_some() && self.plan.endpoints[self.connections[number].target].sentinel_of.is_some()
    }

    /// A Sentinel says where the primary is: the connection goes there.
    pub(super) fn take_primary(&mut self, number: usize, reply: &[u8]) -> Result<(), Lost> {
        let lost = |why: String| Lost { end: End::Lost(ErrorKind::ConnectionFailed), why };
        let Some((host, port)) = self.workload.wire().address(reply) else {
            return Err(lost("this Sentinel knows no primary of that name".into()));
        };
        let is_it = |endpoint: &Endpoint| {
            endpoint.sentinel_of.is_none() && endpoint.port == port && endpoint.host.eq_ignore_ascii_case(host)
        };
        let Some(target) = self.plan.endpoints.iter().position(is_it) else {
            return Err(lost("this Sentinel names a server that was not there when the run began".into()));
        };
        self.connections.turn_to(number, target, self.now_ns);
        Ok(())
    }
}
