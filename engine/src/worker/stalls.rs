//! When nothing came back although requests waited, and when the thread itself did not run.
//!
//! A thread that waits for replies looks up every tenth of a second. One that does so in time and finds nothing hears a
//! server that stands still; one that finds itself late was kept from running: stopped, or without a CPU. The steady path
//! pays a comparison a wake-up.

use super::Worker;
use crate::machine::clock::{Clock, SECOND_NS};
use crate::machine::run_delay::RunDelay;
use crate::record::tally::{Stall, StallOf};

/// How often a thread looks up that waits for replies.
pub(super) const LOOK_NS: u64 = SECOND_NS / 10;
/// The shortest that is recorded.
const SHORTEST_NS: u64 = SECOND_NS / 4;
/// A thread that looks up so late did not run.
const LATE_NS: u64 = SECOND_NS / 8;
/// What takes longer than a moment to handle: then the thread was busy, and neither late nor without a reply.
const MUCH_BYTES: u64 = 16 << 20;
/// No more are recorded, of a thread.
const MOST: usize = 1000;

/// Of one thread.
#[derive(Debug)]
pub(super) struct Stalls {
    pub all: Vec<Stall>,
    /// When something came last, or was looked up.
    heard_ns: u64,
    bytes: u64,
    /// From which silence on the thread looks up: at once where one goes on.
    look_after_ns: u64,
    /// The silence that goes on: since when, and how many requests waited.
    silence: Option<(u64, usize)>,
    run_delay: RunDelay,
    /// How long the thread had waited for a CPU at the last border and at the one before.
    waited_ns: [u64; 2],
}

/// One turn of a thread: when it began, until when it was to wait at the latest, and when it was over.
#[derive(Debug, Clone, Copy)]
pub(super) struct TurnTimes {
    pub begun_ns: u64,
    pub until_ns: u64,
    pub now_ns: u64,
}

impl Stalls {
    /// Must be made by the thread itself, so that what it waits for a CPU is its own.
    pub fn of_this_thread() -> Self {
        let run_delay = RunDelay::of_this_thread();
        let waited_ns = run_delay.read_ns().unwrap_or(0);
        Self {
            all: Vec::new(),
            heard_ns: 0,
            bytes: 0,
            look_after_ns: LOOK_NS,
            silence: None,
            run_delay,
            waited_ns: [waited_ns; 2],
        }
    }

    /// Load begins, or goes on, after which so many bytes had been received.
    pub fn begin(&mut self, now_ns: u64, bytes: u64) {
        (self.heard_ns, self.bytes) = (now_ns, bytes);
        self.silence = None;
        self.look_after_ns = LOOK_NS;
    }

    /// A border is crossed: what the thread waits for a CPU counts from the one before.
    pub fn note_border(&mut self) {
        self.waited_ns = [self.waited_ns[1], self.run_delay.read_ns().unwrap_or(0)];
    }

    /// Whether it is to be looked up after a turn; else what came is noted.
    #[inline]
    pub fn is_due(&mut self, now_ns: u64, bytes: u64) -> bool {
        if now_ns.saturating_sub(self.heard_ns) >= self.look_after_ns {
            return true;
        }
        if bytes != self.bytes {
            (self.heard_ns, self.bytes) = (now_ns, bytes);
        }
        false
    }

    /// What a turn was that took long, or in which a silence went on. `waiting` requests are in flight, the oldest of
    /// them since `oldest_ns`, or connections are being made again (`reconnects`).
    pub fn look(
        &mut self,
        clock: Clock,
        turn: TurnTimes,
        bytes: u64,
        waiting: usize,
        oldest_ns: u64,
        reconnects: bool,
    ) {
        let TurnTimes { begun_ns, until_ns, now_ns } = turn;
        let received = bytes - self.bytes;
        let late_ns = now_ns.saturating_sub(until_ns.max(begun_ns));
        if late_ns >= LATE_NS && received < MUCH_BYTES {
            self.end(clock, begun_ns);
            // While it waited for replies it cannot know how much of the turn it slept.
            let since_ns = if until_ns <= begun_ns + LOOK_NS { begun_ns } else { until_ns };
            let no_cpu_ns = self.run_delay.read_ns().unwrap_or(0).saturating_sub(self.waited_ns[0]);
            self.push(
                clock,
                since_ns,
                now_ns,
                StallOf::Driver { no_cpu_ns: no_cpu_ns.min(now_ns - since_ns) },
                waiting,
            );
        } else if received > 0 {
            self.end(clock, now_ns);
        } else if let Some((_, most)) = &mut self.silence {
            *most = waiting.max(*most);
            if waiting == 0 && !reconnects {
                self.end(clock, now_ns);
            }
        } else if waiting > 0 {
            self.silence = Some((self.heard_ns.max(oldest_ns), waiting));
            self.look_after_ns = 0;
        }
        (self.heard_ns, self.bytes) = (now_ns, bytes);
    }

    /// A silence ends, if one goes on.
    pub fn end(&mut self, clock: Clock, now_ns: u64) {
        self.look_after_ns = LOOK_NS;
        if let Some((since_ns, waiting)) = self.silence.take() {
            self.push(clock, since_ns, now_ns, StallOf::Server, waiting);
        }
    }

