//! The loop of one thread: what is due is begun, what came in is judged, then it waits.
//!
//! `worker/dialling.rs` opens connections and gives them up; `worker/dispatch.rs` brings operations to
//! connections; `worker/receive.rs` takes their replies; `worker/look.rs` knows up to when they were taken;
//! `worker/ending.rs` reads back and reports.

mod dialling;
mod dispatch;
mod ending;
mod lines;
mod look;
mod receive;

use crate::arrival::Arrivals;
use crate::clock::{Clock, from_s};
use crate::connection::{Connection, Inbox, Target};
use crate::control::Control;
use crate::outcome::{CommandRecord, Connections, EndpointRecord, Phase};
use crate::plan::{Model, Plan};
use crate::pool::Pool;
use crate::protocol::{ErrorKind, Protocol};
use crate::record::{Message, Recorder};
use crate::share;
use crate::tally::{Gauges, IntervalData};
use crate::timeline::Timeline;
use crate::users::Users;
use crate::wait::{WAKER, Waiter};
use lines::Lines;
use look::Look;
use mio::Events;
use receive::News;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// Bytes of the inbox that connections share as long as their replies come whole.
const SHARED_INBOX: usize = 64 * 1024;
const EVENTS_AT_ONCE: usize = 1024;

/// What a worker is made of.
#[derive(Debug)]
pub struct Setup {
    pub thread: usize,
    pub threads: usize,
    /// The CPU that the thread is pinned to, if it could be.
    pub cpu: Option<usize>,
    pub plan: Arc<Plan>,
    pub targets: Arc<[Target]>,
    pub control: Arc<Control>,
    pub protocol: Protocol,
    pub spares: Receiver<Box<IntervalData>>,
    pub collector: Sender<Message>,
}

/// Where operations come from.
#[derive(Debug)]
enum Source {
    Closed(Users),
    Open(Arrivals),
}

#[derive(Debug)]
pub struct Worker {
    thread: usize,
    threads: usize,
    cpu: Option<usize>,
    plan: Arc<Plan>,
    targets: Arc<[Target]>,
    control: Arc<Control>,
    collector: Sender<Message>,
    clock: Clock,
    /// The latest reading of the clock.
    now_ns: u64,
    /// What deadlines are held against.
    look: Look,
    waiter: Waiter,
    protocol: Protocol,
    /// Steps of each operation.
    steps: Vec<u16>,
    source: Source,
    recorder: Recorder,
    pool: Pool,
    connections: Vec<Connection>,
    /// Connections that are being opened or wait to be.
    unsettled: Vec<usize>,
    /// Connections that the server closed with its reply, to be dialled again at once.
    reopening: Vec<usize>,
    /// Why connections could not be opened, each of which is to be the failure of an operation that waits.
    refused: Vec<ErrorKind>,
    /// Connections with encoded bytes that were not yet offered to the kernel.
    dirty: Vec<usize>,
    /// Connections that may have more to receive although no event will say so.
    unfinished: VecDeque<usize>,
    inbox: Inbox,
    lines: Lines,
    backlog_max: usize,
    /// Operations in flight on all connections.
    outstanding: usize,
    /// The key space has been used up.
    exhausted: bool,
    work_done: bool,
    /// Measured operations that the other threads know of.
    reported_measured: u64,
    housekeep_ns: u64,
    scan_ns: u64,
    refusal: Option<String>,
    counts: Connections,
    endpoints: Vec<EndpointRecord>,
    commands: Vec<CommandRecord>,
    bytes_sent: u64,
    bytes_received: u64,
    /// Bytes sent and received before the current interval.
    bytes_before: (u64, u64),
}

