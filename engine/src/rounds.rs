//! Several drives that take turns: each gets a slice in every round, and is paused while another has its own.
//!
//! All pools are open at once. A drive's time paused does not exist for it (see [`crate::control::turns`]); at the end
//! each has one record of its own, with its slices. `options.rs` says what can be had so, `coordinator.rs` gives the
//! slices, `standing_still.rs` has programs stand still that only others' slices need, `rest.rs` is for their owner.

mod coordinator;
mod options;
mod rest;
mod standing_still;

pub use options::{RoundsOptions, Timetable};

use crate::control::bell::Bell;
use crate::control::lease::{self, Lease};
use crate::drive::{self, Drive, Opened, STOPPED};
use crate::machine::clock::Clock;
use crate::plan::{Plan, PlanError};
use crate::record::outcome::{DriveError, DriveRecord};
use coordinator::{Coordinator, Driven};
use rest::Rest;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Several drives that take turns. All its methods may be called from any thread.
#[derive(Debug)]
pub struct Rounds {
    clock: Clock,
    options: RoundsOptions,
    drives: Vec<Drive>,
    /// Rings when an interval is delivered.
    delivered: Arc<Bell>,
    /// Rings when a drive pauses or ends.
    paused: Arc<Bell>,
    coordinator: Mutex<Option<JoinHandle<()>>>,
    /// Of all drives.
    lease: Arc<Lease>,
    rest: Arc<Rest>,
}

impl Rounds {
    /// Checks all of the plans and options that can be checked without a server.
    pub fn new(plans: &[String], options: &str) -> Result<Self, PlanError> {
        if plans.is_empty() {
            return Err(PlanError::new("plans", "[]: give at least one"));
        }
        let options = RoundsOptions::from_json(options, plans.len())?;
        let clock = Clock::new();
        let (delivered, paused) = (Arc::<Bell>::default(), Arc::<Bell>::default());
        let lease = Arc::<Lease>::default();
        let drive = |text: &String| {
            let plan = Plan::from_json(text)?;
            options::check_sliceable(&plan)?;
            Drive::in_turns(plan, clock, lease.clone(), delivered.clone(), paused.clone())
        };
        let drives: Vec<Drive> = plans
            .iter()
            .enumerate()
            .map(|(number, text)| drive(text).map_err(|error| options::of_plan(number, error)))
            .collect::<Result<_, _>>()?;
        drive::require_files(drives.iter().map(|drive| u64::from(drive.plan().pool.connections)).sum())?;
        let rest = Arc::new(Rest::new(delivered.clone(), paused.clone()));
        Ok(Self { clock, options, drives, delivered, paused, coordinator: Mutex::default(), lease, rest })
    }

