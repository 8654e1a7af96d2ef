//! Who gives the slices: one drive after the other, round for round; what stands beside each slice is read here.

use super::options::{RoundsOptions, Timetable};
use super::rest::Rest;
use super::standing_still::StandingStill;
use crate::control::Control;
use crate::control::bell::Bell;
use crate::control::lease::RAN_OUT;
use crate::control::turns::Slice;
use crate::machine::affinity;
use crate::machine::clock::{Clock, SECOND_NS, from_s, to_s};
use crate::machine::cpu_times::{self, CpuTimes};
use crate::machine::main_thread::{MainThread, ThreadTimes};
use crate::machine::process_clock::{ProcessClock, SystemTime};
use crate::record::slices::{PartSlice, SliceRecord, SliceTally, Slices};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long threads of a drive that was stopped may take to report what they did.
const REPORT: Duration = Duration::from_secs(1);

/// How often main threads are looked at while a slice is measured.
const LOOK_NS: u64 = SECOND_NS / 100;

/// An application that stood still for longer finds, when it goes on, that its connections were idle for too long (Node
/// closes them after 5 s) and closes them all: requests that came meanwhile are lost. So it gets a while before the load
/// goes on, in which the connections that it closes are opened again.
const STOOD_STILL: Duration = Duration::from_secs(1);
const WAKING: Duration = Duration::from_millis(100);

/// One of the drives.
#[derive(Debug)]
pub(super) struct Driven {
    control: Arc<Control>,
    warm_up_ns: u64,
    parts: BTreeMap<String, Part>,
    /// What its own clock is behind the common one, and when it was drained last.
    shift_ns: u64,
    drained_ns: u64,
    /// CPU time of its parts when it went on and when it was drained last, in the order of the parts' names; empty before.
    cpu_at_give_ns: Vec<Option<u64>>,
    cpu_at_drain_ns: Vec<Option<u64>>,
    /// The number of its last slice, and when that was given.
    number: u64,
    given_ns: u64,
    slices: Slices,
}

impl Driven {
    /// Drive number `drive` of the options.
    pub fn new(control: Arc<Control>, warm_up_s: f64, options: &RoundsOptions, drive: usize) -> Self {
        let of_drive = options.parts.get(drive).into_iter().flatten();
        Self {
            control,
            warm_up_ns: from_s(warm_up_s),
            parts: of_drive.map(|(name, pids)| (name.clone(), Part::of(pids, options.is_own(drive, pids)))).collect(),
            shift_ns: 0,
            drained_ns: 0,
            cpu_at_give_ns: Vec::new(),
            cpu_at_drain_ns: Vec::new(),
            number: 0,
            given_ns: 0,
            slices: Slices::default(),
        }
    }

    /// What is to be compared at both ends of a window.
    fn read(&self) -> Reading {
        Reading { parts: self.parts.values().map(Part::read).collect(), cpus: cpu_times::read() }
    }

    /// CPU time of its parts so far.
    fn cpu_ns(&self) -> Vec<Option<u64>> {
        self.parts.values().map(Part::cpu_ns).collect()
    }

    /// What its own parts used since it was drained last.
    fn paused_cpu_s(&self) -> Vec<Option<f64>> {
        let own = self.parts.values().map(|part| part.own);
        spent_s(&self.cpu_at_drain_ns, &self.cpu_ns()).zip(own).map(|(spent, own)| spent.filter(|_| own)).collect()
    }

    /// What its parts used from when it went on to when it was drained.
    fn turn_cpu_s(&self) -> impl Iterator<Item = Option<f64>> {
        spent_s(&self.cpu_at_give_ns, &self.cpu_at_drain_ns)
    }
}

/// Seconds from one reading of CPU times to the next, part by part.
fn spent_s(before: &[Option<u64>], after: &[Option<u64>]) -> impl Iterator<Item = Option<f64>> {
    before.iter().zip(after).map(|(before, after)| Some(to_s((*after)?.saturating_sub((*before)?))))
}

