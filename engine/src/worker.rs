//! The loop of one thread: what is due is begun, what came in is judged, then it waits.
//!
//! A worker has a [`Schedule`] (what is due, and what waits), [`Connections`] and a [`Recording`]; its own part is what
//! happens between them: `opening.rs` opens connections and gives them up, `dispatch.rs` brings operations to
//! connections, `receive.rs` takes their replies, `redirecting.rs` those of a
//! cluster that send a request on, `replaying.rs` keeps the order of a recording there, `replicas.rs` leaves replicas that
//! are gone, `slices.rs` pauses it, `lateness.rs` says what of a response time is its own, `stalls.rs` notes when nothing
//! came or the thread did not run, `ending.rs` reads back and reports.

mod connection;
mod connections;
mod dispatch;
mod ending;
mod failover;
mod lateness;
mod opening;
mod polled;
mod queues;
mod receive;
mod recording;
mod redirecting;
mod replaying;
mod replicas;
mod schedule;
mod slices;
mod stalls;

use crate::control::Control;
use crate::load::{Recorded, Workload};
use crate::machine::clock::{Clock, from_s};
use crate::net::back_end::{BackEndRecord, Choice};
use crate::net::event::Events;
use crate::net::line::Target;
use crate::net::waiter::Waiter;
use crate::plan::{Plan, Share};
use crate::record::outcome::Phase;
use crate::record::recorder::{Message, Recorder};
use crate::record::tally::IntervalData;
use crate::record::timeline::Timeline;
use crate::wire::Capabilities;
use connections::{Connections, EVENTS_AT_ONCE};
use failover::Failover;
use lateness::Lateness;
use recording::Recording;
use replaying::Replaying;
use schedule::Schedule;
use stalls::{LOOK_NS, Stalls};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// A thread that begins what was due longer ago has been late.
const BEHIND_NS: u64 = 50_000;

/// What a worker is made of.
#[derive(Debug)]
pub struct Setup {
    /// Its number in this process.
    pub thread: usize,
    /// Which thread of all agents it is.
    pub share: Share,
    /// The CPU that the thread is pinned to, if it could be.
    pub cpu: Option<usize>,
    pub plan: Arc<Plan>,
    pub targets: Arc<[Target]>,
    pub control: Arc<Control>,
    pub back_end: Choice,
    pub workload: Workload,
    pub spares: Receiver<Box<IntervalData>>,
    pub collector: Sender<Message>,
}

#[derive(Debug)]
pub struct Worker {
    thread: usize,
    share: Share,
    cpu: Option<usize>,
    plan: Arc<Plan>,
    control: Arc<Control>,
    collector: Sender<Message>,
    back_end: BackEndRecord,
    clock: Clock,
    /// The latest reading of the clock.
    now_ns: u64,
    /// When the load began, by this thread.
    begun_ns: u64,
    wire: Capabilities,
    /// Whether keys decide on the endpoint: then a node may say that another one has a slot.
    follows_redirections: bool,
    /// Nodes of a cluster that cannot be reached, and that lost a slot to another one meanwhile.
    deposed: Vec<bool>,
    /// Where a recording is sent to a cluster.
    replaying: Option<Replaying>,
    /// Where Sentinel watches the server.
    failover: Option<Failover>,
    /// Whether there is more to a reply than what it is worth.
    watches_replies: bool,
    workload: Workload,
    schedule: Schedule,
    /// What the thread itself adds to response times; None where that is not measured.
    lateness: Option<Lateness>,
    /// When the connection that was released was free, had the thread not been late; 0 outside of that.
    freed_ns: u64,
    connections: Connections,
    recording: Recording,
    stalls: Stalls,
    /// The longest that a drain may take.
    drain_ns: u64,
}