    fn coordinator(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.coordinator.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Opens all pools, and lets the first round begin.
    ///
    /// Fails if a connection cannot be made, with the server's error text where there is one.
    pub fn start(&self) -> Result<(), DriveError> {
        let opened = self.open()?;
        self.begin_at(opened, None).map(drop)
    }

    /// Opens all pools.
    pub fn open(&self) -> Result<Vec<Opened>, DriveError> {
        let opened: Result<_, _> = self.drives.iter().map(Drive::open).collect();
        opened.inspect_err(|_| self.give_up())
    }

    /// Lets the first round begin at an instant of the system's monotonic clock, which is returned, or now.
    ///
    /// Where that has passed a timetable holds nevertheless: slices that are past are left out. Fails if it is more than a
    /// day ahead: another machine's clock says so.
    pub fn begin_at(&self, opened: Vec<Opened>, monotonic_ns: Option<u64>) -> Result<u64, DriveError> {
        let now_ns = self.clock.now();
        let origin_ns = match monotonic_ns.map(|at_ns| self.clock.from_monotonic_ns(at_ns)) {
            Some(at_ns) if self.options.timetable.is_some() => at_ns,
            Some(at_ns) => at_ns.max(now_ns),
            None => now_ns,
        };
        let mut coordinator = self.coordinator();
        let holds = |at_ns| self.options.timetable.is_none() || self.clock.to_monotonic_ns(origin_ns) == at_ns;
        let begun = if monotonic_ns.is_none_or(holds) {
            drive::check_ahead(now_ns, origin_ns)
        } else {
            Err(DriveError::Start("the first round was before the engine was there; choose a later instant".into()))
        };
        let begun = begun.and_then(|()| {
            let mut drives = self.drives.iter().zip(opened);
            drives.try_for_each(|(drive, opened)| drive.begin(opened, origin_ns))
        });
        match begun.and_then(|()| self.spawn_coordinator(origin_ns)) {
            Ok(thread) => *coordinator = Some(thread),
            Err(error) => {
                self.give_up();
                return Err(error);
            }
        }
        Ok(self.clock.to_monotonic_ns(origin_ns))
    }

    fn give_up(&self) {
        self.drives.iter().for_each(|drive| drive.give_up("not started"));
    }

    fn spawn_coordinator(&self, origin_ns: u64) -> Result<JoinHandle<()>, DriveError> {
        let driven = |(number, drive): (usize, &Drive)| {
            Driven::new(drive.control().clone(), drive.plan().phases.warm_up_s, &self.options, number)
        };
        let drives = self.drives.iter().enumerate().map(driven).collect();
        let interval_s = self.drives.iter().map(|drive| drive.plan().interval_s).fold(0.0, f64::max);
        let coordinator =
            Coordinator::new(self.clock, origin_ns, self.paused.clone(), self.options.clone(), drives, interval_s);
        let coordinator = coordinator.resting(self.rest.clone());
        let thread = std::thread::Builder::new().name("rounds".into()).spawn(|| coordinator.run());
        thread.map_err(|error| DriveError::Start(format!("a thread could not be started: {error}")))
    }

    /// The next interval of any drive, which is named by its number, as JSON; None after `timeout` or when all were
    /// taken.
    ///
    /// Where there are rests it waits for one: whoever takes intervals runs while nothing is measured. It is None at once
    /// in a rest in which all were taken.
    pub fn next_interval(&self, timeout: Duration) -> Option<(usize, String)> {
        let mut next = None;
        self.delivered.wait(Instant::now().checked_add(timeout), || {
            let is_resting = self.is_resting();
            if self.options.rest_every_s.is_none() || is_resting || self.drives.iter().all(Drive::has_ended) {
                let mut drives = self.drives.iter().enumerate();
                next = drives.find_map(|(number, drive)| Some((number, drive.next_interval(Duration::ZERO)?)));
            }
            next.is_some() || is_resting || self.finished()
        });
        next
    }

    /// Whether there is a rest, until [`Self::go_on`].
    pub fn is_resting(&self) -> bool {
        self.rest.is_on()
    }

    /// Ends a rest, if there is one.
    pub fn go_on(&self) {
        self.rest.end();
    }

    /// Whether every drive ended and every interval was taken.
    pub fn finished(&self) -> bool {
        self.drives.iter().all(Drive::finished)
    }

    /// Ends all drives so long from now on, unless this is called again before; see [`Drive::lease`].
    pub fn lease(&self, length: Duration) -> bool {
        let controls: Vec<_> = self.drives.iter().map(|drive| Arc::downgrade(drive.control())).collect();
        let end = move || {
            let controls: Vec<_> = controls.iter().filter_map(Weak::upgrade).collect();
            // All of them first: one that ends is the reason of the others' end otherwise.
            controls.iter().for_each(|control| control.note_reason(lease::RAN_OUT));
            controls.iter().for_each(|control| control.stop(lease::RAN_OUT));
        };
        self.lease.renew(length, end) && !self.drives.iter().any(|drive| drive.control().is_stopped())
    }

    /// Ends all drives within 100 ms.
    pub fn stop(&self) {
        // All of them first: one that ends is the reason of the others' end otherwise.
        self.drives.iter().for_each(|drive| drive.control().note_reason(STOPPED));
        self.drives.iter().for_each(Drive::stop);
    }

    /// The record of one drive, once that has ended; None after `timeout`, or if there is no such drive.
    pub fn result(&self, drive: usize, timeout: Duration) -> Result<Option<Arc<DriveRecord>>, DriveError> {
        self.drives.get(drive).map_or(Ok(None), |drive| drive.result(timeout))
    }

    /// How many drives there are.
    pub fn drives(&self) -> usize {
        self.drives.len()
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        self.drives.iter().for_each(|drive| drive.give_up("dropped"));
        if let Some(thread) = self.coordinator().take() {
            // A thread that panicked has said so on its own.
            let _ = thread.join();
        }
    }
}
