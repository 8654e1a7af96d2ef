//! The requests of one worker thread: drawn, written, and judged.
//!
//! [`Workload::begin`] draws an operation, its key and its version; the [`Wire`] writes each of its requests, finds
//! where a reply ends and judges it. Documents name their key and version, and their text follows from both (see
//! [`crate::content::values`]), so a reply is judged without anything having been stored.

use super::operations::{Operation, OperationInfo, Operations};
use super::read_back::{ReadBackCounts, RecentWrites, Write};
use super::recorded::Recorded;
use super::replicas::Replicas;
use super::slots::Slots;
use super::{Shared, routes};
use crate::content::keys::KeyPicker;
use crate::content::message::Intended;
use crate::content::rng::Rng;
use crate::content::send_buffer::Sink;
use crate::content::template::{Filling, Part};
use crate::plan::{Plan, PlanError, Writes};
use crate::wire::{Decoded, Expected, ProtocolError, Reading, Verdict, Wire};
use std::sync::Arc;

/// The command that begins a transaction, as requests are named.
const TRANSACTION: &str = "MULTI";

/// One operation on its way, at one of its requests: see [`Workload::go_on`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    pub operation: u16,
    /// Place of the request that it is at among those of all operations.
    pub(super) place: u32,
    /// The version to be written; for a read the newest when it began, for a read-back the one that is due.
    pub version: u32,
    /// Its number; of a command of a recording, where that is held.
    pub key: u64,
    /// The operation's number in the drive, of all agents.
    pub seq: u64,
    /// Whether this is a read-back, of one request, rather than the operation itself.
    pub read_back: bool,
    /// It is the operation's last one.
    is_last: bool,
    /// The key held a document for certain.
    known: bool,
    /// No other write of the key was in flight.
    alone: bool,
}

impl Request {
    /// That there is no such key is no error.
    pub fn may_miss(&mut self) {
        self.known = false;
    }
}

impl Request {
    /// What the placeholders stand for.
    #[inline]
    fn filling<'a>(&self, shared: &'a Shared) -> Filling<'a> {
        let Request { key, version, seq, .. } = *self;
        let (intended, data) = (Intended::default(), shared.data.as_ref());
        Filling { values: &shared.values, key, version, seq, intended, previous: b"", others: &[], data }
    }
}

/// What one thread requests.
#[derive(Debug)]
pub struct Workload {
    shared: Arc<Shared>,
    wire: Wire,
    follows_versions: bool,
    /// Something is noted once a reply came.
    follows_replies: bool,
    operations: Operations,
    /// What decides on the slot of each operation; empty where there are none.
    routes: Vec<Vec<Part>>,
    /// Where operations that only read go to replicas.
    pub replicas: Option<Replicas>,
    /// Endpoints, or sequences of a recording, are shards of their own.
    is_sharded: bool,
    keys: KeyPicker,
    /// In the place of operations and keys that are drawn.
    recorded: Option<Recorded>,
    rng: Rng,
    next_seq: u64,
    /// When the operation that is written next was intended, for `{message}`.
    pub intended: Intended,
    /// Of all agents.
    threads: u64,
    recent: RecentWrites,
    read_backs: ReadBackCounts,
    scratch: Vec<u8>,
}