impl Worker {
    /// Fails when the system refuses what events are waited for with.
    pub fn new(setup: Setup) -> io::Result<Self> {
        let Setup { thread, share, cpu, plan, targets, control, back_end, workload, spares, collector } = setup;
        let clock = control.clock;
        let own = plan.own_connections(share);
        let (waiter, back_end) = Waiter::new(clock, (plan.model.spin_us() * 1000.0) as u64, back_end, own)?;
        control.add_waker(waiter.waker()?);
        let (shards, endpoints) = (workload.shards(), targets.len());
        let connections = Connections::new(&plan, share, targets, shards, waiter);
        let schedule = Schedule::new(&plan, share, &workload);
        let schedule = if control.turns.is_some() { schedule.in_slices() } else { schedule };
        let operations = workload.operations().len();
        let bounded = plan.model.is_open();
        let recorder = Recorder::new(thread, (operations, bounded), plan.interval_s, spares, collector.clone());
        let failover = Failover::new(&plan, share.number);
        let names = workload.request_names().len();
        Ok(Self {
            now_ns: clock.now(),
            begun_ns: 0,
            wire: plan.protocol.capabilities(),
            follows_redirections: workload.slots().is_some(),
            deposed: vec![false; endpoints],
            replaying: Replaying::new(&plan, shards),
            watches_replies: workload.slots().is_some() || workload.replicas.is_some() || failover.is_some(),
            failover,
            drain_ns: from_s(plan.phases.drain_s),
            schedule,
            lateness: bounded.then(Lateness::default),
            freed_ns: 0,
            recording: Recording::new(recorder, connections.len(), endpoints, names),
            connections,
            stalls: Stalls::of_this_thread(),
            thread,
            share,
            cpu,
            plan,
            control,
            collector,
            back_end,
            clock,
            workload,
        })
    }

