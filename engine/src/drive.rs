//! One drive from outside: made from a plan, started, stopped; its intervals while it runs, its record at the end.

mod collector;
mod conclusion;
mod outbox;
#[cfg(test)]
mod simulation;

use crate::control::Control;
use crate::control::bell::Bell;
use crate::control::lease::{self, Lease};
use crate::load::{Shared, Workload};
use crate::machine::affinity;
use crate::machine::clock::{Clock, SECOND_NS, from_s};
use crate::net::back_end::{self, Choice};
use crate::net::line::Target;
use crate::net::resolve;
use crate::net::tls::TlsConnector;
use crate::plan::{Distribution, Endpoint, Model, Plan, PlanError};
use crate::receivers::Receivers;
use crate::record::outcome::{DriveError, DriveRecord};
use crate::record::recorder::Message;
use crate::record::slices::Slices;
use crate::record::tally::IntervalData;
use crate::worker::{Setup, Worker};
use collector::Collector;
use outbox::Outbox;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// Why a drive ended that was stopped from outside.
pub const STOPPED: &str = "stopped on request";
/// Files that a process has open besides the connections of its drive.
const OTHER_FILES: u64 = 256;
/// Notice that the threads get of the load's beginning.
const NOTICE_NS: u64 = SECOND_NS / 500;
/// The longest that connections are kept open for a load that begins later.
const AHEAD_MAX_NS: u64 = 24 * 3600 * SECOND_NS;

