//! One way of the line: when what is sent on it arrives.

use super::options::{Distribution, WayOptions};
use crate::content::rng::Rng;

/// A packet on an Ethernet carries so much.
const PACKET_BYTES: usize = 1460;
/// Where the bandwidth is limited, what is sent in one go arrives in pieces that take so long, or in packets.
const PIECE_NS: f64 = 20_000.0;

#[derive(Debug)]
pub(super) struct Way {
    delay_ns: f64,
    jitter_ns: f64,
    distribution: Distribution,
    rng: Rng,
    /// 0 without a limit.
    ns_per_byte: f64,
    /// When all that is on the way has passed the narrow place.
    free_at_ns: f64,
    pub piece_bytes: usize,
}

impl Way {
    /// `stream` tells the random numbers of one way from those of the other.
    pub fn new(options: &WayOptions, seed: u64, stream: u64) -> Self {
        let ns_per_byte = if options.bits_per_s > 0.0 { 8e9 / options.bits_per_s } else { 0.0 };
        let piece_bytes =
            if ns_per_byte > 0.0 { PACKET_BYTES.max((PIECE_NS / ns_per_byte) as usize) } else { usize::MAX };
        Self {
            delay_ns: options.delay_us * 1e3,
            jitter_ns: options.jitter_us * 1e3,
            distribution: options.distribution,
            rng: Rng::new(seed, stream),
            ns_per_byte,
            free_at_ns: 0.0,
            piece_bytes,
        }
    }

    /// The delay on average, in nanoseconds.
    pub fn mean_ns(&self) -> u64 {
        let later_ns = if self.distribution == Distribution::Exponential { self.jitter_ns } else { 0.0 };
        (self.delay_ns + later_ns) as u64
    }

    /// The least delay, in nanoseconds.
    pub fn least_ns(&self) -> u64 {
        match self.distribution {
            Distribution::Exponential => self.delay_ns as u64,
            Distribution::Uniform => (self.delay_ns - self.jitter_ns).max(0.0) as u64,
            Distribution::Normal => {
                if self.jitter_ns == 0.0 {
                    self.delay_ns as u64
                } else {
                    0
                }
            }
        }
    }

    /// When so many bytes arrive that were sent at `sent_ns`.
    #[inline]
    pub fn due_ns(&mut self, sent_ns: u64, bytes: usize) -> u64 {
        if self.ns_per_byte == 0.0 {
            return sent_ns + self.draw_ns();
        }
        self.free_at_ns = self.free_at_ns.max(sent_ns as f64) + bytes as f64 * self.ns_per_byte;
        self.free_at_ns as u64 + self.draw_ns()
    }

    #[inline]
    fn draw_ns(&mut self) -> u64 {
        if self.jitter_ns == 0.0 {
            return self.delay_ns as u64;
        }
        let varied_ns = match self.distribution {
            Distribution::Uniform => self.jitter_ns * (2.0 * self.rng.unit() - 1.0),
            Distribution::Normal => (self.jitter_ns * self.normal()).clamp(-self.delay_ns, self.delay_ns),
            Distribution::Exponential => self.jitter_ns * self.rng.exponential(),
        };
        (self.delay_ns + varied_ns).max(0.0) as u64
    }

    /// A standard normal variate (Box & Muller 1958).
    fn normal(&mut self) -> f64 {
        (2.0 * self.rng.exponential()).sqrt() * (std::f64::consts::TAU * self.rng.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(jitter_us: f64, distribution: Distribution, bits_per_s: f64) -> Way {
        Way::new(&WayOptions { delay_us: 500.0, jitter_us, distribution, bits_per_s }, 1, 0)
    }

    /// Mean and standard deviation of many delays in microseconds, and the least and the most.
    fn moments(mut way: Way) -> (f64, f64, f64, f64) {
        let drawn: Vec<f64> = (0..100_000).map(|_| way.due_ns(1_000_000, 1) as f64 / 1e3 - 1e3).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        (
            mean,
            variance.sqrt(),
            drawn.iter().copied().fold(f64::MAX, f64::min),
            drawn.iter().copied().fold(0.0, f64::max),
        )
    }

    #[test]
    fn a_constant_delay_is_constant() {
        assert_eq!(moments(way(0.0, Distribution::Normal, 0.0)), (500.0, 0.0, 500.0, 500.0));
        assert_eq!(way(0.0, Distribution::Normal, 0.0).least_ns(), 500_000);
    }

    #[test]
    fn each_distribution_has_its_mean_and_spread() {
        let near = |found: f64, true_value: f64| (found - true_value).abs() < 0.02 * true_value;
        let (mean, deviation, least, most) = moments(way(100.0, Distribution::Uniform, 0.0));
        assert!(near(mean, 500.0) && near(deviation, 100.0 / 3f64.sqrt()) && least >= 399.0 && most <= 601.0);
        assert_eq!(way(100.0, Distribution::Uniform, 0.0).least_ns(), 400_000);
        assert_eq!(way(100.0, Distribution::Exponential, 0.0).least_ns(), 500_000);
        assert_eq!(way(100.0, Distribution::Normal, 0.0).least_ns(), 0);
        let (mean, deviation, ..) = moments(way(100.0, Distribution::Normal, 0.0));
        assert!(near(mean, 500.0) && near(deviation, 100.0), "{mean} {deviation}");
        let (mean, deviation, least, _) = moments(way(100.0, Distribution::Exponential, 0.0));
        assert!(near(mean, 600.0) && near(deviation, 100.0) && least >= 499.0, "{mean} {deviation}");
        let (mean, _, _, most) = moments(way(500.0, Distribution::Normal, 0.0));
        assert!(near(mean, 500.0) && most <= 1000.0, "what is cut off below is cut off above: {mean} {most}");
    }

    #[test]
    fn what_is_sent_at_once_passes_a_narrow_place_one_after_the_other() {
        let mut way = way(0.0, Distribution::Normal, 8e6); // a byte a microsecond
        assert_eq!(way.due_ns(0, 1000), 1_500_000);
        assert_eq!(way.due_ns(0, 500), 2_000_000);
        assert_eq!(way.due_ns(10_000_000, 1), 10_501_000, "an idle line has nothing saved up");
        assert_eq!(way.piece_bytes, PACKET_BYTES);
    }
}