impl Workload {
    /// The workload of thread number `thread` of this agent. `shared` was made from the same plan. The error names the argument of
    /// the plan that cannot be used.
    pub fn new(plan: &Plan, shared: Arc<Shared>, thread: usize) -> Result<Self, PlanError> {
        let (values, data) = (&shared.values, shared.data.as_ref());
        let filling = Filling {
            values,
            key: 0,
            version: 0,
            seq: 0,
            intended: Default::default(),
            previous: b"",
            others: &[],
            data,
        };
        let (wire, mut requests) = Wire::new(plan, &filling)?;
        let keys = requests.iter_mut().map(|operation| std::mem::take(&mut operation.keys)).collect();
        let operations = Operations::new(plan, requests)?;
        let routes = routes::routes(plan, &shared, keys)?;
        let follows_versions = plan.protocol.capabilities().follows_versions;
        let writes = plan.operations.iter().any(|operation| operation.writes != Writes::Nothing);
        let reads_back = if plan.verify.replies { plan.verify.read_back_max } else { 0 };
        let share = plan.share_of_thread(thread);
        let replicas = Replicas::new(plan, share.number);
        Ok(Self {
            is_sharded: shared.slots.is_some() || replicas.is_some(),
            replicas,
            follows_replies: follows_versions && (writes || shared.acknowledged.is_some()),
            shared,
            wire,
            follows_versions,
            operations,
            routes,
            keys: KeyPicker::new(&plan.keys, share, plan.agent()),
            recorded: Recorded::new(plan, share)?,
            rng: Rng::new(plan.seed, share.number as u64),
            next_seq: share.number as u64,
            intended: Intended::default(),
            threads: share.of as u64,
            recent: RecentWrites::new(usize::try_from(reads_back).unwrap_or(usize::MAX)),
            read_backs: ReadBackCounts::default(),
            scratch: Vec::new(),
        })
    }

    pub fn wire(&self) -> &Wire {
        &self.wire
    }

    pub fn operations(&self) -> &[OperationInfo] {
        &self.operations.infos
    }

    /// The distinct names of requests: of commands in capitals, read-backs included; of HTTP requests their methods
    /// and paths.
    pub fn request_names(&self) -> &[String] {
        &self.operations.names
    }

    /// For each of [`Workload::request_names`] how many replies were that there is no such key.
    pub fn missed(&self) -> Vec<u64> {
        let mut missed = vec![0; self.operations.names.len()];
        for request in &self.operations.requests {
            missed[request.name] += self.wire.missed(request.number);
        }
        missed
    }

    /// Place in [`Workload::request_names`] of the request that an operation is at.
    #[inline]
    pub fn name_index(&self, request: &Request) -> usize {
        self.operations.current(request).name
    }

    /// Shards that operations keep to: one an endpoint where keys decide on it, of a recording one a sequence, else one
    /// for all.
    pub fn shards(&self) -> usize {
        if let Some(recorded) = &self.recorded {
            return recorded.own_sequences();
        }
        match (&self.shared.slots, &self.replicas) {
            (_, Some(replicas)) => replicas.endpoints(),
            (Some(slots), None) => slots.endpoints(),
            (None, None) => 1,
        }
    }

    /// The shard of an operation. All its requests go there.
    #[inline]
    pub fn shard(&mut self, request: &Request) -> usize {
        match &self.recorded {
            Some(recorded) => recorded.sequence(request.key as usize),
            None if !self.is_sharded => 0,
            None => self.shard_of_key(request),
        }
    }

    fn shard_of_key(&mut self, request: &Request) -> usize {
        let primary = self.shard_by_slot(request);
        match &mut self.replicas {
            Some(replicas) if !request.read_back && self.operations.all[usize::from(request.operation)].reads_only => {
                replicas.reader_of(primary)
            }
            _ => primary,
        }
    }

    fn shard_by_slot(&mut self, request: &Request) -> usize {
        let Some(slots) = &self.shared.slots else {
            return 0;
        };
        let filling = request.filling(&self.shared);
        self.scratch.clear();
        self.routes[usize::from(request.operation)].iter().for_each(|part| part.write(&filling, &mut self.scratch));
        slots.endpoint_of(&self.scratch)
    }

    /// The endpoints of the slots of a cluster; None if keys do not decide on the endpoint.
    #[inline]
    pub fn slots(&self) -> Option<&Slots> {
        self.shared.slots.as_ref()
    }

    /// The request that an operation is to go on with on another connection, without the reply to the one before it: the
    /// same, or the one before if it holds that reply. None within a transaction, which keeps to its connection.
    pub fn elsewhere(&self, request: &Request) -> Option<Request> {
        let Operations { requests, names, .. } = &self.operations;
        let first = match &self.operations.all[usize::from(request.operation)] {
            _ if request.read_back => request.place,
            operation => operation.first,
        };
        let mut place = request.place;
        let before = &requests[first as usize..place as usize];
        if before.iter().any(|before| names[before.name] == TRANSACTION) {
            return None;
        }
        while place > first && self.wire.uses_previous(requests[place as usize].number) {
            place -= 1;
        }
        Some(Request { place, is_last: request.is_last && place == request.place, ..*request })
    }

