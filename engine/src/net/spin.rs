//! Staying awake in a wait: the stretch before an instant, and while an event is expected.
//!
//! A thread that sleeps is late by what the system takes to wake it, some ten microseconds at best and a hundred on a
//! virtual machine. Both stretches follow what recent sleeps cost, as the polling of a halted virtual CPU does: the one
//! before an instant is as long as sleeps ended too late, the one for an event grows while events come soon after it and
//! shrinks to nothing while they do not. None is longer than the plan allows.

/// What a stretch begins with, unless the plan allows less.
const FIRST_NS: u64 = 50_000;
/// A sleep below this is not worth its system call, and a stretch below it not either.
const LEAST_NS: u64 = 5_000;
/// What a sleep may end later than the latest before it.
const SPARE_NS: u64 = 2_000;
/// A look that took longer than that had lost its CPU: others want it, whom a thread that stays awake keeps from it, and
/// who are then given it for longer than one that slept would wait.
const LOST_NS: u64 = 300_000;
/// How long it only sleeps then, at first and at the longest: each time twice as long, until it kept its CPU for as long
/// as the longest.
const RESTS_NS: std::ops::RangeInclusive<u64> = 10_000_000..=1_000_000_000;
/// By such a part of it the stretch before an instant becomes shorter with each sleep that ended in good time.
const FADES: u64 = 16;

#[derive(Debug)]
pub struct Spin {
    /// The longest stretch; with 0 the thread always sleeps.
    longest_ns: u64,
    before_instant_ns: u64,
    for_event_ns: u64,
    spun_ns: u64,
    /// Until when it only sleeps, and how long that lasts.
    rests_until_ns: u64,
    rest_ns: u64,
    /// When events were looked for last, and when before that.
    looked_ns: u64,
    floor_ns: u64,
}

/// How a sleep within a wait went.
#[derive(Debug, Clone, Copy)]
struct Slept {
    /// When the wait began.
    since_ns: u64,
    /// Until when it was to last.
    until_ns: u64,
    ended_ns: u64,
    /// Whether an event ended it.
    by_event: bool,
}

/// By what a thread waits for events.
pub trait Waits {
    fn spin(&mut self) -> &mut Spin;
    fn now_ns(&self) -> u64;
    /// Whether there are events.
    fn has_events(&self) -> bool;
    /// Whether there is anything that ends the wait.
    fn has_come(&self) -> bool;
    /// Looks for what comes, and returns at once.
    fn look(&mut self);
    /// Sleeps for so long at most, or until something comes.
    fn sleep(&mut self, sleep_ns: u64);
}

/// Waits, and sleeps no longer than events and the instant leave it; `expects`: an event is likely to come soon.
pub fn wait_awake(waits: &mut impl Waits, (since_ns, until_ns): (u64, u64), expects: bool) {
    let look_until_ns = waits.spin().looks_until_ns(since_ns, until_ns, expects);
    let mut now_ns = spin_until(waits, look_until_ns);
    let sleep_ns = waits.spin().sleep_ns(until_ns.saturating_sub(now_ns));
    if !waits.has_come() && sleep_ns > 0 {
        let asleep_until_ns = now_ns + sleep_ns;
        waits.sleep(sleep_ns);
        now_ns = waits.now_ns();
        let by_event = waits.has_events();
        waits.spin().slept(Slept { since_ns, until_ns: asleep_until_ns, ended_ns: now_ns, by_event });
    }
    // Of a long wait there is more than that left.
    if !waits.has_come() && waits.spin().sleep_ns(until_ns.saturating_sub(now_ns)) == 0 {
        spin_until(waits, until_ns);
    }
}

/// Looks for what comes until there is something or the instant has come; the latest reading of the clock.
fn spin_until(waits: &mut impl Waits, until_ns: u64) -> u64 {
    let mut now_ns = waits.now_ns();
    while !waits.has_come() && now_ns < until_ns {
        waits.spin().looks(now_ns);
        waits.look();
        let after_ns = waits.now_ns();
        waits.spin().looked(now_ns, after_ns);
        now_ns = after_ns;
    }
    now_ns
}

impl Spin {
    pub fn new(longest_ns: u64) -> Self {
        let first_ns = FIRST_NS.min(longest_ns);
        Self {
            longest_ns,
            before_instant_ns: first_ns,
            for_event_ns: first_ns,
            spun_ns: 0,
            rests_until_ns: 0,
            rest_ns: *RESTS_NS.start(),
            looked_ns: 0,
            floor_ns: 0,
        }
    }

    /// Whether a wait that begins at `now_ns` may stay awake at all.
    #[inline]
    pub fn is_allowed(&self, now_ns: u64) -> bool {
        self.longest_ns > 0 && now_ns >= self.rests_until_ns
    }

    /// Until when a wait that begins at `now_ns` looks for an event that is expected before it sleeps.
    fn looks_until_ns(&self, now_ns: u64, until_ns: u64, expects: bool) -> u64 {
        if expects { until_ns.min(now_ns + self.for_event_ns) } else { now_ns }
    }

    /// How long to sleep of a wait of which so much is left.
    fn sleep_ns(&self, left_ns: u64) -> u64 {
        let sleep_ns = left_ns.saturating_sub(self.before_instant_ns);
        if sleep_ns < LEAST_NS { 0 } else { sleep_ns }
    }

