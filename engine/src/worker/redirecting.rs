//! Redis Cluster: a node sends a request on to another one, or cannot be reached any more.
//!
//! A redirection is no error: the request goes to the node that was named, before all others that wait for it, and its
//! latency counts from its intended time on. `MOVED` corrects the table of slots for all threads. Nothing is ever sent
//! to an address that the plan does not have, whatever a server says.

use super::Worker;
use super::connection::{Redirected, Task};
use super::queues::Waiting;
use super::receive::Lost;
use crate::load::Request;
use crate::record::tally::End;
use crate::wire::ErrorKind;

/// How often a request is sent on: one that moved, gets an `ASK`, and moves meanwhile, needs three.
const REDIRECTIONS_MAX: u8 = 5;
/// What an error of a server begins with.
const ERROR: u8 = b'-';

impl Worker {
    /// Whether a reply to the oldest request of a connection was the cluster's own affair: that to ASKING, or a
    /// redirection that was followed.
    #[inline]
    pub(super) fn take_from_the_cluster(&mut self, number: usize, reply: &[u8]) -> Result<bool, Lost> {
        let oldest = self.connections[number].in_flight.front_mut();
        if oldest.is_some_and(|task| std::mem::take(&mut task.redirected.asks)) {
            return Ok(true);
        }
        let is_sent_on = reply.first() == Some(&ERROR) && self.redirect(number, reply)?;
        if self.replaying.is_some() && !is_sent_on {
            self.let_go_of_oldest(number);
        }
        Ok(is_sent_on)
    }

    #[cold]
    fn redirect(&mut self, number: usize, reply: &[u8]) -> Result<bool, Lost> {
        let from = self.connections[number].target;
        let (Some(redirection), Some(slots)) = (self.workload.wire().redirection(reply), self.workload.slots()) else {
            return Ok(false);
        };
        let counts = &mut self.recording.redirections;
        let Some(to) = slots.endpoint_at(from, redirection.host, redirection.port) else {
            counts.unknown += 1;
            let address = || format!("{}:{}", redirection.host, redirection.port);
            counts.unknown_address.get_or_insert_with(address);
            return Ok(false);
        };
        if to == from {
            return Ok(false); // no node of a cluster says so of itself
        }
        let asks = redirection.asks;
        if !asks {
            let before = slots.moved(redirection.slot, to);
            let is_reached = || self.connections.pool.open_of(self.shard_beside(number, before)) > 0;
            self.deposed[before] = before != from && before != to && !is_reached();
            self.deposed[to] = false; // what goes there waits until it is reached
        }
        let Some(&task) = self.connections[number].in_flight.front() else {
            return Ok(false);
        };
        if self.replaying.is_some() && !self.may_send_on(number, &task, asks)? {
            return Ok(false);
        }
        if task.request.read_back {
            self.drop_read_back(number, &task);
            return Ok(true);
        }
        if task.redirected.times >= REDIRECTIONS_MAX {
            self.recording.redirections.too_many += 1;
            return Ok(false);
        }
        let Some(request) = self.workload.elsewhere(&task.request) else {
            // Its connection is in the middle of the transaction, and of no use for anything else.
            self.recording.redirections.in_transaction += 1;
            let kind = if asks { ErrorKind::ServerAsk } else { ErrorKind::ServerMoved };
            return Err(Lost { end: End::Lost(kind), why: "a slot moved within a transaction".into() });
        };
        let redirected = Redirected { times: task.redirected.times + 1, asks, to: to as u16 };
        self.send_on((number, from), to, Task { redirected, ..task }, request);
        Ok(true)
    }

    /// The oldest operation of a connection goes on with `request` on one to another endpoint.
    fn send_on(&mut self, (number, from): (usize, usize), to: usize, task: Task, request: Request) {
        let Task { member, intended_ns, sent_ns, redirected, .. } = task;
        let counts = &mut self.recording.redirections;
        if redirected.asks {
            counts.ask += 1
        } else {
            counts.moved += 1
        }
        self.recording.commands[self.workload.name_index(&task.request)].replied += 1;
        self.recording.endpoints[from].sent -= 1; // it counts where it goes now
        self.connections[number].in_flight.pop_front();
        self.connections.in_flight -= 1;
        let user = self.connections[number].user;
        let excused_ns = self.excused_ns(&task);
        let waiting = Waiting { sent_ns, redirected, excused_ns, ..Waiting::new(intended_ns, user, 1, member) };
        if self.replaying.is_some() {
            return self.wait_again(number, request, waiting);
        }
        self.schedule.queues.push_front(to, request, waiting);
        self.schedule.part_added(user);
        self.after_reply(number);
        self.serve_waiting(to);
    }

    /// The key of a read-back moved: another node has it, and nothing else is wrong.
    fn drop_read_back(&mut self, number: usize, task: &Task) {
        self.recording.commands[self.workload.name_index(&task.request)].replied += 1;
        self.connections[number].in_flight.pop_front();
        self.connections.in_flight -= 1;
        self.workload.skip_read_back();
    }

    /// A node cannot be reached: who waits longest for it tries another one, which knows whose the slot is by now; all
    /// do once the node is known to have lost one.
    #[cold]
    pub(super) fn go_to_another_node(&mut self, shard: usize) {
        if self.replaying.is_some() {
            return self.replay_at_another_node(shard);
        }
        let shards = self.schedule.queues.shards();
        let others = (1..shards).map(|step| (shard + step) % shards);
        let Some(other) = others.into_iter().find(|&other| self.connections.pool.open_of(other) > 0) else {
            return;
        };
        while self.schedule.queues.move_first(shard, other) && self.deposed[shard] {}
        self.serve_waiting(other);
    }
}
