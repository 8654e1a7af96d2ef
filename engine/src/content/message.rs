//! A message: when it was intended, its number, and letters up to its length.

use super::values::{digits, number};

const TIME_DIGITS: usize = 16;
const NUMBER_DIGITS: usize = 16;
/// The shortest message.
pub const STAMP_BYTES: usize = TIME_DIGITS + NUMBER_DIGITS;

/// When an operation was intended, on the drive's clock, and whether that was in the measure phase. Its thread decides:
/// another one may learn later that the phase is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Intended(u64);

impl Intended {
    #[inline]
    pub fn new(intended_ns: u64, is_measured: bool) -> Self {
        Self(intended_ns << 1 | u64::from(is_measured))
    }

    pub fn ns(self) -> u64 {
        self.0 >> 1
    }

    pub fn is_measured(self) -> bool {
        self.0 & 1 == 1
    }
}

/// What a message says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub intended: Intended,
    /// The operation's number in the drive.
    pub seq: u64,
}

/// Appends a message as long as `letters`, which stand behind its stamp.
pub fn write(stamp: Stamp, letters: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&digits::<TIME_DIGITS>(stamp.intended.0));
    out.extend_from_slice(&digits::<NUMBER_DIGITS>(stamp.seq));
    out.extend_from_slice(letters.get(STAMP_BYTES..).unwrap_or_default());
}

/// The stamp of a message; None of a text that is none of ours.
pub fn read(message: &[u8]) -> Option<Stamp> {
    let (time, rest) = message.split_at_checked(TIME_DIGITS)?;
    let (seq, _) = rest.split_at_checked(NUMBER_DIGITS)?;
    Some(Stamp { intended: Intended(number(time)?), seq: number(seq)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        for (length, is_measured) in [(STAMP_BYTES, false), (100, true)] {
            let intended = Intended::new(4_876_543_210_123_456, is_measured);
            assert_eq!((intended.ns(), intended.is_measured()), (4_876_543_210_123_456, is_measured));
            let stamp = Stamp { intended, seq: 42 };
            let mut message = Vec::new();
            write(stamp, &vec![b'x'; length], &mut message);
            assert_eq!((message.len(), read(&message)), (length, Some(stamp)));
        }
    }

    #[test]
    fn another_text_is_no_message() {
        for text in [&b""[..], b"0000000000000001", &[b'x'; 40], b"000000000000000100000000000000-1"] {
            assert_eq!(read(text), None);
        }
    }
}