    /// Drives the load from its beginning to its end. The pool must be open.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_AT_ONCE);
        self.wait_for_the_start(&mut events);
        let Some(origin_ns) = self.control.origin_ns() else {
            return;
        };
        self.begun_ns = self.now_ns;
        let control = self.control.clone();
        let ended = match &control.turns {
            Some(turns) => self.load_in_slices(turns, origin_ns, &mut events),
            None => {
                let timeline = Timeline::new(&self.plan.phases, origin_ns, control.measure_end_ns());
                self.recording.recorder.begin(timeline);
                self.connections.refused.clear();
                self.load(&mut events);
                self.end_load()
            }
        };
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
            self.check_connections();
            self.turn(events, origin_ns.unwrap_or(u64::MAX).min(self.connections.check_ns));
        }
    }

    fn load(&mut self, events: &mut Events) {
        self.stalls.begin(self.now_ns, self.recording.bytes_received);
        self.control.ends_with_its_lease();
        self.load_until_drained(events);
        self.stalls.end(self.clock, self.now_ns);
    }

    fn load_until_drained(&mut self, events: &mut Events) {
        loop {
            let begun_ns = self.now_ns;
            if self.schedule.is_timed() || self.connections.in_flight == 0 {
                self.read_clock();
            }
            // After a look at the clock, which ends a drive whose thread was held up for longer than its lease.
            if self.control.is_stopped() {
                return;
            }
            self.agree_on_the_end();
            self.fail_refused();
            if self.is_behind() {
                // Replies that came meanwhile first: who waits for them, and how many are under way, is known then.
                self.turn(events, self.now_ns);
                self.read_clock();
            }
            // What was due before the drain began is begun even if that is noticed late.
            self.begin_due();
            if self.has_drained() {
                return;
            }
            self.check_connections();
            let is_waiting = self.connections.in_flight > 0;
            let look_ns = if is_waiting { self.now_ns + LOOK_NS } else { u64::MAX };
            let until_ns = self.next_due_ns().min(look_ns);
            self.turn(events, until_ns);
            if self.stalls.is_due(self.now_ns, self.recording.bytes_received) {
                self.look_up(begun_ns, until_ns);
            }
        }
    }

    /// Whether the thread is late, where that is measured.
    fn is_behind(&self) -> bool {
        let due_ns = || self.schedule.next_ns(self.recording.timeline()).unwrap_or(u64::MAX);
        self.lateness.is_some() && due_ns().saturating_add(BEHIND_NS) < self.now_ns
    }

    /// Reads the clock, and goes into the next interval where it is due.
    #[inline]
    fn read_clock(&mut self) -> u64 {
        self.recording.settle(self.now_ns);
        self.now_ns = self.clock.now();
        if self.now_ns >= self.recording.recorder.border_ns() {
            self.cross_borders();
        }
        self.now_ns
    }

    #[cold]
    fn cross_borders(&mut self) {
        if self.control.ends_with_its_lease() {
            self.begin_nothing_more();
        }
        self.stalls.note_border();
        let (connections, users) = (self.connections.pool.open(), self.schedule.active_users());
        self.recording.cross_borders(self.now_ns, connections, users, self.schedule.queues.len());
    }

    /// Of a drive that is stopped: nothing is sent by what is still to be done before the thread looks for that.
    fn begin_nothing_more(&mut self) {
        if self.now_ns < self.recording.timeline().start_ns(Phase::Drain) {
            self.recording.recorder.end_measure(self.now_ns);
        }
        self.schedule.put_aside();
    }

    /// Reports what this thread contributes to the end of the measure phase, and takes that end over.
    fn agree_on_the_end(&mut self) {
        let phases = &self.plan.phases;
        if let Some(required) = phases.measure_operations.filter(|_| self.plan.agent().of == 1) {
            let newly = self.recording.newly_measured();
            if newly > 0 && self.control.add_measured(newly) >= required {
                let measure_ns = self.recording.timeline().start_ns(Phase::Measure);
                self.control.end_measure(self.now_ns, measure_ns + from_s(phases.measure_s));
            }
        }
        if self.schedule.is_newly_done(self.connections.in_flight) {
            if let Some(why) = self.workload.recorded().and_then(Recorded::failure) {
                self.control.stop(format!("the recording cannot be read: {why}"));
            }
            self.control.work_done(self.now_ns);
        }
        let end_ns = self.control.measure_end_ns();
        let recorder = &mut self.recording.recorder;
        if end_ns < recorder.timeline.end_ns(Phase::Measure) && recorder.phase() != Phase::Drain {
            recorder.end_measure(end_ns);
            self.cross_borders();
        }
    }

    /// Whether everything ended after the measure phase, or there is no more time for it.
    fn has_drained(&mut self) -> bool {
        if self.now_ns < self.recording.timeline().start_ns(Phase::Drain) {
            return false;
        }
        let is_idle = self.connections.in_flight == 0 && self.schedule.queues.is_empty();
        is_idle || (self.connections.polled.done_ns() >= self.drain_end_ns() && self.gives_up_draining())
    }

    fn drain_end_ns(&self) -> u64 {
        self.recording.timeline().start_ns(Phase::Drain).saturating_add(self.drain_ns)
    }

    /// When something is to be done although no event comes.
    fn next_due_ns(&self) -> u64 {
        let begin_ns = self.schedule.next_ns(self.recording.timeline()).unwrap_or(u64::MAX);
        let border_ns = self.recording.recorder.border_ns().min(self.drain_end_ns());
        begin_ns.min(border_ns).min(self.connections.check_ns)
    }

    /// Waits for events until an instant at the latest, and handles them.
    fn turn(&mut self, events: &mut Events, until_ns: u64) {
        let begun_ns = self.now_ns;
        let until_ns = if self.connections.unfinished.is_empty() { until_ns } else { begun_ns };
        self.flush_all();
        let sent = self.connections.wait(events, (self.now_ns, until_ns));
        self.recording.count_sent(sent);
        self.recording.calls.wakeups += 1;
        self.recording.calls.spun_ns += self.connections.take_spun_ns();
        if let Some(why) = self.connections.failure() {
            self.control.stop(format!("io_uring failed in engine thread {}: {why}", self.thread));
        }
        for event in events.iter() {
            self.handle(event);
        }
        if events.is_empty() {
            self.read_clock();
        }
        self.continue_unfinished();
        if until_ns <= begun_ns {
            self.connections.note_polled(begun_ns, events.len());
        }
    }
}