/// One drive. All its methods may be called from any thread.
#[derive(Debug)]
pub struct Drive {
    plan: Arc<Plan>,
    control: Arc<Control>,
    outbox: Arc<Outbox>,
    shared: Arc<Shared>,
    /// What the threads are made of; taken by `start`.
    prepared: Mutex<Option<Prepared>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What is left to do when the pool is open.
#[derive(Debug)]
pub struct Opened {
    /// To each thread, from the collector.
    spares: Vec<Sender<Box<IntervalData>>>,
    messages: Receiver<Message>,
    receivers: Option<Receivers>,
}

/// What is made from the plan before anything is opened.
#[derive(Debug)]
struct Prepared {
    workloads: Vec<Workload>,
    tls: Vec<Option<TlsConnector>>,
    back_end: Choice,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Drive {
    /// Checks all of the plan that can be checked without a server.
    pub fn new(plan: Plan) -> Result<Self, PlanError> {
        Self::make(plan, |plan| Control::new(Clock::new(), plan.threads, plan.timeouts.gone_s), Outbox::default())
    }

    /// A drive in slices, whose clock and lease are those of others: `delivered` rings with each interval, `paused` after
    /// each slice.
    pub fn in_turns(
        plan: Plan,
        clock: Clock,
        lease: Arc<Lease>,
        delivered: Arc<Bell>,
        paused: Arc<Bell>,
    ) -> Result<Self, PlanError> {
        if plan.recording.is_some() {
            return Err(PlanError::new("recording", "is sent again as a whole, not in slices"));
        }
        if plan.receivers.is_some() {
            return Err(PlanError::new("receivers", "receive in whole drives, not in slices"));
        }
        let control = |plan: &Plan| Control::new(clock, plan.threads, plan.timeouts.gone_s).in_turns(paused, lease);
        Self::make(plan, control, Outbox::ringing(delivered))
    }

    fn make(mut plan: Plan, control: impl FnOnce(&Plan) -> Control, outbox: Outbox) -> Result<Self, PlanError> {
        let least = endpoints_apart(&plan);
        if least > 1 {
            plan.pool.connections = plan.pool.connections.max((least * plan.agent().of) as u32);
        }
        plan.threads = useful_threads(&plan, least)?;
        let shared = Arc::new(Shared::new(&plan)?);
        let workloads: Vec<Workload> =
            (0..plan.threads).map(|thread| Workload::new(&plan, shared.clone(), thread)).collect::<Result<_, _>>()?;
        let tls = resolve::tls_of(&plan)?;
        let back_end = back_end::choose(&plan)?;
        let receivers = plan.receivers.as_ref().map_or(0, |receivers| receivers.connections);
        require_files(own_connections(&plan) + u64::from(receivers))?;
        Ok(Self {
            control: Arc::new(control(&plan)),
            plan: Arc::new(plan),
            outbox: Arc::new(outbox),
            shared,
            prepared: Mutex::new(Some(Prepared { workloads, tls, back_end })),
            threads: Mutex::default(),
        })
    }

    /// Opens the pool, and lets the load begin when the plan says so, or at once.
    ///
    /// Fails if a connection cannot be made, with the server's error text where there is one, and as [`Self::begin_at`].
    pub fn start(&self) -> Result<(), DriveError> {
        let opened = self.open()?;
        self.begin_at(opened, None).map(drop)
    }

    /// Lets the load of an open drive begin at an instant of the system's monotonic clock, or at once if that has passed;
    /// None: when the plan says so. Returns the instant at which it does begin.
    ///
    /// Fails if that is more than a day ahead: another machine's clock says so.
    pub fn begin_at(&self, opened: Opened, monotonic_ns: Option<u64>) -> Result<u64, DriveError> {
        let clock = self.control.clock;
        let now_ns = clock.now();
        let planned_ns = match (monotonic_ns.or(self.plan.start_at_monotonic_ns), self.plan.start_at_unix_ns) {
            (Some(at_ns), _) => clock.from_monotonic_ns(at_ns),
            (None, Some(at_ns)) => clock.from_unix_ns(at_ns),
            (None, None) => 0,
        };
        let origin_ns = planned_ns.max(now_ns + NOTICE_NS);
        if let Err(error) = check_ahead(now_ns, origin_ns) {
            self.give_up("not started");
            return Err(error);
        }
        self.begin(opened, origin_ns)?;
        Ok(clock.to_monotonic_ns(origin_ns))
    }

    /// Opens the pool.
    pub fn open(&self) -> Result<Opened, DriveError> {
        let Some(prepared) = lock(&self.prepared).take() else {
            return Err(DriveError::Start("the drive was started before".into()));
        };
        let targets = resolve::targets(&self.plan, prepared.tls).map_err(DriveError::Start)?;
        let (to_collector, messages) = channel();
        let (opened, openings) = channel();
        let mut spares = Vec::new();
        for (thread, workload) in prepared.workloads.into_iter().enumerate() {
            let (to_worker, from_collector) = channel();
            spares.push(to_worker);
            let setup = Setup {
                thread,
                share: self.plan.share_of_thread(thread),
                cpu: self.plan.cpus.get(thread % self.plan.cpus.len().max(1)).copied(),
                plan: self.plan.clone(),
                targets: targets.clone(),
                control: self.control.clone(),
                back_end: prepared.back_end,
                workload,
                spares: from_collector,
                collector: to_collector.clone(),
            };
            self.spawn(&format!("engine-{thread}"), {
                let opened = opened.clone();
                move || work(setup, &opened)
            })?;
        }
        drop((to_collector, opened));
        self.wait_for(&openings, self.plan.threads)?;
        let receivers = self.open_receivers(&targets)?;
        Ok(Opened { spares, messages, receivers })
    }

    fn spawn(&self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), DriveError> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(body);
        match thread {
            Ok(thread) => lock(&self.threads).push(thread),
            Err(error) => {
                self.give_up("a thread could not be started");
                return Err(DriveError::Start(format!("a thread could not be started: {error}")));
            }
        }
        Ok(())
    }

    /// Has the plan's receivers ready for all that the load sends.
    fn open_receivers(&self, targets: &Arc<[Target]>) -> Result<Option<Receivers>, DriveError> {
        let (opened, openings) = channel();
        let Some((receivers, threads)) = Receivers::prepare(&self.plan, targets, &self.control, &opened) else {
            return Ok(None);
        };
        drop(opened);
        let number = threads.len();
        for thread in threads {
            let control = self.control.clone();
            self.spawn(&thread.name(), move || {
                let _watched = Watched(control);
                thread.run();
            })?;
        }
        self.wait_for(&openings, number)?;
        Ok(Some(receivers))
    }