/// The processes of a part.
#[derive(Debug)]
struct Part {
    /// Whether no other drive uses it: then what it does while its drive is paused is left from that one's slices.
    own: bool,
    clocks: Vec<ProcessClock>,
    system: Vec<SystemTime>,
    /// Of a part that is one process.
    main: Option<MainThread>,
}

impl Part {
    fn of(pids: &[i32], own: bool) -> Self {
        let main = if let [pid] = pids { Some(MainThread::of(*pid)) } else { None };
        let each = || pids.iter().copied();
        Self { own, clocks: each().map(ProcessClock::of).collect(), system: each().map(SystemTime::of).collect(), main }
    }

    fn cpu_ns(&self) -> Option<u64> {
        self.clocks.iter().map(ProcessClock::read_ns).sum()
    }

    fn read(&self) -> PartTimes {
        let system_ns = self.system.iter().map(SystemTime::read_ns).sum();
        PartTimes { cpu_ns: self.cpu_ns(), system_ns, main: self.main.as_ref().and_then(MainThread::read) }
    }
}

/// CPU time of a part so far.
#[derive(Debug, Clone, Copy)]
struct PartTimes {
    cpu_ns: Option<u64>,
    system_ns: Option<u64>,
    main: Option<ThreadTimes>,
}

impl PartTimes {
    /// What was added until `after`, and while the drive was paused before.
    fn until(self, after: Self, paused_cpu_s: Option<f64>) -> PartSlice {
        let grown = |before: Option<u64>, after: Option<u64>| Some(after?.saturating_sub(before?));
        let main = self.main.zip(after.main).map(|(before, after)| after.since(before));
        PartSlice {
            cpu_s: grown(self.cpu_ns, after.cpu_ns).map(to_s),
            system_s: grown(self.system_ns, after.system_ns).map(to_s),
            main_s: main.map(|main| to_s(main.ran_ns)),
            main_wait_s: main.map(|main| to_s(main.waited_ns)),
            main_runs: main.map(|main| main.runs),
            main_disk_s: None,
            paused_cpu_s,
            turn_cpu_s: None,
        }
    }
}

/// How often a main thread was looked at, and how often it waited for the disk then.
#[derive(Debug, Clone, Copy, Default)]
struct Looks {
    all: u32,
    at_the_disk: u32,
}

impl Looks {
    fn share(self) -> Option<f64> {
        (self.all > 0).then(|| f64::from(self.at_the_disk) / f64::from(self.all))
    }
}

/// CPU times at one end of a window.
#[derive(Debug)]
struct Reading {
    /// In the order of the parts' names.
    parts: Vec<PartTimes>,
    cpus: BTreeMap<usize, CpuTimes>,
}

/// Where a slice stands, when it is driven, on the common clock, and what came before it.
#[derive(Debug)]
struct Place {
    round: usize,
    position: usize,
    measure_ns: u64,
    end_ns: u64,
    /// For how long the drive was paused; None before its first slice.
    paused_s: Option<f64>,
    /// CPU time of its own parts in that time, in the order of the parts' names; empty before its first slice.
    paused_cpu_s: Vec<Option<f64>>,
}

#[derive(Debug)]
pub(super) struct Coordinator {
    clock: Clock,
    origin_ns: u64,
    bell: Arc<Bell>,
    options: RoundsOptions,
    drives: Vec<Driven>,
    standing_still: StandingStill,
    /// Every drive's interval ends after so many rounds: those of all drives are of the same rounds.
    rounds_of_interval: usize,
    /// When the next slice is due, by the timetable.
    due_ns: u64,
    /// For who owns the rounds, and when the last one was over.
    rest: Option<Arc<Rest>>,
    rested_ns: u64,
}

/// What a slice is to be like: all of its parts but the pause before it.
#[derive(Debug, Clone, Copy)]
struct Lengths {
    settle_ns: u64,
    /// What is measured.
    window_ns: u64,
    /// What goes on before and after that, by a timetable.
    edge_ns: u64,
}