impl Worker {
    /// Fails when the system refuses a poll.
    pub fn new(setup: Setup) -> io::Result<Self> {
        let Setup { thread, threads, cpu, plan, targets, control, protocol, spares, collector } = setup;
        let lanes = protocol.lanes();
        let (source, depth, spin_us, backlog) = match &plan.model {
            Model::Closed(closed) => {
                let users = Users::new(closed, &plan.phases, plan.seed, thread, threads);
                let splits = lanes > 1 && plan.pipeline_depth > 1;
                (Source::Closed(if splits { users.splitting_batches() } else { users }), 1, 0.0, u64::MAX)
            }
            Model::Open(open) => {
                let arrivals = Arrivals::new(open, &plan.phases, plan.seed, thread, threads);
                (Source::Open(arrivals), plan.pipeline_depth, open.spin_us, open.backlog_max)
            }
        };
        let own = share(plan.pool.connections as usize, thread, threads);
        let max_idle = plan.pool.max_idle.map(|idle| share(idle as usize, thread, threads));
        let target_of = targets_of(&plan, thread, threads, lanes);
        let clock = control.clock;
        let waiter = Waiter::new(clock, (spin_us * 1000.0) as u64)?;
        control.add_waker(waiter.waker()?);
        let steps: Vec<u16> = protocol.operations().iter().map(|operation| operation.steps).collect();
        Ok(Self {
            recorder: Recorder::new(thread, steps.len(), plan.interval_s, spares, collector.clone()),
            connections: target_of.iter().map(|&target| Connection::new(target, plan.pipeline_depth)).collect(),
            pool: Pool::new(target_of, lanes, depth, max_idle, plan.pool.order),
            lines: Lines::new(lanes),
            endpoints: vec![EndpointRecord::default(); targets.len()],
            commands: vec![CommandRecord::default(); protocol.command_names().len()],
            counts: Connections { planned: own as u64, ..Connections::default() },
            backlog_max: share(backlog.min(u64::from(u32::MAX)) as usize, thread, threads).max(1),
            now_ns: clock.now(),
            look: Look::default(),
            unsettled: Vec::with_capacity(own),
            reopening: Vec::new(),
            refused: Vec::new(),
            dirty: Vec::with_capacity(own),
            unfinished: VecDeque::with_capacity(own),
            inbox: Inbox::with_capacity(SHARED_INBOX),
            outstanding: 0,
            exhausted: false,
            work_done: false,
            reported_measured: 0,
            housekeep_ns: 0,
            scan_ns: 0,
            refusal: None,
            bytes_sent: 0,
            bytes_received: 0,
            bytes_before: (0, 0),
            thread,
            threads,
            cpu,
            plan,
            targets,
            control,
            collector,
            clock,
            waiter,
            protocol,
            steps,
            source,
        })
    }

