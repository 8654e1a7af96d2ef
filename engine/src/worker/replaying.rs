//! A recording that is sent to a cluster: the commands of each client in their order, whichever nodes they go to.
//!
//! A **sequence** is what a connection is to a single server: the commands of one client, or of several that share it.
//! It has a connection to each node. What is in flight of it is at one node: a command for another one waits until all
//! before it were answered. A transaction keeps to the node where it began; where its slot moves meanwhile, or its
//! connection is lost, all the rest of it ends as an error.

use super::Worker;
use super::connection::{Redirected, Task};
use super::queues::Waiting;
use super::receive::Lost;
use crate::load::Request;
use crate::plan::{Operation, Plan};
use crate::record::recorder::Times;
use crate::record::tally::End;
use crate::wire::ErrorKind;

/// What a command is to a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    Opens,
    Closes,
}

/// The transaction of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Transaction {
    #[default]
    None,
    /// All of it goes to this node.
    At(usize),
    /// The rest of it is not sent, and ends like this.
    Broken(End),
}

#[derive(Debug, Clone, Copy, Default)]
struct Sequence {
    /// Commands at `node`, sent and not answered.
    in_flight: usize,
    node: usize,
    /// Of the commands that wait so many come first that were sent on: they stay in their order.
    sent_on: usize,
    transaction: Transaction,
}

/// The sequences of one thread.
#[derive(Debug)]
pub(super) struct Replaying {
    nodes: usize,
    /// How many commands of a sequence may be in flight.
    depth: usize,
    /// By the number of the operation.
    bounds: Vec<Option<Bound>>,
    sequences: Vec<Sequence>,
}

impl Replaying {
    /// None if the plan sends no recording to a cluster.
    pub fn new(plan: &Plan, sequences: usize) -> Option<Self> {
        let is_replayed = plan.recording.is_some() && plan.has_slots();
        is_replayed.then(|| Self {
            nodes: plan.connections_a_sequence(),
            depth: plan.pipeline_depth,
            bounds: plan.operations.iter().map(bound_of).collect(),
            sequences: vec![Sequence::default(); sequences],
        })
    }

    fn bound(&self, request: &Request) -> Option<Bound> {
        self.bounds[usize::from(request.operation)]
    }

    /// The transaction that the first command which waits is in: one that was sent on was before any.
    fn transaction(&self, sequence: usize) -> Transaction {
        let Sequence { sent_on, transaction, .. } = self.sequences[sequence];
        if sent_on > 0 { Transaction::None } else { transaction }
    }

    /// How the first command that waits ends without being sent, if it is of a transaction that is broken.
    fn broken(&mut self, sequence: usize, request: &Request) -> Option<End> {
        let Transaction::Broken(end) = self.transaction(sequence) else { return None };
        let bound = self.bound(request);
        if bound.is_some() {
            self.sequences[sequence].transaction = Transaction::None;
        }
        (bound != Some(Bound::Opens)).then_some(end)
    }

    /// Whether a command may be sent to a node: whatever is in flight is there, and is not too much.
    fn may_go(&self, sequence: usize, node: usize) -> bool {
        let Sequence { in_flight, node: busy, .. } = self.sequences[sequence];
        in_flight == 0 || (busy == node && in_flight < self.depth)
    }

    /// The first command that waited is sent to a node.
    fn sent(&mut self, sequence: usize, request: &Request, node: usize) {
        let bound = self.bound(request);
        let sequence = &mut self.sequences[sequence];
        sequence.in_flight += 1;
        sequence.node = node;
        sequence.sent_on = sequence.sent_on.saturating_sub(1);
        match bound {
            Some(Bound::Opens) => sequence.transaction = Transaction::At(node),
            Some(Bound::Closes) => sequence.transaction = Transaction::None,
            None => {}
        }
    }
}