    /// A key is not read back after all.
    pub fn skip_read_back(&mut self) {
        self.read_backs.skipped += 1;
    }

    /// The recording that is sent again.
    #[inline]
    pub fn recorded(&self) -> Option<&Recorded> {
        self.recorded.as_ref()
    }

    /// The endpoint that has the slot of a command of a recording.
    pub fn endpoint_of_recorded(&self, request: &Request) -> usize {
        match (&self.shared.slots, &self.recorded) {
            (Some(slots), Some(recorded)) => slots.endpoint_of_slot(recorded.slot(request.key as usize)),
            _ => 0,
        }
    }

    /// Draws the next operation, or takes it from the recording; None when every key of `exactly_once` was taken, or
    /// every command of the recording.
    #[inline(always)]
    pub fn begin(&mut self) -> Option<Request> {
        if self.recorded.is_some() {
            return self.begin_recorded();
        }
        let operation = self.draw_operation();
        self.begin_operation(operation)
    }

    #[inline(always)]
    pub(crate) fn begin_operation(&mut self, operation: usize) -> Option<Request> {
        let key = self.keys.next(&mut self.rng, &self.shared.taken)?;
        let seq = self.next_seq();
        let Operation { first, last, writes, .. } = self.operations.all[operation];
        let (state, version) = if !self.follows_versions {
            // Every operation has texts of its own.
            (self.shared.state(key), seq as u32)
        } else if writes != Writes::Nothing {
            let before = self.shared.begin_write(key);
            (before, before.version().wrapping_add(1))
        } else {
            let now = self.shared.state(key);
            (now, now.version())
        };
        Some(Request {
            operation: operation as u16,
            place: first,
            version,
            key,
            seq,
            read_back: false,
            is_last: first == last,
            known: state.stored(),
            alone: state.in_flight() == 0,
        })
    }

    fn begin_recorded(&mut self) -> Option<Request> {
        let (operation, held) = self.recorded.as_mut()?.take()?;
        let Operation { first: place, last, .. } = self.operations.all[usize::from(operation)];
        let (version, key, seq) = (0, held as u64, self.next_seq());
        let (read_back, is_last, known, alone) = (false, place == last, false, false);
        Some(Request { operation, place, version, key, seq, read_back, is_last, known, alone })
    }

