//! Histograms of latencies in nanoseconds: 1 ns to 1 hour, 3 significant digits.
//!
//! A thread counts into [`Buckets`], which are those of HdrHistogram for our bounds. At the end of an interval what was
//! [`Recorded`] is taken out of them; it becomes a [`Histogram`] where it is encoded and read, which is later.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

/// Longest latency that a histogram holds for certain: an hour. What does not fit is counted as overflowed.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// Values below twice this many have a bucket each; from there on, so many buckets share each power of two.
const HALF: usize = 1 << HALF_BITS;
const HALF_BITS: u32 = 10;

/// An empty histogram. All have the same bounds.
pub fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are valid")
}

/// Adds one histogram of ours to another.
pub fn add(sum: &mut Histogram<u64>, other: &Histogram<u64>) {
    sum.add(other).expect("all histograms have the same bounds");
}

/// How often each latency was recorded, to be counted in few instructions.
#[derive(Debug, Clone)]
pub struct Buckets(Box<[u64]>);

impl Default for Buckets {
    fn default() -> Self {
        Self(vec![0; NUMBER].into())
    }
}

/// How many buckets there are.
const NUMBER: usize = index(LONGEST_NS) / HALF * HALF + HALF;

/// So many buckets are looked at together, of which most are empty.
const LOOKED_AT: usize = 16;

/// The bucket of a latency.
#[inline]
const fn index(latency_ns: u64) -> usize {
    let power = (latency_ns | (2 * HALF as u64 - 1)).ilog2() - HALF_BITS;
    ((power as usize) << HALF_BITS) + (latency_ns >> power) as usize
}

/// The shortest latency of a bucket.
fn shortest(index: usize) -> u64 {
    let power = (index >> HALF_BITS).saturating_sub(1);
    ((index - (power << HALF_BITS)) as u64) << power
}

/// Buckets, each with its number of latencies, as a histogram.
fn histogram_of(filled: impl Iterator<Item = (usize, u64)>) -> Histogram<u64> {
    let mut histogram = empty();
    for (index, count) in filled {
        histogram.record_n(shortest(index), count).expect("a histogram has all buckets");
    }
    histogram
}

impl Buckets {
    /// Memory that they take.
    pub const BYTES: usize = NUMBER * size_of::<u64>();

    /// Counts a latency. False if it does not fit.
    #[inline]
    #[must_use]
    pub fn record(&mut self, latency_ns: u64) -> bool {
        self.record_n(latency_ns, 1)
    }

    /// Counts a latency `times` times. False if it does not fit.
    #[inline]
    #[must_use]
    pub fn record_n(&mut self, latency_ns: u64, times: u64) -> bool {
        match self.0.get_mut(index(latency_ns)) {
            Some(count) => {
                *count += times;
                true
            }
            None => false,
        }
    }

    /// Adds those of another thread.
    pub fn add(&mut self, other: &Buckets) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum += count);
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Takes out what was recorded; none is left.
    pub fn take(&mut self) -> Recorded {
        let mut recorded = Vec::new();
        for (first, some) in (0..).step_by(LOOKED_AT).zip(self.0.chunks_exact_mut(LOOKED_AT)) {
            if some.iter().fold(0, |any, count| any | count) != 0 {
                let filled = (first..).zip(some).filter(|(_, count)| **count > 0);
                recorded.extend(filled.map(|(index, count)| (index, std::mem::take(count))));
            }
        }
        Recorded(recorded)
    }

    /// Adds what was recorded in an interval.
    pub fn add_recorded(&mut self, recorded: &Recorded) {
        recorded.0.iter().for_each(|&(index, count)| self.0[index as usize] += count);
    }

    /// How many latencies were counted.
    pub fn len(&self) -> u64 {
        self.0.iter().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same counts as a histogram.
    pub fn histogram(&self) -> Histogram<u64> {
        histogram_of(self.0.iter().copied().enumerate().filter(|(_, count)| *count > 0))
    }
}

