//! Random numbers: xoshiro256++ (Blackman & Vigna 2021, <https://prng.di.unimi.it>) from `rand_xoshiro`.
//!
//! The generator and every way to draw from it are fixed, so one seed gives the same keys and documents on
//! every machine and in every version. It is for load, not for secrets.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// A stream of random numbers. Streams of different `(seed, stream)` are independent for our purpose.
#[derive(Debug, Clone)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream number `stream` (a thread, a purpose) of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(seed).wrapping_add(mix(!stream))))
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A whole number from 0 to `bound` - 1; `bound` must not be 0. The bias is below `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 (included) to 1 (excluded), of 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// An exponential variate with the mean 1: the gap between Poisson arrivals.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// Scatters the bits of `x`: the output step of SplitMix64 (Steele, Lea & Flood 2014). A bijection.
#[inline]
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_stream_give_the_same_numbers() {
        let draw = |seed, stream| {
            let mut rng = Rng::new(seed, stream);
            std::array::from_fn::<u64, 8, _>(|_| rng.next_u64())
        };
        assert_eq!(draw(7, 3), draw(7, 3));
        assert_ne!(draw(7, 3), draw(7, 4));
        assert_ne!(draw(7, 3), draw(8, 3));
        assert_ne!(draw(3, 7), draw(7, 3));
    }

    #[test]
    fn the_numbers_never_change_between_versions() {
        // The first is the published first output of SplitMix64; the second holds our own streams in place.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(Rng::new(1, 0).next_u64(), 0xc04c_e039_2daf_c386);
    }

    #[test]
    fn below_reaches_each_value_about_equally_often() {
        let mut rng = Rng::new(1, 0);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_500..10_500).contains(&n)), "{counts:?}");
    }

    #[test]
    fn unit_and_exponential_have_their_means() {
        let mut rng = Rng::new(2, 0);
        let n = 100_000;
        let units: Vec<f64> = (0..n).map(|_| rng.unit()).collect();
        assert!(units.iter().all(|u| (0.0..1.0).contains(u)));
        assert!((units.iter().sum::<f64>() / f64::from(n) - 0.5).abs() < 0.01);
        let mean = (0..n).map(|_| rng.exponential()).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
