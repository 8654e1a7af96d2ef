//! Who gives the slices: one drive after the other, round for round; what stands beside each slice is read here.

use super::options::RoundsOptions;
use crate::control::Control;
use crate::control::bell::Bell;
use crate::control::turns::Slice;
use crate::machine::affinity;
use crate::machine::clock::{Clock, from_s, to_s};
use crate::machine::cpu_times::{self, CpuTimes};
use crate::machine::main_thread::{MainThread, ThreadTimes};
use crate::machine::process_clock::ProcessClock;
use crate::record::slices::{PartSlice, SliceRecord, SliceTally, Slices};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long threads of a drive that was stopped may take to report what they did.
const REPORT: Duration = Duration::from_secs(1);

/// One of the drives.
#[derive(Debug)]
pub(super) struct Driven {
    control: Arc<Control>,
    warm_up_ns: u64,
    parts: BTreeMap<String, Part>,
    /// What its own clock is behind the common one, and when it was drained last.
    shift_ns: u64,
    drained_ns: u64,
    /// The number of its last slice.
    number: u64,
    slices: Slices,
}

impl Driven {
    /// Drive number `drive` of the options.
    pub fn new(control: Arc<Control>, warm_up_s: f64, options: &RoundsOptions, drive: usize) -> Self {
        let of_drive = options.parts.get(drive).into_iter().flatten();
        Self {
            control,
            warm_up_ns: from_s(warm_up_s),
            parts: of_drive.map(|(name, pids)| (name.clone(), Part::of(pids))).collect(),
            shift_ns: 0,
            drained_ns: 0,
            number: 0,
            slices: Slices::default(),
        }
    }

    /// What is to be compared at both ends of a window.
    fn read(&self) -> Reading {
        Reading { parts: self.parts.values().map(Part::read).collect(), cpus: cpu_times::read() }
    }
}

/// The processes of a part.
#[derive(Debug)]
struct Part {
    clocks: Vec<ProcessClock>,
    /// Of a part that is one process.
    main: Option<MainThread>,
}

impl Part {
    fn of(pids: &[i32]) -> Self {
        let main = if let [pid] = pids { Some(MainThread::of(*pid)) } else { None };
        Self { clocks: pids.iter().copied().map(ProcessClock::of).collect(), main }
    }

    fn read(&self) -> PartTimes {
        let cpu_ns = self.clocks.iter().map(ProcessClock::read_ns).sum();
        PartTimes { cpu_ns, main: self.main.as_ref().and_then(MainThread::read) }
    }
}

/// CPU time of a part so far.
#[derive(Debug, Clone, Copy)]
struct PartTimes {
    cpu_ns: Option<u64>,
    main: Option<ThreadTimes>,
}

impl PartTimes {
    /// What was added until `after`.
    fn until(self, after: Self) -> PartSlice {
        let spent_ns = self.cpu_ns.zip(after.cpu_ns).map(|(before, after)| after.saturating_sub(before));
        let main = self.main.zip(after.main).map(|(before, after)| after.since(before));
        PartSlice {
            cpu_s: spent_ns.map(to_s),
            main_s: main.map(|main| to_s(main.ran_ns)),
            main_wait_s: main.map(|main| to_s(main.waited_ns)),
        }
    }
}

/// CPU times at one end of a window.
#[derive(Debug)]
struct Reading {
    /// In the order of the parts' names.
    parts: Vec<PartTimes>,
    cpus: BTreeMap<usize, CpuTimes>,
}

/// Where a slice stands, and when it is driven, on the common clock.
#[derive(Debug, Clone, Copy)]
struct Place {
    round: usize,
    position: usize,
    measure_ns: u64,
    end_ns: u64,
}

#[derive(Debug)]
pub(super) struct Coordinator {
    clock: Clock,
    origin_ns: u64,
    bell: Arc<Bell>,
    options: RoundsOptions,
    drives: Vec<Driven>,
}

impl Coordinator {
    /// All drives began at `origin_ns`, and wait for their first slices.
    pub fn new(clock: Clock, origin_ns: u64, bell: Arc<Bell>, options: RoundsOptions, mut drives: Vec<Driven>) -> Self {
        drives.iter_mut().for_each(|drive| drive.drained_ns = origin_ns);
        Self { clock, origin_ns, bell, options, drives }
    }