/// The buckets in which an interval has latencies, each with their number.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded(Vec<(u32, u64)>);

impl Recorded {
    /// The same counts as a histogram.
    pub fn histogram(&self) -> Histogram<u64> {
        histogram_of(self.0.iter().map(|&(index, count)| (index as usize, count)))
    }
}

/// The latencies of an operation in an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies {
    pub response: Recorded,
    pub service: Recorded,
    pub least: Option<Recorded>,
}

/// HdrHistogram's V2 encoding, compressed, in base64.
#[derive(Default)]
pub struct Encoder {
    serializer: V2DeflateSerializer,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Encoder")
    }
}

impl Encoder {
    pub fn encode(&mut self, histogram: &Histogram<u64>) -> String {
        self.bytes.clear();
        let encoded = self.serializer.serialize(histogram, &mut self.bytes);
        encoded.expect("a histogram of our bounds can be encoded in memory");
        BASE64.encode(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::rng::Rng;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn what_is_encoded_can_be_decoded() {
        let mut histogram = empty();
        for value in [1, 1_000, 70_000, 3_000_000_000] {
            histogram.record(value).unwrap();
        }
        let text = Encoder::default().encode(&histogram);
        let bytes = BASE64.decode(text).unwrap();
        let decoded: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(decoded, histogram);
    }

    #[test]
    fn three_digits_hold_over_the_whole_range() {
        let mut histogram = empty();
        for value in [999, 123_456, LONGEST_NS] {
            histogram.record(value).unwrap();
            assert!(histogram.max().abs_diff(value) as f64 <= value as f64 / 1000.0, "{value}");
        }
        assert!(histogram.record(2 * LONGEST_NS).is_err());
    }

    #[test]
    fn buckets_are_those_of_hdr_histogram() {
        assert_eq!(Buckets::default().0.len(), empty().distinct_values());
        let mut rng = Rng::new(3, 0);
        let borders = (0..63).flat_map(|power| [(1u64 << power) - 1, 1 << power, (1 << power) + 1]);
        let drawn: Vec<u64> = (0..200).map(|_| rng.next_u64() >> (rng.below(60) + 4)).collect();
        for latency_ns in borders.chain(drawn).chain([LONGEST_NS, LONGEST_NS + 1, u64::MAX]) {
            let (mut buckets, mut histogram) = (Buckets::default(), empty());
            let fits = histogram.record_n(latency_ns, 3).is_ok();
            assert_eq!(buckets.record_n(latency_ns, 3), fits, "{latency_ns}");
            assert_eq!(buckets.histogram(), histogram, "{latency_ns}");
        }
    }

    #[test]
    fn buckets_of_many_latencies_read_as_a_histogram_of_them_does() {
        let mut rng = Rng::new(4, 0);
        for zeros in [0, 5] {
            let (mut one, mut other, mut histogram) = (Buckets::default(), Buckets::default(), empty());
            let drawn = (0..5_000).map(|_| 1 + (rng.next_u64() >> (rng.below(30) + 24)));
            for (place, latency_ns) in drawn.chain((0..zeros).map(|_| 0)).enumerate() {
                assert!(if place % 2 == 0 { &mut one } else { &mut other }.record(latency_ns));
                histogram.record(latency_ns).unwrap();
            }
            one.add(&other);
            let read = one.histogram();
            assert_eq!((one.len(), &read), (histogram.len(), &histogram));
            let figures =
                |of: &Histogram<u64>| (of.min(), of.max(), of.mean(), of.stdev(), of.value_at_quantile(0.999));
            assert_eq!(figures(&read), figures(&histogram));
            assert_eq!(Encoder::default().encode(&read), Encoder::default().encode(&histogram));
            let (before, taken) = (one.clone(), one.take());
            assert!(one.is_empty());
            assert_eq!(taken.histogram(), read);
            one.add_recorded(&taken);
            assert_eq!(one.0, before.0);
            one.clear();
            assert!(one.is_empty() && !other.is_empty());
            assert_eq!(one.take(), Recorded::default());
        }
    }
}
