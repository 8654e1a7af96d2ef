//! The open model's arrivals: when each operation of one thread is intended.
//!
//! Every intended time comes from the schedule alone, never from the time of day at which it is
//! read. The rate is integrated over time ("work"): arrival number k is intended when the work is k.

use crate::content::rng::Rng;
use crate::machine::clock::from_s;
use crate::plan::{Arrivals as Kind, Open, Phases, Share};

/// A stretch of time in which the rate changes linearly.
#[derive(Debug, Clone)]
struct Stretch {
    start_s: f64,
    length_s: f64,
    start_rate_per_s: f64,
    end_rate_per_s: f64,
    /// Arrivals before this stretch.
    start_work: f64,
}

impl Stretch {
    fn work(&self) -> f64 {
        self.length_s * (self.start_rate_per_s + self.end_rate_per_s) / 2.0
    }

    /// Seconds since the load started at which the work reaches `work`.
    fn time_of(&self, work: f64) -> f64 {
        let rest = work - self.start_work;
        let slope =
            if self.length_s.is_finite() { (self.end_rate_per_s - self.start_rate_per_s) / self.length_s } else { 0.0 };
        let rate = self.start_rate_per_s;
        let denominator = rate + (rate * rate + 2.0 * slope * rest).max(0.0).sqrt();
        if rest <= 0.0 { self.start_s } else { self.start_s + 2.0 * rest / denominator }
    }
}

/// The rate over time: linear in the ramp-up, `rate_per_s` in the warm-up, then the schedule, which
/// begins with the measure phase and whose last step lasts until the end.
#[derive(Debug, Clone)]
pub struct Schedule {
    stretches: Vec<Stretch>,
    current: usize,
}

impl Schedule {
    pub fn new(open: &Open, phases: &Phases) -> Self {
        let mut steps = vec![(phases.ramp_up_s, 0.0, open.rate_per_s)];
        if open.schedule.is_empty() {
            steps.push((f64::INFINITY, open.rate_per_s, open.rate_per_s));
        } else {
            steps.push((phases.warm_up_s, open.rate_per_s, open.rate_per_s));
            steps.extend(open.schedule.iter().map(|step| (step.duration_s, step.rate_per_s, step.rate_per_s)));
            if let Some(last) = steps.last_mut() {
                last.0 = f64::INFINITY;
            }
        }
        let mut stretches: Vec<Stretch> = Vec::new();
        for (length_s, start_rate_per_s, end_rate_per_s) in steps.into_iter().filter(|step| step.0 > 0.0) {
            let (start_s, start_work) =
                stretches.last().map_or((0.0, 0.0), |s| (s.start_s + s.length_s, s.start_work + s.work()));
            stretches.push(Stretch { start_s, length_s, start_rate_per_s, end_rate_per_s, start_work });
        }
        Self { stretches, current: 0 }
    }

    /// Seconds since the load started at which the work reaches `work`; `work` never falls between calls.
    fn time_of(&mut self, work: f64) -> f64 {
        while self.stretches.get(self.current + 1).is_some_and(|next| next.start_work <= work) {
            self.current += 1;
        }
        self.stretches[self.current].time_of(work)
    }
}

/// The arrivals of one thread among those of all agents.
///
/// Constant: thread i of n has every n-th arrival, so that the merged stream is exactly constant.
/// Poisson: each thread has a stream of its own at its share of the rate.
#[derive(Debug)]
pub struct Arrivals {
    schedule: Schedule,
    kind: Kind,
    threads: f64,
    work: f64,
    rng: Rng,
    next_ns: u64,
}

impl Arrivals {
    pub fn new(open: &Open, phases: &Phases, seed: u64, share: Share) -> Self {
        let mut arrivals = Self {
            schedule: Schedule::new(open, phases),
            kind: open.arrivals,
            threads: share.of as f64,
            work: share.number as f64,
            rng: Rng::new(seed, ARRIVALS_STREAM + share.number as u64),
            next_ns: 0,
        };
        if arrivals.kind == Kind::Poisson {
            arrivals.work = arrivals.gap();
        }
        arrivals.next_ns = from_s(arrivals.schedule.time_of(arrivals.work));
        arrivals
    }

    /// When the next operation is intended, in nanoseconds since the load started.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Goes on to the arrival after it.
    #[inline]
    pub fn advance(&mut self) {
        self.work += self.gap();
        self.next_ns = from_s(self.schedule.time_of(self.work));
    }