impl Coordinator {
    /// All drives began at `origin_ns`, and wait for their first slices. Intervals hold at least `interval_s` of what
    /// is measured.
    pub fn new(
        clock: Clock,
        origin_ns: u64,
        bell: Arc<Bell>,
        options: RoundsOptions,
        mut drives: Vec<Driven>,
        interval_s: f64,
    ) -> Self {
        drives.iter_mut().for_each(|drive| drive.drained_ns = origin_ns);
        let standing_still = StandingStill::of(&options);
        let rounds = from_s(interval_s).div_ceil(from_s(options.slice_s).max(1)).max(1);
        let rounds_of_interval = usize::try_from(rounds).unwrap_or(usize::MAX);
        let (due_ns, rested_ns) = (origin_ns, origin_ns);
        Self {
            clock,
            origin_ns,
            bell,
            options,
            drives,
            standing_still,
            rounds_of_interval,
            due_ns,
            rest: None,
            rested_ns,
        }
    }

    /// With rests, if the options have them.
    pub fn resting(mut self, rest: Arc<Rest>) -> Self {
        self.rest = self.options.rest_every_s.map(|_| rest);
        self
    }

    /// Gives every slice of every round; ends early with the first drive that does.
    pub fn run(mut self) {
        affinity::exact_timers();
        self.bell.wait(Some(self.clock.instant(self.origin_ns)), || self.ended_early().is_some());
        self.warm_up();
        let orders = std::mem::take(&mut self.options.orders);
        for (round, order) in orders.into_iter().enumerate() {
            for (position, drive) in order.into_iter().enumerate() {
                if self.ended_early().is_some() {
                    return;
                }
                self.rest();
                self.measure(round, position, drive);
            }
        }
    }

    /// Rests if the last time is long enough ago.
    fn rest(&mut self) {
        let Some((rest, every_s)) = self.rest.as_ref().zip(self.options.rest_every_s) else {
            return;
        };
        if self.clock.now().saturating_sub(self.rested_ns) >= from_s(every_s) {
            rest.take(|| self.ended_early().is_some());
            self.rested_ns = self.clock.now();
        }
    }

    /// The first drive that has ended although there are slices left.
    fn ended_early(&self) -> Option<usize> {
        self.drives.iter().position(|drive| drive.control.is_stopped())
    }

    /// Drives that are to be warmed up have a slice for that, in which nothing is measured.
    fn warm_up(&mut self) {
        for drive in 0..self.drives.len() {
            let warm_up_ns = self.drives[drive].warm_up_ns;
            if warm_up_ns > 0 && self.ended_early().is_none() {
                let lengths = Lengths { settle_ns: warm_up_ns, window_ns: 0, edge_ns: 0 };
                let due_ns = self.wait_for_the_timetable(drive, lengths);
                if let Some(measure_ns) = self.give(drive, lengths, due_ns, None) {
                    self.wait_until(drive, measure_ns);
                }
                self.wait_for_the_drain(drive);
            }
        }
    }

    /// One slice of one drive, measured.
    fn measure(&mut self, round: usize, position: usize, drive: usize) {
        let edge_ns = self.options.timetable.map_or(0, |timetable| from_s(timetable.edge_s));
        let (settle_ns, window_ns) = (from_s(self.options.settle_s), from_s(self.options.slice_s));
        let lengths = Lengths { settle_ns, window_ns, edge_ns };
        let due_ns = self.wait_for_the_timetable(drive, lengths);
        let driven = &self.drives[drive];
        let paused_cpu_s = driven.paused_cpu_s();
        let (drained_ns, is_first) = (driven.drained_ns, driven.number == 0);
        let Some(measure_ns) = self.give(drive, lengths, due_ns, Some(round)) else {
            self.wait_for_the_drain(drive);
            return;
        };
        let paused_s = (!is_first).then(|| to_s(self.drives[drive].given_ns.saturating_sub(drained_ns)));
        let place = Place { round, position, measure_ns, end_ns: measure_ns + window_ns, paused_s, paused_cpu_s };
        self.wait_until(drive, place.measure_ns);
        let before = self.drives[drive].read();
        let looks = self.look_until(drive, place.end_ns);
        let after = self.drives[drive].read();
        if let Some(tally) = self.wait_for_the_drain(drive) {
            self.record(drive, &place, &tally, (&before, &after), &looks);
        }
    }