    #[inline]
    fn next_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq += self.threads;
        seq
    }

    #[inline]
    fn draw_operation(&mut self) -> usize {
        let operations = &self.operations.all;
        if operations.len() == 1 {
            return 0;
        }
        let drawn = self.rng.next_u64();
        operations.iter().position(|operation| drawn <= operation.threshold).unwrap_or(0)
    }

    /// Goes on to the operation's next request, after a correct reply. False if it was at the last.
    #[inline]
    pub fn go_on(&self, request: &mut Request) -> bool {
        if request.is_last {
            return false;
        }
        request.place += 1;
        request.is_last = request.place == self.operations.all[usize::from(request.operation)].last;
        true
    }

    /// Appends the request that an operation is at, for the endpoint number `target`. `previous_reply` is the reply to
    /// the one before it.
    #[inline(always)]
    pub fn encode(&mut self, request: &Request, target: usize, previous_reply: &[u8], out: &mut impl Sink) {
        if let Some(recorded) = &mut self.recorded {
            return recorded.write(request.key as usize, out.bytes());
        }
        let number = self.operations.current(request).number;
        let mut filling = Filling { intended: self.intended, ..request.filling(&self.shared) };
        self.wire.encode(number, target, &mut filling, previous_reply, out);
    }

    /// Where the reply at the beginning of `bytes` ends. `request` returns the one that it answers, None if none was sent;
    /// `reading` is what the connection remembers of the reply.
    #[inline]
    pub fn decode<'a>(
        &mut self,
        request: impl FnOnce() -> Option<&'a Request>,
        reading: &mut Reading,
        bytes: &[u8],
    ) -> Result<Decoded, ProtocolError> {
        let operations = &self.operations;
        self.wire.decode(|| request().map(|request| operations.current(request).number), reading, bytes)
    }

    /// Judges the complete `reply` to the request that an operation is at. To be called once for each reply: a write
    /// counts as ended from then on. Not to be called when no reply came.
    #[inline(always)]
    pub fn judge(&mut self, request: &Request, reading: &mut Reading, reply: &[u8]) -> Verdict {
        let number = self.operations.current(request).number;
        let expected = || Expected { filling: request.filling(&self.shared), known: request.known };
        let newest = || self.shared.state(request.key).version();
        let verdict = self.wire.judge(number, expected, newest, reading, reply);
        if request.read_back {
            self.read_backs.checked += 1;
            self.read_backs.wrong += u64::from(verdict.is_err());
        } else if self.follows_replies {
            self.after_reply(request, verdict.is_ok());
        }
        verdict
    }

    /// Whether the `reply` of a replica lacks what was there when the request was drawn: the key, or its newest version.
    pub fn is_stale(&self, request: &Request, reply: &[u8]) -> bool {
        let number = self.operations.current(request).number;
        let expected = Expected { filling: request.filling(&self.shared), known: request.known };
        self.wire.is_stale(number, &expected, request.alone, reply)
    }

    /// Gives up a request none of whose bytes was sent: its write will never happen. (A write that was sent and not
    /// answered may still happen; nothing is to be called for it.)
    pub fn abandon(&mut self, request: &Request) {
        if let Some(recorded) = &mut self.recorded {
            return recorded.let_go(request.key as usize);
        }
        let writes = self.operations.all[usize::from(request.operation)].writes != Writes::Nothing;
        if writes && !request.read_back {
            self.shared.end_write(request.key, false);
        }
    }

    /// A command of a recording, which was sent to a cluster, is not sent again.
    pub fn let_go(&mut self, request: &Request) {
        if let Some(recorded) = &mut self.recorded {
            recorded.let_go(request.key as usize);
        }
    }

    /// Whether a command of a recording, which was sent to a cluster, can be sent again.
    pub fn is_kept(&self, request: &Request) -> bool {
        self.recorded.as_ref().is_none_or(|recorded| recorded.is_kept(request.key as usize))
    }

    /// Notes the end of a write: when its last command was answered, or an earlier one wrongly. What is acknowledged
    /// is noted for every operation.
    #[inline]
    fn after_reply(&mut self, request: &Request, is_correct: bool) {
        let operation = &self.operations.all[usize::from(request.operation)];
        let is_last = request.is_last;
        if let Some(acknowledged) = &self.shared.acknowledged
            && is_correct
            && is_last
        {
            acknowledged.note(request.key, request.version, request.alone);
        }
        if operation.writes == Writes::Nothing || (is_correct && !is_last) {
            return;
        }
        self.shared.end_write(request.key, is_correct && operation.writes == Writes::Document);
        if is_correct && request.alone && operation.read_back.is_some() {
            let Request { operation, key, version, .. } = *request;
            self.recent.push(Write { operation, key, version });
        }
    }

    /// After the drain: the next key of this thread to read back, if its last write is still the newest. A
    /// read-back has one request and is judged strictly.
    pub fn next_read_back(&mut self) -> Option<Request> {
        while let Some(Write { operation, key, version }) = self.recent.take() {
            if let Some(place) = self.operations.all[usize::from(operation)].read_back
                && self.shared.state(key).version() == version
            {
                let seq = self.next_seq();
                let (read_back, is_last, known, alone) = (true, true, true, true);
                return Some(Request { operation, place, version, key, seq, read_back, is_last, known, alone });
            }
            self.read_backs.skipped += 1;
        }
        None
    }

    /// The read-backs so far.
    pub fn read_back_counts(&self) -> ReadBackCounts {
        self.read_backs
    }
}

#[cfg(test)]
mod tests;
