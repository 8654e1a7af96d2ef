//! Which key an operation takes: the distributions over the key space.
//!
//! Every thread draws from its own stream, so `(seed, thread)` fixes the keys of a thread, except for
//! `exactly_once`, where the threads of an agent take its keys from one counter until each was taken once.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::content::rng::Rng;
use crate::plan::{Distribution, Keys, Share};

/// Draws the numbers of keys for one thread.
#[derive(Debug)]
pub struct KeyPicker {
    count: u64,
    pick: Pick,
}

#[derive(Debug)]
enum Pick {
    /// `next`, then `next + stride`, around the key space: the threads together walk it in order.
    Sequential {
        next: u64,
        stride: u64,
    },
    Uniform,
    Zipf(Zipf),
    Gaussian(Gaussian),
    /// Every key whose number leaves this agent's number, divided by that of all agents.
    ExactlyOnce {
        agent: Share,
    },
}

impl KeyPicker {
    /// The picker of a thread, which is `thread` among those of all agents, of `agent`.
    pub fn new(keys: &Keys, thread: Share, agent: Share) -> Self {
        let pick = match keys.distribution {
            Distribution::Sequential => {
                Pick::Sequential { next: thread.number as u64 % keys.count, stride: thread.of as u64 % keys.count }
            }
            Distribution::Uniform => Pick::Uniform,
            Distribution::Zipf => Pick::Zipf(Zipf::new(keys.count, keys.zipf_exponent)),
            Distribution::Gaussian => Pick::Gaussian(Gaussian { sd: keys.gaussian_sd }),
            Distribution::ExactlyOnce => Pick::ExactlyOnce { agent },
        };
        Self { count: keys.count, pick }
    }

    /// The number of the next key, or None when `exactly_once` has used up the agent's keys. `taken` counts those that
    /// its threads took for that.
    #[inline]
    pub fn next(&mut self, rng: &mut Rng, taken: &AtomicU64) -> Option<u64> {
        let count = self.count;
        Some(match &mut self.pick {
            Pick::Uniform => rng.below(count),
            Pick::Sequential { next, stride } => {
                let key = *next;
                *next = (key + *stride) % count;
                key
            }
            Pick::Zipf(zipf) => zipf.draw(rng) - 1,
            Pick::Gaussian(gaussian) => gaussian.draw(rng, count),
            Pick::ExactlyOnce { agent } => {
                let own = agent.part_of(count as usize) as u64;
                // Read first: threads that draw after the end must not run the counter on without bound.
                if taken.load(Ordering::Relaxed) >= own {
                    return None;
                }
                let place = taken.fetch_add(1, Ordering::Relaxed);
                (place < own).then_some(place * agent.of as u64 + agent.number as u64)?
            }
        })
    }

    /// The number of a key by the distribution alone; of keys that are taken in order any.
    pub fn draw(&mut self, rng: &mut Rng) -> u64 {
        match &mut self.pick {
            Pick::Uniform | Pick::Sequential { .. } | Pick::ExactlyOnce { .. } => rng.below(self.count),
            Pick::Zipf(zipf) => zipf.draw(rng) - 1,
            Pick::Gaussian(gaussian) => gaussian.draw(rng, self.count),
        }
    }
}

/// Zipf over 1..=n: P(k) ~ k^-s, by rejection-inversion: W. Hörmann & G. Derflinger, 'Rejection-inversion to
/// generate variates from monotone discrete distributions', ACM TOMACS 6 (1996) 169-184. No table: a draw
/// costs the same for any n. Names follow the paper; H is the integral of h(x) = x^-s.
#[derive(Debug)]
struct Zipf {
    n: f64,
    exponent: f64,
    h_integral_first: f64,
    h_integral_last: f64,
    squeeze: f64,
}