fn bound_of(operation: &Operation) -> Option<Bound> {
    let name = operation.commands.first()?.args.first()?;
    match name.to_ascii_uppercase().as_str() {
        "MULTI" => Some(Bound::Opens),
        "EXEC" | "DISCARD" => Some(Bound::Closes),
        _ => None,
    }
}

impl Worker {
    /// The sequences are numbered through, and so are the nodes in each of them.
    fn nodes(&self) -> usize {
        self.replaying.as_ref().map_or(1, |replaying| replaying.nodes)
    }

    /// Whose operations a connection takes: where those wait.
    pub(super) fn queue_of(&self, number: usize) -> usize {
        if self.replaying.is_some() { number / self.nodes() } else { self.connections.pool.shard_of(number) }
    }

    /// The shard of connections to an endpoint of the cluster: those beside the connection `number`.
    pub(super) fn shard_beside(&self, number: usize, endpoint: usize) -> usize {
        if self.replaying.is_some() { number - number % self.nodes() + endpoint } else { endpoint }
    }

    /// Sends commands of a sequence as far as their nodes and the order allow it.
    pub(super) fn serve_sequence(&mut self, sequence: usize) {
        while let Some((waiting, request)) = self.schedule.queues.first(sequence) {
            let Some(replaying) = &mut self.replaying else { return };
            if let Some(end) = replaying.broken(sequence, &request) {
                self.end_unsent(sequence, end);
                continue;
            }
            let node = self.node_of(sequence, &waiting, &request);
            let shard = sequence * self.nodes() + node;
            if self.replaying.as_ref().is_none_or(|replaying| !replaying.may_go(sequence, node)) {
                return;
            }
            let Some(number) = self.connections.pool.acquire(shard) else {
                return self.reach(shard, node);
            };
            self.replay(number, sequence, waiting.redirected);
        }
    }

    /// Where a command that waits is to go.
    fn node_of(&self, sequence: usize, waiting: &Waiting, request: &Request) -> usize {
        match self.replaying.as_ref().map(|replaying| replaying.transaction(sequence)) {
            Some(Transaction::At(node)) => node,
            _ if waiting.redirected.asks => usize::from(waiting.redirected.to),
            _ => self.workload.endpoint_of_recorded(request),
        }
    }

    /// Encodes the first command that waits in a sequence for the connection that it got.
    fn replay(&mut self, number: usize, sequence: usize, redirected: Redirected) {
        let first = self.schedule.queues.first(sequence);
        if let (Some(replaying), Some((_, request))) = (&mut self.replaying, first) {
            replaying.sent(sequence, &request, self.connections[number].target);
        }
        let Some(mut waiting) = self.schedule.queues.pop(sequence) else { return };
        if waiting.sent_ns == 0 && self.schedule.intends_when_sent() {
            waiting.intended_ns = self.now_ns;
        }
        self.dispatch(number, sequence, Waiting { redirected, ..waiting });
    }

    /// A command waits for a node to which its sequence has no connection.
    #[cold]
    fn reach(&mut self, shard: usize, node: usize) {
        if self.deposed[node] {
            self.replay_at_another_node(shard);
        }
        if self.connections.pool.opening_of(shard) == 0 {
            self.dial_another(shard);
        }
    }

    /// A node cannot be reached: the first command that waits for it tries another one, which knows whose the slot is.
    #[cold]
    pub(super) fn replay_at_another_node(&mut self, shard: usize) {
        let (Some(replaying), nodes) = (&self.replaying, self.nodes()) else { return };
        let (sequence, node) = (shard / nodes, shard % nodes);
        let is_free = replaying.sequences[sequence].in_flight == 0;
        let is_apart = replaying.transaction(sequence) == Transaction::None;
        let first = self.schedule.queues.first(sequence);
        let waits = first.is_some_and(|(waiting, request)| self.node_of(sequence, &waiting, &request) == node);
        if !(waits && is_free && is_apart) {
            return;
        }
        let others = (1..nodes).map(|step| sequence * nodes + (node + step) % nodes);
        if let Some(number) = others.into_iter().find_map(|other| self.connections.pool.acquire(other)) {
            self.replay(number, sequence, Redirected::default());
        }
    }