    /// Waits until so many threads have opened their connections, or one could not.
    fn wait_for(&self, openings: &Receiver<Result<(), String>>, threads: usize) -> Result<(), DriveError> {
        for _ in 0..threads {
            let opening = openings.recv().unwrap_or_else(|_| Err("an engine thread ended unexpectedly".into()));
            if let Err(why) = opening {
                self.give_up("not started");
                return Err(DriveError::Start(why));
            }
        }
        Ok(())
    }

    /// Lets the load of an open drive begin at `origin_ns`; in slices, the first of which may be given from now on.
    pub fn begin(&self, opened: Opened, origin_ns: u64) -> Result<(), DriveError> {
        let Opened { spares, messages, receivers } = opened;
        let collector = Collector::new(&self.plan, self.control.clone(), spares, self.outbox.clone());
        let shared = self.shared.clone();
        self.spawn("collector", move || collector.run(origin_ns, &messages, receivers, &shared))?;
        let phases = &self.plan.phases;
        let before_s = phases.ramp_up_s + phases.warm_up_s;
        let measure_end_ns = match self.control.turns {
            None => origin_ns.saturating_add(from_s(before_s + longest_measure_s(&self.plan))),
            Some(_) => u64::MAX,
        };
        self.control.go(origin_ns, measure_end_ns);
        Ok(())
    }

    /// Hands out what is measured seldom; see [`Outbox::hold`].
    pub fn hold_intervals(&self, length: Duration, from_s: f64) {
        self.outbox.hold(length, from_s);
    }

    /// The next interval as JSON; None after `timeout` or when all were taken.
    pub fn next_interval(&self, timeout: Duration) -> Option<String> {
        self.outbox.next_interval(timeout)
    }

    /// Whether the drive ended; intervals may be left to be taken.
    pub fn has_ended(&self) -> bool {
        self.outbox.has_ended()
    }

    /// Whether the drive ended and every interval was taken.
    pub fn finished(&self) -> bool {
        self.outbox.finished()
    }

    /// Ends the drive so long from now on, with [`lease::RAN_OUT`] as the reason, unless this is called again before. A
    /// thread of its own sees to that. False if that has happened.
    pub fn lease(&self, length: Duration) -> bool {
        let control = Arc::downgrade(&self.control);
        let end = move || {
            if let Some(control) = control.upgrade() {
                control.stop(lease::RAN_OUT);
            }
        };
        self.control.lease.renew(length, end) && !self.control.is_stopped()
    }

    /// Ends the measure phase at an instant of the system's monotonic clock, or as soon as all threads know of that, but
    /// not before it has its shortest length. Agents that share a plan end so when they have done enough together.
    pub fn end_measure_at(&self, monotonic_ns: u64) {
        let Control { clock, .. } = *self.control;
        let phases = &self.plan.phases;
        if let (Some(origin_ns), None) = (self.control.origin_ns(), &self.control.turns) {
            let least_ns = origin_ns + from_s(phases.ramp_up_s + phases.warm_up_s + phases.measure_s);
            self.control.end_measure(clock.now(), clock.from_monotonic_ns(monotonic_ns).max(least_ns));
        }
    }

    /// Ends the drive within 100 ms.
    pub fn stop(&self) {
        self.control.stop(STOPPED);
    }

    /// The record, once the drive has ended; None after `timeout`.
    pub fn result(&self, timeout: Duration) -> Result<Option<Arc<DriveRecord>>, DriveError> {
        if lock(&self.threads).is_empty() {
            return Err(DriveError::NotStarted);
        }
        self.outbox.record(timeout)
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }

    /// Ends the drive, whose record nobody waits for, and its threads.
    pub fn give_up(&self, why: &str) {
        self.control.stop(why);
        self.control.end_turns(Slices::default(), None);
        for thread in lock(&self.threads).drain(..) {
            // A thread that panicked has said so on its own.
            let _ = thread.join();
        }
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.give_up("dropped");
    }
}

/// Whether connections may be kept open for a load that begins at `origin_ns`.
pub fn check_ahead(now_ns: u64, origin_ns: u64) -> Result<(), DriveError> {
    let message = "the load was to begin in more than a day, by this machine's clock; choose an earlier instant";
    if origin_ns.saturating_sub(now_ns) > AHEAD_MAX_NS { Err(DriveError::Start(message.into())) } else { Ok(()) }
}

/// Makes sure that this process may open so many connections.
pub fn require_files(connections: u64) -> Result<(), PlanError> {
    let files = connections + OTHER_FILES;
    let limit = affinity::raise_open_files(files);
    if limit >= files {
        return Ok(());
    }
    let message = format!("{connections}: this process may open {limit} files; raise it with `ulimit -n {files}`");
    Err(PlanError::new("pool.connections", message))
}

/// Ends the drive if the thread that holds it panics: others wait for what it was to report.
struct Watched(Arc<Control>);

impl Drop for Watched {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop("an engine thread ended unexpectedly");
        }
    }
}

/// What one engine thread does.
fn work(mut setup: Setup, opened: &Sender<Result<(), String>>) {
    let _watched = Watched(setup.control.clone());
    setup.cpu = setup.cpu.filter(|&cpu| affinity::pin_to(cpu));
    affinity::exact_timers();
    let mut worker = match Worker::new(setup) {
        Ok(worker) => worker,
        Err(error) => {
            let _ = opened.send(Err(error.to_string()));
            return;
        }
    };
    let opening = worker.open_pool();
    let is_open = opening.is_ok();
    if opened.send(opening).is_ok() && is_open {
        worker.run();
    }
}

/// Endpoints of which each thread has a connection to each, where an operation decides on its endpoint; else 1.
fn endpoints_apart(plan: &Plan) -> usize {
    let decides = |endpoint: &Endpoint| !endpoint.slots.is_empty() || endpoint.replica_of.is_some();
    let in_service = plan.endpoints.iter().filter(|endpoint| endpoint.in_service()).count();
    if plan.endpoints.iter().any(decides) { in_service } else { 1 }
}

/// Threads that have a connection to each of the `least` endpoints, and in the closed model a user: others would idle. Of
/// agents each has as many, and one at least.
fn useful_threads(plan: &Plan, least: usize) -> Result<usize, PlanError> {
    let users = match &plan.model {
        Model::Closed(closed) => closed.users as usize,
        Model::Open(_) => usize::MAX,
    };
    let connections = plan.pool.connections as usize / least;
    let (of, useful) = (plan.agent().of, connections.min(users));
    if useful < of {
        let what = if users < connections { "users" } else { "connections" };
        let message = format!("{of}: more agents than {what}; use at most {useful}, or more {what}");
        return Err(PlanError::new("share.of", message));
    }
    Ok(plan.threads.min(useful / of))
}

/// The connections of this agent.
fn own_connections(plan: &Plan) -> u64 {
    (0..plan.threads).map(|thread| plan.own_connections(plan.share_of_thread(thread)) as u64).sum()
}

/// The longest that the measure phase may last. Work that ends by itself is not cut short unless
/// `measure_max_s` says so.
fn longest_measure_s(plan: &Plan) -> f64 {
    let ends_by_itself = plan.keys.distribution == Distribution::ExactlyOnce
        || plan.recording.is_some()
        || matches!(&plan.model, Model::Closed(closed) if closed.operations_per_user.is_some());
    match plan.phases.measure_max_s {
        Some(longest_s) if ends_by_itself || plan.phases.measure_operations.is_some() => {
            longest_s.max(if ends_by_itself { 0.0 } else { plan.phases.measure_s })
        }
        None if ends_by_itself => f64::from(u32::MAX),
        _ => plan.phases.measure_s,
    }
}