    fn push(&mut self, clock: Clock, since_ns: u64, until_ns: u64, of: StallOf, waiting: usize) {
        if until_ns >= since_ns + SHORTEST_NS && self.all.len() < MOST {
            let (begin_unix_ns, end_unix_ns) = (clock.to_unix_ns(since_ns), clock.to_unix_ns(until_ns));
            self.all.push(Stall { begin_unix_ns, end_unix_ns, of, waiting: waiting as u64 });
        }
    }
}

impl Worker {
    /// A turn of the load took long, or a silence went on in it.
    #[cold]
    pub(super) fn look_up(&mut self, begun_ns: u64, until_ns: u64) {
        let turn = TurnTimes { begun_ns, until_ns, now_ns: self.now_ns };
        let connections = &self.connections;
        let all = (0..connections.len()).filter_map(|number| connections[number].in_flight.front());
        let oldest_ns = all.map(|task| task.step_sent_ns).filter(|&sent_ns| sent_ns > 0).min();
        let (waiting, reconnects) = (connections.in_flight, !connections.opening.is_empty());
        let oldest_ns = oldest_ns.unwrap_or(self.now_ns);
        self.stalls.look(self.clock, turn, self.recording.bytes_received, waiting, oldest_ns, reconnects);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = SECOND_NS / 1000;

    struct Thread {
        stalls: Stalls,
        clock: Clock,
        now_ns: u64,
        bytes: u64,
    }

    impl Thread {
        fn new() -> Self {
            let mut stalls = Stalls::of_this_thread();
            stalls.begin(0, 0);
            Self { stalls, clock: Clock::new(), now_ns: 0, bytes: 0 }
        }

        /// A turn that was to last `planned_ms` at most, lasted `ms`, and brought so many bytes; what waits was sent
        /// at `oldest_ms`.
        fn turn(&mut self, planned_ms: u64, ms: u64, bytes: u64, waiting: usize, oldest_ms: u64) {
            let begun_ns = self.now_ns;
            self.now_ns += ms * MS;
            self.bytes += bytes;
            if self.stalls.is_due(self.now_ns, self.bytes) {
                let turn = TurnTimes { begun_ns, until_ns: begun_ns + planned_ms * MS, now_ns: self.now_ns };
                self.stalls.look(self.clock, turn, self.bytes, waiting, oldest_ms * MS, false);
            }
        }

        fn found(&self) -> Vec<(u64, u64, bool, u64)> {
            let ms = |unix_ns: u64| self.clock.from_unix_ns(unix_ns) / MS;
            let all = self.stalls.all.iter();
            all.map(|s| (ms(s.begin_unix_ns), ms(s.end_unix_ns), s.of == StallOf::Server, s.waiting)).collect()
        }
    }

    #[test]
    fn a_silence_lasts_from_the_last_reply_to_the_next() {
        let mut thread = Thread::new();
        thread.turn(100, 1, 10, 5, 0);
        for _ in 0..20 {
            thread.turn(100, 100, 0, 5, 1);
        }
        thread.turn(100, 3, 10, 5, 1);
        thread.turn(100, 1, 10, 5, 2004);
        assert_eq!(thread.found(), [(1, 2004, true, 5)]);
    }

    #[test]
    fn a_load_that_comes_at_a_rate_has_no_silence_while_nothing_is_in_flight() {
        let mut thread = Thread::new();
        for _ in 0..3 {
            thread.turn(1000, 1000, 0, 0, 0); // until the next is due
            thread.turn(1, 1, 10, 0, 0);
        }
        assert_eq!(thread.found(), []);
        for sent_ms in 0..600 {
            thread.turn(1, 1, 0, sent_ms + 1, 3003); // each millisecond one more is sent, and none is answered
        }
        thread.turn(1, 1, 10, 600, 3003);
        assert_eq!(thread.found(), [(3003, 3604, true, 600)]);
    }

    #[test]
    fn a_silence_shorter_than_a_quarter_of_a_second_is_none() {
        let mut thread = Thread::new();
        thread.turn(100, 100, 0, 5, 0);
        thread.turn(100, 100, 0, 5, 0);
        thread.turn(100, 40, 10, 5, 0);
        assert_eq!(thread.found(), []);
    }

    #[test]
    fn a_thread_that_was_to_look_up_long_before_did_not_run() {
        let mut thread = Thread::new();
        thread.turn(100, 1, 10, 5, 0);
        thread.turn(100, 5000, 100, 5, 1);
        thread.turn(100, 1, 100, 5, 5000);
        assert_eq!(thread.found(), [(1, 5001, false, 5)]);
        thread.turn(2000, 9000, 0, 0, 0); // nothing in flight: it slept until the next was due, and then on
        assert_eq!(thread.found()[1..], [(7002, 14002, false, 0)]);
    }

    #[test]
    fn a_silence_ends_where_the_thread_stops_and_with_the_load() {
        let mut thread = Thread::new();
        for _ in 0..4 {
            thread.turn(100, 100, 0, 5, 0);
        }
        thread.turn(100, 700, 0, 5, 0);
        for _ in 0..3 {
            thread.turn(100, 100, 0, 5, 0);
        }
        thread.stalls.end(thread.clock, thread.now_ns);
        assert_eq!(thread.found(), [(0, 400, true, 5), (400, 1100, false, 5), (1100, 1400, true, 5)]);
    }

    #[test]
    fn a_turn_that_brought_much_was_work() {
        let mut thread = Thread::new();
        thread.turn(100, 900, MUCH_BYTES, 5, 0);
        assert_eq!(thread.found(), []);
    }
}