    /// Lets a drive go on, now, as if since it was due. Its own clock goes on where it stopped. Returns when its window
    /// begins; None if it is too late: then it has a slice in which nothing is begun, so that its intervals are of the same
    /// rounds as others'.
    fn give(&mut self, drive: usize, lengths: Lengths, due_ns: Option<u64>, round: Option<usize>) -> Option<u64> {
        let Lengths { settle_ns, window_ns, edge_ns } = lengths;
        if self.standing_still.let_run(drive) {
            self.let_wake(drive);
        }
        let driven = &mut self.drives[drive];
        driven.cpu_at_give_ns = driven.cpu_ns();
        let now_ns = self.clock.now();
        let given_ns = due_ns.unwrap_or(now_ns);
        let is_late = now_ns > given_ns + settle_ns / 2;
        let measure_ns = if is_late { now_ns } else { given_ns + settle_ns + edge_ns };
        let (window_ns, edge_ns) = if is_late { (0, 0) } else { (window_ns, edge_ns) };
        let ends_interval = round.is_some_and(|round| (round + 1).is_multiple_of(self.rounds_of_interval));
        let round = round.and_then(|round| u32::try_from(round).ok());
        let driven = &mut self.drives[drive];
        driven.given_ns = now_ns;
        driven.shift_ns += now_ns.saturating_sub(driven.drained_ns);
        driven.number += 1;
        let (number, shift_ns) = (driven.number, driven.shift_ns);
        let own = |common_ns: u64| common_ns - shift_ns;
        driven.control.give(Slice {
            number,
            shift_ns,
            begin_ns: own(now_ns),
            measure_ns: own(measure_ns),
            end_ns: own(measure_ns + window_ns),
            until_ns: own(measure_ns + window_ns + edge_ns),
            round,
            ends_interval,
        });
        (!is_late).then_some(measure_ns)
    }

    /// Waits until the next slice is due, or the drive ends. When that is; None without a timetable.
    fn wait_for_the_timetable(&mut self, drive: usize, lengths: Lengths) -> Option<u64> {
        let Timetable { pause_s, .. } = self.options.timetable?;
        let Lengths { settle_ns, window_ns, edge_ns } = lengths;
        let due_ns = self.due_ns;
        self.due_ns += settle_ns + window_ns + 2 * edge_ns + from_s(pause_s);
        self.wait_until(drive, due_ns);
        Some(due_ns)
    }

    /// What goes on now, without load, after it stood still for long.
    fn let_wake(&self, drive: usize) {
        let control = &self.drives[drive].control;
        let stood_still_ns = self.clock.now().saturating_sub(self.drives[drive].drained_ns);
        if Duration::from_nanos(stood_still_ns) > STOOD_STILL {
            self.bell.wait(Some(Instant::now() + WAKING), || control.is_stopped());
        }
    }

    /// Waits until an instant, or the end of the drive.
    fn wait_until(&self, drive: usize, until_ns: u64) {
        let control = &self.drives[drive].control;
        self.bell.wait(Some(self.clock.instant(until_ns)), || control.is_stopped());
    }

    /// Waits as [`Self::wait_until`], and looks meanwhile whether the main threads of its parts wait for the disk.
    fn look_until(&self, drive: usize, until_ns: u64) -> Vec<Looks> {
        let driven = &self.drives[drive];
        let mut looks = vec![Looks::default(); driven.parts.len()];
        while self.clock.now() < until_ns && !driven.control.is_stopped() {
            for (looks, part) in looks.iter_mut().zip(driven.parts.values()) {
                if let Some(is_there) = part.main.as_ref().and_then(MainThread::is_at_the_disk) {
                    looks.all += 1;
                    looks.at_the_disk += u32::from(is_there);
                }
            }
            self.wait_until(drive, until_ns.min(self.clock.now() + LOOK_NS));
        }
        looks
    }

