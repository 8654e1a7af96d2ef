//! What a thread records: operations and their times, and what it did on its connections.

use super::connection::Task;
use crate::load::Request;
use crate::record::calls::{Calls, Sent};
use crate::record::examples::Examples;
use crate::record::outcome::{CommandRecord, Connections, EndpointRecord, Phase, Redirections};
use crate::record::recorder::{Recorder, Times};
use crate::record::tally::{End, Gauges};
use crate::record::timeline::Timeline;

#[derive(Debug)]
pub(super) struct Recording {
    pub recorder: Recorder,
    pub connections: Connections,
    pub redirections: Redirections,
    pub endpoints: Vec<EndpointRecord>,
    pub commands: Vec<CommandRecord>,
    pub examples: Examples,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Without requests and replies, which `commands` count.
    pub calls: Calls,
    calls_before: Calls,
    /// Bytes sent and received before the current interval.
    bytes_before: (u64, u64),
    /// Measured operations that the other threads know of.
    reported_measured: u64,
    /// How long the reply that is taken lay before the thread noticed it, at most; 0 where that is not measured.
    pub notice_ns: u64,
    /// What so many operations have in common that ended correctly at the same time and are not recorded yet.
    success: Success,
    successes: u64,
}

/// What is recorded of an operation that ended correctly, but for when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Success {
    operation: u16,
    member: Phase,
    name: usize,
    target: usize,
    intended_ns: u64,
    sent_ns: u64,
    own_ns: u64,
}

impl Recording {
    /// `connections` are planned for the thread, among those to `endpoints`; requests have `commands` names.
    pub fn new(recorder: Recorder, connections: usize, endpoints: usize, commands: usize) -> Self {
        Self {
            recorder,
            connections: Connections { planned: connections as u64, ..Connections::default() },
            redirections: Redirections::default(),
            endpoints: vec![EndpointRecord::default(); endpoints],
            commands: vec![CommandRecord::default(); commands],
            examples: Examples::default(),
            bytes_sent: 0,
            bytes_received: 0,
            calls: Calls::default(),
            calls_before: Calls::default(),
            bytes_before: (0, 0),
            reported_measured: 0,
            notice_ns: 0,
            success: Success {
                operation: 0,
                member: Phase::RampUp,
                name: 0,
                target: 0,
                intended_ns: 0,
                sent_ns: 0,
                own_ns: 0,
            },
            successes: 0,
        }
    }

    #[inline]
    pub fn timeline(&self) -> &Timeline {
        &self.recorder.timeline
    }

    /// Bytes left.
    #[inline]
    pub fn count_sent(&mut self, sent: Sent) {
        self.bytes_sent += sent.bytes;
        self.calls.sends += sent.sends;
    }

    /// So often an operation, intended in the phase of `member`, was offered and is sent at once; its first request has
    /// that name.
    #[inline]
    pub fn begun(&mut self, operation: u16, name: usize, member: Phase, count: u64) {
        self.recorder.begun(usize::from(operation), member, count);
        self.commands[name].sent += count;
    }

    /// How much of an operation's time up to the reply that is taken is the thread's own, at most.
    #[inline(always)]
    pub fn own_ns(&self, task: &Task) -> u64 {
        task.late_ns + self.notice_ns
    }

    /// The last reply to an operation, which was sent to the endpoint `target`, came at `now_ns` and is correct. It is
    /// recorded with those that are alike: see [`Recording::settle`].
    #[inline(always)]
    pub fn succeeded(&mut self, task: &Task, name: usize, target: usize, now_ns: u64) {
        let Task { member, intended_ns, sent_ns, request: Request { operation, .. }, .. } = *task;
        let own_ns = self.own_ns(task);
        let success = Success { operation, member, name, target, intended_ns, sent_ns, own_ns };
        if self.successes == 0 || self.success != success {
            self.settle(now_ns);
            self.success = success;
        }
        self.successes += 1;
    }

    /// Records what succeeded at `now_ns`: to be called before that changes, and before what is recorded is read.
    #[inline(always)]
    pub fn settle(&mut self, now_ns: u64) {
        if self.successes > 0 {
            self.record_successes(now_ns);
        }
    }

    #[inline(never)]
    fn record_successes(&mut self, now_ns: u64) {
        let count = std::mem::take(&mut self.successes);
        let Success { operation, member, name, target, intended_ns, sent_ns, own_ns } = self.success;
        self.commands[name].replied += count;
        self.endpoints[target].ok += count;
        let times = Times { intended_ns, sent_ns, completed_ns: now_ns, own_ns };
        self.recorder.ended_alike(usize::from(operation), member, End::Correct, times, count);
    }

    /// An operation ended at `now_ns`.
    pub fn ended(&mut self, task: &Task, end: End, now_ns: u64) {
        let Task { intended_ns, sent_ns, .. } = *task;
        let times = Times { intended_ns, sent_ns, completed_ns: now_ns, own_ns: self.own_ns(task) };
        self.recorder.ended(usize::from(task.request.operation), task.member, end, times);
    }

    /// Goes past every border up to `now_ns`.
    #[cold]
    pub fn cross_borders(&mut self, now_ns: u64, connections: usize, users: usize, backlog: usize) {
        while now_ns >= self.recorder.border_ns() {
            let gauges = self.gauges(connections, users, backlog);
            self.recorder.cross_border(gauges);
        }
    }

    /// The gauges of the interval that ends.
    pub fn gauges(&mut self, connections: usize, users: usize, backlog: usize) -> Gauges {
        let before = std::mem::replace(&mut self.bytes_before, (self.bytes_sent, self.bytes_received));
        let calls = self.calls.of(&self.commands);
        let calls_before = std::mem::replace(&mut self.calls_before, calls);
        Gauges {
            bytes_sent: self.bytes_sent - before.0,
            bytes_received: self.bytes_received - before.1,
            connections,
            users,
            backlog,
            calls: calls.since(calls_before),
        }
    }

    /// Measured operations that ended since this was last called.
    pub fn newly_measured(&mut self) -> u64 {
        let newly = self.recorder.measured_ended - self.reported_measured;
        self.reported_measured += newly;
        newly
    }
}