    /// Gives every slice of every round; ends early with the first drive that does.
    pub fn run(mut self) {
        affinity::exact_timers();
        self.warm_up();
        let orders = std::mem::take(&mut self.options.orders);
        for (round, order) in orders.into_iter().enumerate() {
            for (position, drive) in order.into_iter().enumerate() {
                if self.ended_early().is_some() {
                    return;
                }
                self.measure(round, position, drive);
            }
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
                let begin_ns = self.give(drive, warm_up_ns, 0);
                self.wait_until(drive, begin_ns + warm_up_ns);
                self.wait_for_the_drain(drive);
            }
        }
    }

    /// One slice of one drive, measured.
    fn measure(&mut self, round: usize, position: usize, drive: usize) {
        let (settle_ns, slice_ns) = (from_s(self.options.settle_s), from_s(self.options.slice_s));
        let measure_ns = self.give(drive, settle_ns, slice_ns) + settle_ns;
        let place = Place { round, position, measure_ns, end_ns: measure_ns + slice_ns };
        self.wait_until(drive, place.measure_ns);
        let before = self.drives[drive].read();
        self.wait_until(drive, place.end_ns);
        let after = self.drives[drive].read();
        if let Some(tally) = self.wait_for_the_drain(drive) {
            self.record(drive, &place, &tally, &before, &after);
        }
    }

    /// Lets a drive go on, now, which is returned. Its own clock goes on where it stopped.
    fn give(&mut self, drive: usize, settle_ns: u64, slice_ns: u64) -> u64 {
        let now_ns = self.clock.now();
        let driven = &mut self.drives[drive];
        driven.shift_ns += now_ns.saturating_sub(driven.drained_ns);
        driven.number += 1;
        let begin_ns = now_ns - driven.shift_ns;
        let measure_ns = begin_ns + settle_ns;
        let (number, shift_ns, end_ns) = (driven.number, driven.shift_ns, measure_ns + slice_ns);
        driven.control.give(Slice { number, shift_ns, begin_ns, measure_ns, end_ns });
        now_ns
    }

    /// Waits until an instant, or the end of the drive.
    fn wait_until(&self, drive: usize, until_ns: u64) {
        let control = &self.drives[drive].control;
        self.bell.wait(Some(self.clock.instant(until_ns)), || control.is_stopped());
    }

    /// Waits until nothing of a drive's slice is in flight any more: what came of it. None if its threads are gone.
    fn wait_for_the_drain(&mut self, drive: usize) -> Option<SliceTally> {
        let driven = &mut self.drives[drive];
        let control = driven.control.clone();
        self.bell.wait(None, || control.done().is_some() || control.is_stopped());
        self.bell.wait(Some(Instant::now() + REPORT), || control.done().is_some());
        let tally = control.done()?;
        driven.drained_ns = tally.drained_ns;
        Some(tally)
    }

    /// Records a slice, unless it was cut short before its window began.
    fn record(&mut self, drive: usize, place: &Place, tally: &SliceTally, before: &Reading, after: &Reading) {
        let end_ns = tally.end_ns.min(place.end_ns);
        if end_ns <= place.measure_ns {
            return;
        }
        let since_origin_s = |at_ns: u64| to_s(at_ns.saturating_sub(self.origin_ns));
        let driven = &mut self.drives[drive];
        let spent = before.parts.iter().zip(&after.parts).map(|(before, after)| before.until(*after));
        let parts = driven.parts.keys().cloned().zip(spent).collect();
        driven.slices.measured_ns += end_ns - place.measure_ns;
        driven.slices.slices.push(SliceRecord {
            round: place.round,
            position: place.position,
            begin_s: since_origin_s(place.measure_ns),
            end_s: since_origin_s(end_ns),
            drained_s: since_origin_s(tally.drained_ns.max(end_ns)),
            offered: tally.offered,
            completed: tally.completed,
            ok: tally.ok,
            failed: tally.failed,
            cpu_s: to_s(tally.cpu_ns),
            parts,
        });
        for (cpu, after) in &after.cpus {
            if let Some(before) = before.cpus.get(cpu) {
                driven.slices.cpus.entry(*cpu).or_default().add_between(before, after);
            }
        }
    }
}

impl Drop for Coordinator {
    /// Every drive gets its end, however this thread ends.
    fn drop(&mut self) {
        let first = if std::thread::panicking() {
            Some("the rounds broke off".to_string())
        } else {
            let reason = |drive: usize| self.drives[drive].control.reason().unwrap_or_default();
            self.ended_early().map(|drive| format!("drive {drive} of the rounds ended: {}", reason(drive)))
        };
        for driven in &mut self.drives {
            driven.control.end_turns(std::mem::take(&mut driven.slices), first.as_deref());
        }
    }
}