    /// What a sleep came to.
    fn slept(&mut self, slept: Slept) {
        let Slept { since_ns, until_ns, ended_ns, by_event } = slept;
        if by_event {
            let soon = ended_ns.saturating_sub(since_ns) <= self.longest_ns;
            let next_ns = if soon { (2 * self.for_event_ns).max(2 * LEAST_NS) } else { self.for_event_ns / 2 };
            self.for_event_ns = if next_ns < LEAST_NS { 0 } else { next_ns.min(self.longest_ns) };
        } else if ended_ns >= until_ns {
            let late_ns = ended_ns - until_ns;
            let faded_ns = self.before_instant_ns - self.before_instant_ns / FADES;
            self.before_instant_ns = faded_ns.max(late_ns + late_ns / 4 + SPARE_NS).min(self.longest_ns);
        }
    }

    /// A look took from one instant to another, awake.
    #[inline]
    fn looked(&mut self, from_ns: u64, to_ns: u64) {
        let took_ns = to_ns.saturating_sub(from_ns);
        self.spun_ns += took_ns.min(LOST_NS);
        if took_ns > LOST_NS {
            self.rest(to_ns);
        }
    }

    /// It lost its CPU.
    #[cold]
    fn rest(&mut self, now_ns: u64) {
        let is_calm = now_ns.saturating_sub(self.rests_until_ns) > *RESTS_NS.end();
        self.rest_ns = if is_calm { *RESTS_NS.start() } else { (2 * self.rest_ns).min(*RESTS_NS.end()) };
        self.rests_until_ns = now_ns + self.rest_ns;
    }

    /// What was spent awake since this was last asked.
    #[inline]
    pub fn take_spun_ns(&mut self) -> u64 {
        std::mem::take(&mut self.spun_ns)
    }

    /// Events are looked for, at `now_ns` or later.
    #[inline]
    pub fn looks(&mut self, now_ns: u64) {
        self.floor_ns = self.looked_ns;
        self.looked_ns = now_ns;
    }

    /// What the last look brought had not come by then, or it would have been brought by the one before.
    #[inline]
    pub fn floor_ns(&self) -> u64 {
        self.floor_ns
    }

    /// Instants are those of another clock from now on.
    pub fn forget_instants(&mut self) {
        (self.looked_ns, self.floor_ns, self.rests_until_ns) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;

    fn by_event(spin: &mut Spin, after_ns: u64) -> u64 {
        spin.slept(Slept { since_ns: US, until_ns: 90_000 * US, ended_ns: US + after_ns, by_event: true });
        spin.looks_until_ns(0, 90_000 * US, true)
    }

    fn by_time(spin: &mut Spin, late_ns: u64) -> u64 {
        spin.slept(Slept { since_ns: 0, until_ns: 500 * US, ended_ns: 500 * US + late_ns, by_event: false });
        1000 * US - spin.sleep_ns(1000 * US)
    }

    #[test]
    fn it_looks_for_events_as_long_as_they_come_soon_and_no_longer_than_allowed() {
        let mut spin = Spin::new(200 * US);
        assert_eq!([80, 80, 80].map(|after| by_event(&mut spin, after * US)), [100 * US, 200 * US, 200 * US]);
        let fading = [0; 7].map(|_| by_event(&mut spin, 3_000 * US) / US);
        assert_eq!(fading, [100, 50, 25, 12, 6, 0, 0], "they come too late to wait for");
        assert_eq!(by_event(&mut spin, 150 * US), 10 * US, "they come soon again");
        assert_eq!(spin.looks_until_ns(7, 90, false), 7, "nothing is expected");
        assert_eq!(spin.looks_until_ns(7, 90, true), 90);
    }

    #[test]
    fn it_wakes_up_before_an_instant_by_as_much_as_sleeps_end_too_late() {
        let mut spin = Spin::new(200 * US);
        assert_eq!(by_time(&mut spin, 80 * US), 102 * US);
        assert_eq!(by_time(&mut spin, 5_000 * US), 200 * US, "no longer than allowed");
        let later: Vec<u64> = (0..100).map(|_| by_time(&mut spin, 4 * US)).collect();
        assert!(later.is_sorted_by(|one, next| one >= next) && later[99] == 7 * US, "{later:?}");
        assert_eq!(spin.sleep_ns(11 * US), 0, "too little to sleep for");
    }

    #[test]
    fn one_that_is_not_allowed_always_sleeps() {
        let mut spin = Spin::new(0);
        assert_eq!((by_event(&mut spin, US), by_time(&mut spin, 80 * US), spin.is_allowed(5)), (0, 0, false));
        assert_eq!((spin.sleep_ns(70 * US), spin.take_spun_ns()), (70 * US, 0));
    }

    #[test]
    fn it_rests_where_others_want_its_cpu_and_longer_each_time_until_they_are_gone() {
        const MS: u64 = 1_000 * US;
        let mut spin = Spin::new(200 * US);
        let rests_ms = |spin: &mut Spin, at_ms: u64| {
            spin.looked(at_ms * MS - 3 * MS, at_ms * MS);
            (0..3_000).find(|after| spin.is_allowed((at_ms + after) * MS)).unwrap()
        };
        spin.looked(5 * US, 6 * US);
        assert!(spin.is_allowed(6 * US));
        let at_ms = [2_000, 2_010, 2_030, 2_070, 2_150, 2_310, 2_630, 3_270, 4_280, 6_300];
        assert_eq!(at_ms.map(|at_ms| rests_ms(&mut spin, at_ms)), [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 10]);
        assert_eq!(spin.take_spun_ns(), 10 * LOST_NS + US, "a thread without its CPU is not awake");
    }

    #[test]
    fn what_a_look_brings_had_not_come_with_the_one_before() {
        let mut spin = Spin::new(9);
        spin.looks(5);
        spin.looks(8);
        assert_eq!(spin.floor_ns(), 5);
        spin.forget_instants();
        assert_eq!(spin.floor_ns(), 0);
    }
}
