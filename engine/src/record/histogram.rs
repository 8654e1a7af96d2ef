//! Histograms of latencies in nanoseconds: 1 ns to 1 hour, 3 significant digits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

/// Longest latency that a histogram holds for certain: an hour. What does not fit is counted as overflowed.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// An empty histogram. All have the same bounds.
pub fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are valid")
}

/// Adds one histogram of ours to another.
pub fn add(sum: &mut Histogram<u64>, other: &Histogram<u64>) {
    sum.add(other).expect("all histograms have the same bounds");
}

/// HdrHistogram's V2 encoding, compressed, in base64.
#[derive(Default)]
pub struct Encoder {
    serializer: V2DeflateSerializer,
    bytes: Vec<u8>,
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
}
