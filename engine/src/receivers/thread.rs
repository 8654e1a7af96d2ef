//! The loop of one thread of receivers.

use super::receiver::Receiver;
use super::sequences::Sequences;
use super::tally::Tally;
use super::{Ending, NOT_KNOWN, ThreadEnd, Usage, drain_ns};
use crate::control::Control;
use crate::machine::affinity;
use crate::machine::clock::{SECOND_NS, from_s, thread_cpu_ns};
use crate::machine::run_delay::RunDelay;
use crate::net::event::Events;
use crate::net::line::Target;
use crate::net::poller::Poller;
use crate::net::waiter::Waiter;
use crate::plan::{Plan, ReceiverKind, Receivers};
use crate::record::outcome::Phase;
use crate::record::timeline::Timeline;
use crate::wire::Receiving;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

/// How long the end of a phase, or of the drive, may go unnoticed.
const TICK_NS: u64 = SECOND_NS / 50;
/// The longest that is waited for what is still to come to a drive that was stopped.
const STOPPED_NS: u64 = SECOND_NS / 20;
/// Connections dialled at the same time.
const DIALLED_AT_ONCE: usize = 64;
const EVENTS_AT_ONCE: usize = 1024;

/// What one thread of receivers is made of.
#[derive(Debug)]
pub struct ReceiverThread {
    pub(super) thread: usize,
    pub(super) threads: usize,
    pub(super) plan: Arc<Plan>,
    pub(super) targets: Arc<[Target]>,
    pub(super) control: Arc<Control>,
    pub(super) ending: Arc<Ending>,
    pub(super) opened: Sender<Result<(), String>>,
    pub(super) report: Sender<ThreadEnd>,
}

impl ReceiverThread {
    pub fn name(&self) -> String {
        format!("receivers-{}", self.thread)
    }

    /// Opens the connections, receives until the end, and reports.
    pub fn run(self) {
        affinity::exact_timers();
        let mut running = match self.receivers().map(|receivers| Running::new(&self, receivers)) {
            Some(Ok(running)) => running,
            Some(Err(error)) => return drop(self.opened.send(Err(error.to_string()))),
            None => return drop(self.opened.send(Ok(()))),
        };
        let opening = running.open();
        let is_open = opening.is_ok();
        if self.opened.send(opening).is_ok() && is_open {
            running.receive();
            // Without a collector no one needs the report.
            let _ = self.report.send(running.end());
        }
    }

    /// The connections that fall to this thread, with how many different numbers they have to remember.
    fn receivers(&self) -> Option<(Vec<Receiver>, usize)> {
        let planned: &Receivers = self.plan.receivers.as_ref()?;
        let channels = self.plan.keys.count as usize;
        let mut receivers = Vec::new();
        for number in 0..planned.connections as usize {
            let channel = number % channels;
            // A stream's entries are shared out: all its consumers are in one thread, which so notices repeated ones.
            let (place, sequences) = match planned.kind {
                ReceiverKind::Subscribe => (number, number / self.threads),
                ReceiverKind::StreamGroup => (channel, channel / self.threads),
            };
            if place % self.threads == self.thread {
                let key = format!("{}{channel:012}", self.plan.keys.prefix);
                receivers.push(Receiver::new(Receiving::new(&self.plan, planned, number, key), sequences));
            }
        }
        let remembered = receivers.iter().map(|receiver| receiver.sequences + 1).max().unwrap_or(0);
        Some((receivers, remembered))
    }
}

/// What a thread of receivers works with.
struct Running<'a> {
    setup: &'a ReceiverThread,
    waiter: Waiter,
    events: Events,
    receivers: Vec<Receiver>,
    /// Those that are to be taken from, in their turn.
    listed: Vec<usize>,
    sequences: Vec<Sequences>,
    tally: Tally,
    /// What of the tally the other threads know.
    announced: u64,
    disconnected: u64,
    why_disconnected: Option<String>,
    measure_ns: Range<u64>,
    run_delay: RunDelay,
    /// When the measure phase began, and when it ended.
    usage: [Option<Usage>; 2],
    deadline_ns: Option<u64>,
}

impl<'a> Running<'a> {
    fn new(setup: &'a ReceiverThread, (receivers, remembered): (Vec<Receiver>, usize)) -> io::Result<Self> {
        let waiter = Waiter::Poll(Poller::new(setup.control.clock, 0)?);
        setup.control.add_waker(waiter.waker()?);
        Ok(Self {
            setup,
            waiter,
            events: Events::with_capacity(EVENTS_AT_ONCE),
            listed: Vec::with_capacity(receivers.len()),
            receivers,
            sequences: vec![Sequences::new(setup.plan.threads); remembered],
            tally: Tally::default(),
            announced: 0,
            disconnected: 0,
            why_disconnected: None,
            measure_ns: u64::MAX..u64::MAX,
            run_delay: RunDelay::of_this_thread(),
            usage: [None; 2],
            deadline_ns: None,
        })
    }