    /// Waits until nothing of a drive's slice is in flight any more: what came of it. None if its threads are gone.
    fn wait_for_the_drain(&mut self, drive: usize) -> Option<SliceTally> {
        let driven = &mut self.drives[drive];
        let control = driven.control.clone();
        self.bell.wait(None, || control.done().is_some() || control.is_stopped());
        self.bell.wait(Some(Instant::now() + REPORT), || control.done().is_some());
        let tally = control.done()?;
        driven.drained_ns = tally.drained_ns;
        driven.cpu_at_drain_ns = driven.cpu_ns();
        Some(tally)
    }

    /// Records a slice, unless it was cut short before its window began.
    fn record(
        &mut self,
        drive: usize,
        place: &Place,
        tally: &SliceTally,
        (before, after): (&Reading, &Reading),
        looks: &[Looks],
    ) {
        let end_ns = tally.end_ns.min(place.end_ns);
        if end_ns <= place.measure_ns {
            return;
        }
        let since_origin_s = |at_ns: u64| to_s(at_ns.saturating_sub(self.origin_ns));
        let driven = &mut self.drives[drive];
        let paused_cpu_s = place.paused_cpu_s.iter().copied().chain(std::iter::repeat(None));
        let spent = before.parts.iter().zip(&after.parts).zip(paused_cpu_s);
        let spent = spent.map(|((before, after), paused_cpu_s)| before.until(*after, paused_cpu_s));
        let measured_s = to_s(end_ns - place.measure_ns);
        let spent = spent.zip(looks.iter().zip(driven.turn_cpu_s())).map(|(spent, (looks, turn_cpu_s))| PartSlice {
            main_disk_s: looks.share().map(|share| share * measured_s),
            turn_cpu_s,
            ..spent
        });
        let parts = driven.parts.keys().cloned().zip(spent).collect();
        driven.slices.measured_ns += end_ns - place.measure_ns;
        driven.slices.slices.push(SliceRecord {
            round: place.round,
            position: place.position,
            paused_s: place.paused_s,
            begin_s: since_origin_s(place.measure_ns),
            end_s: since_origin_s(end_ns),
            drained_s: since_origin_s(tally.drained_ns.max(end_ns)),
            offered: tally.offered,
            completed: tally.completed,
            ok: tally.ok,
            ok_first_half: tally.ok_first_half,
            failed: tally.failed,
            ended: tally.ended,
            response_sum_ns: tally.response_sum_ns,
            cpu_s: to_s(tally.cpu_ns),
            turn_ok: tally.turn_ok,
            cpus_busy_s: busy_between(&before.cpus, &after.cpus),
            parts,
        });
        for (cpu, after) in &after.cpus {
            if let Some(before) = before.cpus.get(cpu) {
                driven.slices.cpus.entry(*cpu).or_default().add_between(before, after);
            }
        }
    }
}

/// What all CPUs did and what was stolen from them, to the millisecond: ticks are longer. None where the system does not
/// report it.
fn busy_between(before: &BTreeMap<usize, CpuTimes>, after: &BTreeMap<usize, CpuTimes>) -> Option<f64> {
    let of_cpu = |(cpu, after): (&usize, &CpuTimes)| {
        before.get(cpu).map(|before| after.busy_s - before.busy_s + after.steal_s - before.steal_s)
    };
    let busy_s: Vec<f64> = after.iter().filter_map(of_cpu).collect();
    (!busy_s.is_empty()).then(|| (busy_s.iter().sum::<f64>() * 1000.0).round().max(0.0) / 1000.0)
}

impl Drop for Coordinator {
    /// Every drive gets its end, however this thread ends, and nothing is left standing still.
    fn drop(&mut self) {
        self.standing_still.release_all();
        let first = if std::thread::panicking() {
            Some("the rounds broke off".to_string())
        } else {
            let reason = |drive: usize| match self.drives[drive].control.reason().unwrap_or_default() {
                of_all if of_all == RAN_OUT => of_all,
                own => format!("drive {drive} of the rounds ended: {own}"),
            };
            self.ended_early().map(reason)
        };
        for driven in &mut self.drives {
            driven.control.end_turns(std::mem::take(&mut driven.slices), first.as_deref());
        }
    }
}