impl Zipf {
    fn new(n: u64, exponent: f64) -> Self {
        let mut zipf = Self { n: n as f64, exponent, h_integral_first: 0.0, h_integral_last: 0.0, squeeze: 0.0 };
        zipf.h_integral_first = zipf.h_integral(1.5) - 1.0;
        zipf.h_integral_last = zipf.h_integral(zipf.n + 0.5);
        zipf.squeeze = 2.0 - zipf.h_integral_inverse(zipf.h_integral(2.5) - zipf.h(2.0));
        zipf
    }

    #[inline(never)]
    fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let u = self.h_integral_last + rng.unit() * (self.h_integral_first - self.h_integral_last);
            let x = self.h_integral_inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.n);
            if k - x <= self.squeeze || u >= self.h_integral(k + 0.5) - self.h(k) {
                return k as u64;
            }
        }
    }

    fn h(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    fn h_integral(&self, x: f64) -> f64 {
        let log = x.ln();
        exp_m1_over((1.0 - self.exponent) * log) * log
    }

    fn h_integral_inverse(&self, x: f64) -> f64 {
        // Rounding may take the argument below -1, where the logarithm has no value.
        let t = (x * (1.0 - self.exponent)).max(-1.0);
        (ln_1p_over(t) * x).exp()
    }
}

/// (e^x - 1) / x, also near 0.
fn exp_m1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x, also near 0.
fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

/// Gaussian around the middle of the key space, cut off at its ends; `sd` is a share of the key space.
#[derive(Debug)]
struct Gaussian {
    sd: f64,
}

impl Gaussian {
    #[inline(never)]
    fn draw(&self, rng: &mut Rng, count: u64) -> u64 {
        loop {
            // A wide bell is flat inside the key space: there, uniform proposals are rejected less often.
            let place = if self.sd < 0.3 {
                0.5 + self.sd * standard_normal(rng)
            } else {
                let place = rng.unit();
                let z = (place - 0.5) / self.sd;
                if rng.unit() > (-0.5 * z * z).exp() {
                    continue;
                }
                place
            };
            if (0.0..1.0).contains(&place) {
                return ((place * count as f64) as u64).min(count - 1);
            }
        }
    }
}