    /// The first command that waits in a sequence ends without being sent.
    #[cold]
    fn end_unsent(&mut self, sequence: usize, end: End) {
        let now_ns = self.read_clock();
        let Some(waiting) = self.schedule.queues.pop(sequence) else { return };
        let Some(request) = self.schedule.queues.requests(sequence, 1).next() else { return };
        let operation = usize::from(request.operation);
        let recorder = &mut self.recording.recorder;
        recorder.sent(operation, waiting.member);
        let intended_ns = waiting.intended_ns;
        let times = Times { intended_ns, sent_ns: now_ns, completed_ns: now_ns, own_ns: 0 };
        recorder.ended(operation, waiting.member, end, times);
        self.workload.abandon(&request);
    }

    /// The oldest command of a connection was answered: the sequence goes on.
    pub(super) fn release_to_sequence(&mut self, number: usize) {
        let sequence = self.queue_of(number);
        self.connections.pool.release(number, true);
        if let Some(replaying) = &mut self.replaying {
            replaying.sequences[sequence].in_flight -= 1;
        }
        self.serve_sequence(sequence);
    }

    /// The oldest command of a connection ends with its reply, and is not sent again.
    pub(super) fn let_go_of_oldest(&mut self, number: usize) {
        if let Some(task) = self.connections[number].in_flight.front() {
            self.workload.let_go(&task.request);
        }
    }

    /// All that is in flight on a connection ends like this.
    pub(super) fn note_lost_by_sequence(&mut self, number: usize, end: End) {
        let (sequence, connection) = (self.queue_of(number), &self.connections[number]);
        for task in &connection.in_flight {
            self.workload.let_go(&task.request);
        }
        if let Some(replaying) = &mut self.replaying {
            let sequence = &mut replaying.sequences[sequence];
            sequence.in_flight -= connection.in_flight.len();
            if sequence.transaction == Transaction::At(connection.target) {
                sequence.transaction = Transaction::Broken(end);
            }
        }
    }

    /// Whether the oldest command of a connection, which a node sends on, can be sent again: it is of no transaction,
    /// and there was room to keep it. In the middle of a transaction the connection is of no use for anything else.
    pub(super) fn may_send_on(&mut self, number: usize, task: &Task, asks: bool) -> Result<bool, Lost> {
        let (sequence, connection) = (self.queue_of(number), &self.connections[number]);
        let Some(replaying) = &self.replaying else { return Ok(true) };
        // The end itself is sent on where the slot moved after its last command: the server has given it up by then.
        let is_end = replaying.bound(&task.request) == Some(Bound::Closes);
        let behind = connection.in_flight.iter().skip(usize::from(!is_end));
        let next = behind.into_iter().find_map(|task| replaying.bound(&task.request));
        let is_open = replaying.sequences[sequence].transaction == Transaction::At(connection.target);
        match next {
            None if is_open => {
                self.recording.redirections.in_transaction += 1;
                let kind = if asks { ErrorKind::ServerAsk } else { ErrorKind::ServerMoved };
                Err(Lost { end: End::Lost(kind), why: "a slot moved within a transaction".into() })
            }
            Some(Bound::Closes) => {
                self.recording.redirections.in_transaction += 1;
                Ok(false)
            }
            _ => Ok(self.workload.is_kept(&task.request)),
        }
    }

    /// A command that a node sent on waits again, before all that was not sent yet.
    pub(super) fn wait_again(&mut self, number: usize, request: Request, waiting: Waiting) {
        let sequence = self.queue_of(number);
        if let Some(replaying) = &mut self.replaying {
            let sent_on = &mut replaying.sequences[sequence].sent_on;
            self.schedule.queues.insert(sequence, *sent_on, request, waiting);
            *sent_on += 1;
        }
        self.after_reply(number);
    }
}