    /// Opens all connections; the error says why one could not be.
    fn open(&mut self) -> Result<(), String> {
        let setup = self.setup;
        let timeout_ns = from_s(setup.plan.timeouts.connect_ms / 1000.0);
        let mut dialled = 0;
        let mut progress_ns = setup.control.clock.now();
        loop {
            let ready = self.receivers.iter().filter(|receiver| receiver.is_ready()).count();
            if ready == self.receivers.len() {
                return Ok(());
            }
            while dialled < self.receivers.len().min(ready + DIALLED_AT_ONCE) {
                let receiver = &mut self.receivers[dialled];
                receiver.dial(&setup.targets[0], &mut self.waiter, dialled).map_err(|why| self.failed(&why))?;
                dialled += 1;
            }
            let now_ns = setup.control.clock.now();
            self.turn(now_ns + TICK_NS);
            if let Some(why) = self.why_disconnected.take() {
                return Err(why);
            }
            if self.receivers.iter().filter(|receiver| receiver.is_ready()).count() > ready {
                progress_ns = now_ns;
            } else if now_ns.saturating_sub(progress_ns) > timeout_ns {
                return Err(self.failed("a receiver did not get its subscription in time"));
            }
            if setup.control.is_stopped() {
                let why = setup.control.reason().unwrap_or_default();
                return Err(format!("{why} before the load began"));
            }
        }
    }

    fn failed(&self, why: &str) -> String {
        format!("{}: {why}", self.setup.targets[0].endpoint.label())
    }

    fn receive(&mut self) {
        loop {
            let now_ns = self.note_time();
            if self.is_done(now_ns) {
                return;
            }
            self.turn(now_ns + TICK_NS);
            let newly = self.tally.received - self.announced;
            if newly > 0 {
                self.setup.ending.received.fetch_add(newly, Ordering::Relaxed);
                self.announced = self.tally.received;
            }
        }
    }

    /// Waits for events until an instant at the latest, and handles them.
    fn turn(&mut self, until_ns: u64) {
        let Waiter::Poll(poller) = &mut self.waiter else {
            return;
        };
        let now_ns = self.setup.control.clock.now();
        let until_ns = if self.listed.is_empty() { until_ns } else { now_ns };
        self.events.poll(poller, (now_ns, until_ns), false);
        self.tally.calls.wakeups += 1;
        for event in self.events.iter() {
            let receiver = &mut self.receivers[event.number];
            receiver.is_closed |= event.closed;
            if !std::mem::replace(&mut receiver.is_listed, true) {
                self.listed.push(event.number);
            }
        }
        let listed = self.listed.len();
        for place in 0..listed {
            let number = self.listed[place];
            self.receivers[number].is_listed = self.take_from(number);
            if self.receivers[number].is_listed {
                self.listed.push(number);
            }
        }
        self.listed.drain(..listed);
    }

    /// Takes what a connection got; whether there may be more.
    fn take_from(&mut self, number: usize) -> bool {
        let receiver = &mut self.receivers[number];
        if !receiver.is_open() {
            return false;
        }
        let sequences = &mut self.sequences[receiver.sequences];
        let (clock, target) = (&self.setup.control.clock, &self.setup.targets[0]);
        receiver.take(target, clock, &self.measure_ns, &mut self.tally, sequences).unwrap_or_else(|why| {
            receiver.close();
            self.disconnected += 1;
            self.why_disconnected.get_or_insert_with(|| format!("{}: {why}", target.endpoint.label()));
            false
        })
    }

    /// Reads the clock, and what was used where the measure phase began or ended.
    fn note_time(&mut self) -> u64 {
        let control = &self.setup.control;
        let now_ns = control.clock.now();
        if let Some(origin_ns) = control.origin_ns() {
            let timeline = Timeline::new(&self.setup.plan.phases, origin_ns, control.measure_end_ns());
            self.measure_ns = timeline.start_ns(Phase::Measure)..timeline.end_ns(Phase::Measure);
        }
        let borders_ns = [self.measure_ns.start, self.measure_ns.end];
        for (usage, border_ns) in self.usage.iter_mut().zip(borders_ns) {
            if usage.is_none() && now_ns >= border_ns {
                let (cpu_ns, waited_ns) = (thread_cpu_ns(), self.run_delay.read_ns());
                *usage = Some(Usage { cpu_ns, waited_ns, calls: self.tally.calls });
            }
        }
        now_ns
    }

    /// Whether all that is owed has come, or is not waited for any longer.
    fn is_done(&mut self, now_ns: u64) -> bool {
        let (ending, control) = (&self.setup.ending, &self.setup.control);
        let never_begins = control.is_stopped() && control.origin_ns().is_none();
        if never_begins || ending.given_up.load(Ordering::SeqCst) {
            return true;
        }
        let owed = ending.owed.load(Ordering::SeqCst);
        if owed == NOT_KNOWN {
            return false;
        }
        let has_come =
            ending.received.load(Ordering::SeqCst) >= owed && self.receivers.iter().all(Receiver::is_settled);
        let longest_ns = if control.is_stopped() { STOPPED_NS } else { u64::MAX };
        let patience_ns = drain_ns(&self.setup.plan).min(longest_ns);
        let deadline_ns = *self.deadline_ns.get_or_insert(now_ns.saturating_add(patience_ns));
        has_come || now_ns >= deadline_ns || !self.receivers.iter().any(Receiver::is_open)
    }

    fn end(self) -> ThreadEnd {
        let [start, end] = self.usage.map(Option::unwrap_or_default);
        let usage = Usage {
            cpu_ns: end.cpu_ns.saturating_sub(start.cpu_ns),
            waited_ns: end.waited_ns.zip(start.waited_ns).map(|(end, start)| end.saturating_sub(start)),
            calls: if end.cpu_ns > 0 { end.calls.since(start.calls) } else { end.calls },
        };
        let Self { tally, disconnected, why_disconnected, .. } = self;
        ThreadEnd { tally, disconnected, why_disconnected, usage }
    }
}