/// A standard normal variate by the polar method (Marsaglia & Bray 1964).
fn standard_normal(rng: &mut Rng) -> f64 {
    loop {
        let (x, y) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(distribution: Distribution, count: u64) -> Keys {
        Keys { distribution, count, ..Keys::default() }
    }

    fn draw(keys: &Keys, thread: usize, threads: usize, n: usize) -> Vec<u64> {
        let picker = KeyPicker::new(keys, Share { number: thread, of: threads }, Share::WHOLE);
        let (mut picker, mut rng) = (picker, Rng::new(11, thread as u64));
        let taken = AtomicU64::new(0);
        (0..n).map_while(|_| picker.next(&mut rng, &taken)).collect()
    }

    /// Pearson's statistic over its degrees of freedom: about 1 when `weights` are the true ones.
    fn chi_square_ratio(drawn: &[u64], weights: &[f64]) -> f64 {
        let mut observed = vec![0.0; weights.len()];
        drawn.iter().for_each(|&key| observed[key as usize] += 1.0);
        let scale = drawn.len() as f64 / weights.iter().sum::<f64>();
        let statistic: f64 = observed.iter().zip(weights).map(|(o, w)| (o - w * scale).powi(2) / (w * scale)).sum();
        statistic / (weights.len() - 1) as f64
    }

    #[test]
    fn sequential_threads_walk_the_key_space_together() {
        let keys = keys(Distribution::Sequential, 10);
        assert_eq!(draw(&keys, 0, 1, 12), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]);
        assert_eq!(draw(&keys, 1, 3, 5), [1, 4, 7, 0, 3]);
        assert_eq!(draw(&keys, 11, 12, 3), [1, 3, 5]);
    }

    #[test]
    fn exactly_once_gives_each_key_to_one_thread_of_one_agent() {
        let keys = keys(Distribution::ExactlyOnce, 1003);
        for agents in [1, 3, 4] {
            let own_keys = |number| {
                let (agent, taken) = (Share { number, of: agents }, AtomicU64::new(0));
                let take = |thread| {
                    let share = Share { number: 2 * number + thread, of: 2 * agents };
                    let (mut picker, mut rng) = (KeyPicker::new(&keys, share, agent), Rng::new(1, 0));
                    std::iter::from_fn(|| picker.next(&mut rng, &taken)).collect::<Vec<_>>()
                };
                std::thread::scope(|scope| {
                    let threads = [0, 1].map(|thread| scope.spawn(move || take(thread)));
                    threads.map(|thread| thread.join().unwrap()).concat()
                })
            };
            let mut all: Vec<u64> = (0..agents).flat_map(own_keys).collect();
            all.sort_unstable();
            assert_eq!(all, (0..1003).collect::<Vec<_>>());
        }
    }

    #[test]
    fn uniform_is_flat() {
        let drawn = draw(&keys(Distribution::Uniform, 100), 0, 1, 100_000);
        let ratio = chi_square_ratio(&drawn, &[1.0; 100]);
        assert!((0.6..1.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn zipf_follows_its_power_law_for_each_exponent() {
        for exponent in [0.3, 0.99, 1.0, 1.01, 2.5] {
            let keys = Keys { zipf_exponent: exponent, ..keys(Distribution::Zipf, 50) };
            let weights: Vec<f64> = (1..=50).map(|k| f64::from(k).powf(-exponent)).collect();
            let ratio = chi_square_ratio(&draw(&keys, 0, 1, 200_000), &weights);
            assert!((0.4..1.8).contains(&ratio), "exponent {exponent}: {ratio}");
        }
    }

    #[test]
    fn gaussian_is_a_bell_cut_at_the_ends() {
        for sd in [0.02, 0.15, 0.29, 0.31, 5.0] {
            let keys = Keys { gaussian_sd: sd, ..keys(Distribution::Gaussian, 40) };
            // The probability of a key is the bell's area over its stretch: 100 slices are near enough.
            let area = |key: usize| -> f64 {
                let bell = |slice: usize| {
                    let z = ((key as f64 + (slice as f64 + 0.5) / 100.0) / 40.0 - 0.5) / sd;
                    (-0.5 * z * z).exp()
                };
                (0..100).map(bell).sum()
            };
            let weights: Vec<f64> = (0..40).map(area).collect();
            // Keys that are never expected say nothing: merge what is rarer than 20 in 200,000 into one.
            let drawn = draw(&keys, 0, 1, 200_000);
            let total: f64 = weights.iter().sum();
            let common: Vec<usize> = (0..40).filter(|&key| weights[key] / total > 1e-4).collect();
            let inside: Vec<u64> = drawn
                .iter()
                .filter_map(|&key| common.iter().position(|&c| c as u64 == key).map(|place| place as u64))
                .collect();
            assert!(drawn.len() - inside.len() < 1000);
            let kept: Vec<f64> = common.iter().map(|&key| weights[key]).collect();
            let ratio = chi_square_ratio(&inside, &kept);
            assert!((0.2..2.2).contains(&ratio), "sd {sd}: {ratio}");
        }
    }

    #[test]
    fn every_distribution_stays_inside_and_repeats() {
        use Distribution::*;
        for distribution in [Sequential, Uniform, Zipf, Gaussian, ExactlyOnce] {
            for count in [1, 2, 1_000_000_000_000] {
                let keys = keys(distribution, count);
                let drawn = draw(&keys, 3, 4, 1000);
                assert!(drawn.iter().all(|&key| key < count), "{distribution:?} {count}");
                assert_eq!(drawn, draw(&keys, 3, 4, 1000));
                if matches!(distribution, Uniform | Zipf | Gaussian) && count > 2 {
                    assert_ne!(drawn, draw(&keys, 2, 4, 1000));
                }
            }
        }
    }
}