    /// Drives the load from its beginning to its end. The pool must be open.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        self.wait_for_the_start(&mut events);
        let Some(origin_ns) = self.control.origin_ns() else {
            return;
        };
        let end_ns = self.control.measure_end_ns();
        self.recorder.begin(Timeline::new(&self.plan.phases, origin_ns, end_ns));
        self.refused.clear();
        self.load(&mut events);
        let ended = self.end_load();
        self.read_back(&mut events);
        self.report(ended);
    }

    /// Returns when the load is to begin, or the drive is stopped.
    fn wait_for_the_start(&mut self, events: &mut Events) {
        loop {
            let origin_ns = self.control.origin_ns();
            self.now_ns = self.clock.now();
            if self.control.is_stopped() || origin_ns.is_some_and(|origin_ns| origin_ns <= self.now_ns) {
                return;
            }
            self.housekeep();
            self.turn(events, origin_ns.unwrap_or(u64::MAX).min(self.housekeep_ns));
        }
    }

    fn load(&mut self, events: &mut Events) {
        let timed = match &self.source {
            Source::Open(_) => true,
            Source::Closed(_) => matches!(&self.plan.model, Model::Closed(closed) if closed.think_time_ms > 0.0),
        };
        loop {
            if self.control.is_stopped() {
                return;
            }
            if timed || self.outstanding == 0 {
                self.read_clock();
            }
            self.heed_the_others();
            self.fail_refused();
            // What was due before the drain began is begun even if that is noticed late.
            self.begin_what_is_due();
            if self.has_drained() {
                return;
            }
            self.housekeep();
            let until_ns = self.next_due_ns();
            self.turn(events, until_ns);
        }
    }

    /// Reads the clock, and goes into the next interval where it is due.
    #[inline]
    fn read_clock(&mut self) -> u64 {
        self.now_ns = self.clock.now();
        if self.now_ns >= self.recorder.border_ns() {
            self.cross_borders();
        }
        self.now_ns
    }

    #[cold]
    fn cross_borders(&mut self) {
        while self.now_ns >= self.recorder.border_ns() {
            let gauges = self.gauges();
            self.recorder.cross_border(gauges);
        }
    }

    fn gauges(&mut self) -> Gauges {
        let before = std::mem::replace(&mut self.bytes_before, (self.bytes_sent, self.bytes_received));
        Gauges {
            bytes_sent: self.bytes_sent - before.0,
            bytes_received: self.bytes_received - before.1,
            connections: self.pool.open(),
            users: match &self.source {
                Source::Closed(users) => users.active(),
                Source::Open(_) => 0,
            },
            backlog: self.lines.len(),
        }
    }

    /// Takes over the end of the measure phase, and tells what this thread contributes to it.
    fn heed_the_others(&mut self) {
        if let Some(wanted) = self.plan.phases.measure_operations {
            let news = self.recorder.measured_ended - self.reported_measured;
            self.reported_measured += news;
            if news > 0 && self.control.add_measured(news) >= wanted {
                let measure_ns = self.recorder.timeline.start_ns(Phase::Measure);
                self.control.end_measure(self.now_ns, measure_ns + from_s(self.plan.phases.measure_s));
            }
        }
        if !self.work_done && self.has_done_its_work() {
            self.work_done = true;
            self.control.work_done(self.now_ns);
        }
        let end_ns = self.control.measure_end_ns();
        if end_ns < self.recorder.timeline.end_ns(Phase::Measure) && self.recorder.phase() != Phase::Drain {
            self.recorder.end_measure(end_ns);
            self.cross_borders();
        }
    }

    /// Whether there is nothing left for this thread, now or later.
    fn has_done_its_work(&self) -> bool {
        let used_up = match &self.source {
            Source::Closed(users) => self.exhausted || users.all_ended(),
            Source::Open(_) => self.exhausted,
        };
        used_up && self.is_idle()
    }

    fn is_idle(&self) -> bool {
        self.outstanding == 0 && self.lines.is_empty()
    }

    /// Whether everything ended after the measure phase, or there is no more time for it.
    fn has_drained(&self) -> bool {
        let in_drain = self.now_ns >= self.recorder.timeline.start_ns(Phase::Drain);
        in_drain && (self.is_idle() || self.look.done_ns() >= self.drain_end_ns())
    }

    fn drain_end_ns(&self) -> u64 {
        self.recorder.timeline.start_ns(Phase::Drain).saturating_add(from_s(self.plan.phases.drain_s))
    }

    /// When something is to be done although no event comes.
    fn next_due_ns(&self) -> u64 {
        let timeline = &self.recorder.timeline;
        let source_ns = match &self.source {
            Source::Closed(users) => users.next_ns(),
            Source::Open(_) if self.exhausted => None,
            Source::Open(arrivals) => Some(arrivals.next_ns()),
        };
        let begin_ns = source_ns
            .map(|since_origin_ns| timeline.origin_ns() + since_origin_ns)
            .filter(|&at_ns| at_ns < timeline.start_ns(Phase::Drain));
        let border_ns = self.recorder.border_ns().min(self.drain_end_ns());
        begin_ns.unwrap_or(u64::MAX).min(border_ns).min(self.housekeep_ns)
    }

    /// Waits for events until an instant at the latest, and handles them.
    fn turn(&mut self, events: &mut Events, until_ns: u64) {
        let begun_ns = self.now_ns;
        let until_ns = if self.unfinished.is_empty() { until_ns } else { begun_ns };
        self.waiter.wait(events, begun_ns, until_ns);
        for event in events.iter().filter(|event| event.token() != WAKER) {
            let closed = event.is_read_closed() || event.is_error();
            let news = News { readable: event.is_readable(), writable: event.is_writable(), closed };
            self.handle(event.token().0, news);
        }
        if events.is_empty() {
            self.read_clock();
        }
        self.continue_unfinished();
        if until_ns <= begun_ns {
            // Each connection and the waker.
            let sources = self.connections.len() + 1;
            self.look.note(begun_ns, events.iter().count(), EVENTS_AT_ONCE, sources);
        }
    }
}

/// The endpoints of a thread's connections. Each lane has one in every thread (see `drive::useful_threads`); over all
/// threads each endpoint has the same number, but for one.
fn targets_of(plan: &Plan, thread: usize, threads: usize, lanes: usize) -> Vec<usize> {
    let own = |thread| share(plan.pool.connections as usize, thread, threads);
    let first: usize = (0..thread).map(own).sum();
    let several = if lanes > 1 { lanes } else { plan.endpoints.len() };
    (0..own(thread)).map(|connection| (first + connection) % several).collect()
}