    fn gap(&mut self) -> f64 {
        match self.kind {
            // Those of a recording are not drawn.
            Kind::Constant | Kind::Recorded => self.threads,
            Kind::Poisson => self.rng.exponential() * self.threads,
        }
    }
}

/// Keeps the random numbers of arrivals apart from those of keys and operations.
const ARRIVALS_STREAM: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::RateStep;

    fn open(rate_per_s: f64, arrivals: Kind) -> Open {
        Open { rate_per_s, schedule: Vec::new(), arrivals, backlog_max: 1, spin_us: None }
    }

    fn phases(ramp_up_s: f64, warm_up_s: f64) -> Phases {
        Phases { ramp_up_s, warm_up_s, ..Phases::default() }
    }

    fn until(mut arrivals: Arrivals, end_s: f64) -> Vec<u64> {
        let mut times = Vec::new();
        while arrivals.next_ns() < from_s(end_s) {
            times.push(arrivals.next_ns());
            arrivals.advance();
        }
        times
    }

    #[test]
    fn constant_arrivals_are_evenly_spaced() {
        let times = until(Arrivals::new(&open(1000.0, Kind::Constant), &phases(0.0, 0.0), 1, Share::WHOLE), 2.0);
        assert_eq!(times.len(), 2000);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 1_000_000));
    }

    #[test]
    fn threads_interleave_into_one_constant_stream() {
        let of = |thread| {
            Arrivals::new(&open(3000.0, Kind::Constant), &phases(0.0, 0.0), 1, Share { number: thread, of: 3 })
        };
        let mut merged: Vec<u64> = (0..3).flat_map(|thread| until(of(thread), 1.0)).collect();
        merged.sort_unstable();
        let alone = until(Arrivals::new(&open(3000.0, Kind::Constant), &phases(0.0, 0.0), 1, Share::WHOLE), 1.0);
        assert_eq!(merged, alone);
    }

    #[test]
    fn poisson_arrivals_have_the_rate_as_their_mean_and_come_again_by_seed() {
        let of = |seed, thread| {
            Arrivals::new(&open(2000.0, Kind::Poisson), &phases(0.0, 0.0), seed, Share { number: thread, of: 2 })
        };
        let counted: usize = (0..2).map(|thread| until(of(7, thread), 20.0).len()).sum();
        let expected = 40_000.0_f64;
        assert!((counted as f64 - expected).abs() < 5.0 * expected.sqrt(), "{counted} arrivals");
        assert_eq!(until(of(7, 0), 1.0), until(of(7, 0), 1.0));
        assert_ne!(until(of(7, 0), 1.0), until(of(8, 0), 1.0));
        assert_ne!(until(of(7, 0), 1.0), until(of(7, 1), 1.0));
    }

    #[test]
    fn poisson_gaps_vary_as_an_exponential_does() {
        let times = until(Arrivals::new(&open(1000.0, Kind::Poisson), &phases(0.0, 0.0), 3, Share::WHOLE), 30.0);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05, "coefficient of variation {}", variance.sqrt() / mean);
    }

    #[test]
    fn the_rate_rises_linearly_in_the_ramp_up() {
        let times = until(Arrivals::new(&open(1000.0, Kind::Constant), &phases(4.0, 0.0), 1, Share::WHOLE), 5.0);
        let before = |second: f64| times.iter().filter(|&&time| time < from_s(second)).count() as i64;
        assert!((before(2.0) - 500).abs() <= 1, "a quarter of the ramp's 2000 in its first half");
        assert!((before(4.0) - 2000).abs() <= 1);
        assert!((before(5.0) - 3000).abs() <= 1);
    }

    #[test]
    fn the_schedule_begins_with_the_measure_phase_and_its_last_step_lasts() {
        let mut model = open(100.0, Kind::Constant);
        model.schedule =
            vec![RateStep { rate_per_s: 1000.0, duration_s: 1.0 }, RateStep { rate_per_s: 200.0, duration_s: 1.0 }];
        let times = until(Arrivals::new(&model, &phases(0.0, 1.0), 1, Share::WHOLE), 5.0);
        let within = |from: f64, to: f64| times.iter().filter(|&&t| t >= from_s(from) && t < from_s(to)).count() as i64;
        for (from, to, expected) in [(0.0, 1.0, 100), (1.0, 2.0, 1000), (2.0, 3.0, 200), (4.0, 5.0, 200)] {
            assert!((within(from, to) - expected).abs() <= 1, "{from} to {to} s: {}", within(from, to));
        }
    }
}
