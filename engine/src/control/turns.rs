//! The slices of a drive that is paused between them: given by who takes turns, driven by the drive's threads.
//!
//! Time paused does not exist for the drive: the clock of its threads is set back by all of it, so that think times,
//! timeouts and the schedule of arrivals go on where they stopped.

use super::bell::Bell;
use crate::record::slices::{SliceTally, Slices};
use std::sync::{Arc, Mutex, MutexGuard};

/// A slice on the drive's own clock: it is settled until `measure_ns`, measured until `end_ns`, goes on until `until_ns`,
/// and is drained then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// From 1 on.
    pub number: u64,
    /// What the drive's own clock is behind the common one.
    pub shift_ns: u64,
    pub begin_ns: u64,
    pub measure_ns: u64,
    pub end_ns: u64,
    pub until_ns: u64,
    /// The round that it is of; None of one in which nothing is measured.
    pub round: Option<u32>,
    /// Whether the drive's interval ends with it.
    pub ends_interval: bool,
}

/// What a paused thread is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Wait,
    Load(Slice),
    /// There are no more slices.
    Over,
}

#[derive(Debug, Default)]
struct State {
    slice: Option<Slice>,
    is_over: bool,
    /// Threads that are done with the slice, and what they did in it.
    paused: usize,
    /// Threads whose load has ended.
    gone: usize,
    tally: SliceTally,
    /// What is recorded of all slices, once that is all.
    slices: Option<Slices>,
}

#[derive(Debug)]
pub struct Turns {
    threads: usize,
    state: Mutex<State>,
    /// Rings when a thread pauses, and at the end.
    pub bell: Arc<Bell>,
}

impl Turns {
    pub fn new(threads: usize, bell: Arc<Bell>) -> Self {
        Self { threads, state: Mutex::default(), bell }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// What comes for a thread after slice number `done`.
    pub fn next(&self, done: u64) -> Turn {
        let state = self.state();
        match state.slice.filter(|slice| slice.number > done) {
            Some(slice) => Turn::Load(slice),
            None if state.is_over => Turn::Over,
            None => Turn::Wait,
        }
    }

    /// Gives the threads a slice; they have to be woken.
    pub(super) fn give(&self, slice: Slice) {
        let mut state = self.state();
        (state.slice, state.paused, state.tally) = (Some(slice), 0, SliceTally::default());
    }

    /// There are no more slices; these were all. Threads have to be woken.
    pub(super) fn end(&self, slices: Slices) {
        let mut state = self.state();
        state.is_over = true;
        state.slices.get_or_insert(slices);
        drop(state);
        self.bell.ring();
    }

    /// A thread is done with its slice.
    pub fn paused(&self, tally: &SliceTally) {
        let mut state = self.state();
        state.tally.add(tally);
        state.paused += 1;
        drop(state);
        self.bell.ring();
    }

    /// The load of a thread has ended: after slice number `done`, or in the midst of the next one, with a tally.
    pub fn left(&self, done: u64, tally: Option<&SliceTally>) {
        let mut state = self.state();
        if let Some(tally) = tally {
            state.tally.add(tally);
        } else if state.slice.is_some_and(|slice| slice.number == done) {
            state.paused -= 1;
        }
        state.gone += 1;
        drop(state);
        self.bell.ring();
    }

    /// What all threads did in the slice; None until they are done with it.
    pub fn done(&self) -> Option<SliceTally> {
        let state = self.state();
        (state.paused + state.gone >= self.threads).then(|| state.tally.clone())
    }

    /// Waits for the record of all slices.
    pub fn wait_for_the_record(&self) -> Slices {
        self.bell.wait(None, || self.state().slices.is_some());
        self.state().slices.take().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(number: u64) -> Slice {
        Slice {
            number,
            shift_ns: 5,
            begin_ns: 10,
            measure_ns: 20,
            end_ns: 30,
            until_ns: 30,
            round: Some(0),
            ends_interval: false,
        }
    }

    #[test]
    fn every_thread_gets_every_slice_once_and_then_the_end() {
        let turns = Turns::new(2, Arc::default());
        assert_eq!(turns.next(0), Turn::Wait);
        turns.give(slice(1));
        assert_eq!([turns.next(0), turns.next(1)], [Turn::Load(slice(1)), Turn::Wait]);
        turns.end(Slices::default());
        assert_eq!([turns.next(0), turns.next(1)], [Turn::Load(slice(1)), Turn::Over]);
    }

    #[test]
    fn a_slice_is_done_when_all_threads_have_paused() {
        let turns = Turns::new(2, Arc::default());
        turns.give(slice(1));
        let of = |ok, drained_ns| SliceTally { ok, drained_ns, ..SliceTally::default() };
        turns.paused(&of(3, 40));
        assert!(turns.done().is_none());
        turns.paused(&of(4, 35));
        let tally = turns.done().unwrap();
        assert_eq!((tally.ok, tally.drained_ns), (7, 40));
        turns.give(slice(2));
        assert!(turns.done().is_none());
    }

    #[test]
    fn nobody_waits_for_a_thread_whose_load_has_ended() {
        let tally = |ok| SliceTally { ok, ..SliceTally::default() };
        let turns = Turns::new(3, Arc::default());
        turns.give(slice(1));
        turns.paused(&tally(1));
        turns.left(1, None);
        turns.left(0, Some(&tally(2)));
        assert!(turns.done().is_none(), "one has neither paused nor gone");
        turns.left(0, None);
        assert_eq!(turns.done().unwrap().ok, 3);
        turns.give(slice(2));
        assert_eq!(turns.done().unwrap(), tally(0), "given too late");
    }
}
