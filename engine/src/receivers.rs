//! Receivers: connections beside the pool that get what the load sends, in threads of their own.
//!
//! `line.rs` is one connection, `thread.rs` the loop of one thread, `tally.rs` what it counts, `sequences.rs` which
//! numbers came before. They are open before the load begins, and end when all that is owed to them has come, or the
//! drain is over.

mod receiver;
mod sequences;
mod tally;
mod thread;

pub use thread::ReceiverThread;

use crate::control::Control;
use crate::machine::clock::{from_s, to_s};
use crate::net::line::Target;
use crate::plan::{Plan, ReceiverKind};
use crate::record::calls::Calls;
use crate::record::histogram::Encoder;
use crate::record::outcome::{Latency, ReceiversRecord, ThreadRecord};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use tally::Tally;

/// What is owed is not known before the load has ended.
const NOT_KNOWN: u64 = u64::MAX;

/// What the threads of receivers share.
#[derive(Debug)]
struct Ending {
    /// Deliveries of all messages that were sent.
    owed: AtomicU64,
    received: AtomicU64,
    /// Nobody waits for them any more.
    given_up: AtomicBool,
}

/// What one thread reports.
#[derive(Debug)]
struct ThreadEnd {
    tally: Tally,
    disconnected: u64,
    why_disconnected: Option<String>,
    usage: Usage,
}

/// What a thread used in the measure phase.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    cpu_ns: u64,
    waited_ns: Option<u64>,
    calls: Calls,
}

/// How many messages were sent, and answered correctly.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    pub total: u64,
    /// Those that were intended in the measure phase.
    pub measured: u64,
}

/// The receivers of one drive, once they are open.
#[derive(Debug)]
pub struct Receivers {
    kind: ReceiverKind,
    connections: u64,
    copies: u64,
    ending: Arc<Ending>,
    ends: Receiver<ThreadEnd>,
}

impl Receivers {
    /// What a plan's receivers are run by, a thread each; None if it has none. A thread says by `opened` whether its
    /// connections are open.
    pub fn prepare(
        plan: &Arc<Plan>,
        targets: &Arc<[Target]>,
        control: &Arc<Control>,
        opened: &Sender<Result<(), String>>,
    ) -> Option<(Self, Vec<ReceiverThread>)> {
        let planned = plan.receivers.as_ref()?;
        let (owed, received) = (AtomicU64::new(NOT_KNOWN), AtomicU64::new(0));
        let ending = Arc::new(Ending { owed, received, given_up: AtomicBool::new(false) });
        let (report, ends) = channel();
        let threads = plan.threads.min(planned.connections as usize);
        let setup = |thread| {
            let (plan, targets, control) = (plan.clone(), targets.clone(), control.clone());
            let (ending, opened, report) = (ending.clone(), opened.clone(), report.clone());
            ReceiverThread { thread, threads, plan, targets, control, ending, opened, report }
        };
        let setups = (0..threads).map(setup).collect();
        let (connections, copies) = (planned.connections.into(), planned.copies(plan.keys.count));
        Some((Self { kind: planned.kind, connections, copies, ending, ends }, setups))
    }

    /// Waits for what is still to come, after all was sent; and what each thread used in the measure phase.
    pub fn finish(self, published: Published, measure_s: f64) -> (ReceiversRecord, Vec<ThreadRecord>) {
        self.ending.owed.store(published.total * self.copies, Ordering::SeqCst);
        let mut all = Tally::default();
        let (mut disconnected, mut why_disconnected) = (0, None);
        let mut threads = Vec::new();
        for end in &self.ends {
            all.add(&end.tally);
            disconnected += end.disconnected;
            why_disconnected = why_disconnected.or(end.why_disconnected);
            let Usage { cpu_ns, waited_ns, calls } = end.usage;
            let (cpu_s, waited_s) = (to_s(cpu_ns), waited_ns.map(to_s));
            threads.push(ThreadRecord { cpu: None, cpu_s, wall_s: measure_s, waited_s, calls });
        }
        let expected = published.measured * self.copies;
        let delivery = all.delivery.histogram();
        let record = ReceiversRecord {
            kind: self.kind,
            connections: self.connections,
            disconnected,
            why_disconnected,
            published: published.measured,
            expected,
            delivered: all.delivered,
            missing: expected.saturating_sub(all.delivered),
            repeated: all.repeated,
            unreadable: all.unreadable,
            window_delivered: all.window_delivered,
            delivery_ns: Latency::of(&delivery),
            delivery_histogram: Encoder::default().encode(&delivery),
            overflowed: all.overflowed,
            bytes_sent: all.bytes_sent,
            bytes_received: all.bytes_received,
        };
        (record, threads)
    }
}

impl Drop for Receivers {
    /// Their threads end, whether or not anything is still to come.
    fn drop(&mut self) {
        self.ending.given_up.store(true, Ordering::SeqCst);
    }
}

/// The longest that is waited for what is still to come, in nanoseconds.
fn drain_ns(plan: &Plan) -> u64 {
    from_s(plan.phases.drain_s)
}
