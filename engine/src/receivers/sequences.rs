//! Which numbers of messages came before: a message that comes twice is found among the last ones of its sender.

/// So many of the last numbers of each sender are remembered.
const REMEMBERED: u64 = 8192;
const WORD_BITS: u64 = u64::BITS as u64;

/// The last numbers of one sender.
#[derive(Debug, Clone)]
struct Recent {
    /// One beyond the highest so far.
    next: u64,
    came: Box<[u64; (REMEMBERED / WORD_BITS) as usize]>,
}

impl Recent {
    fn word_and_bit(number: u64) -> (usize, u64) {
        ((number % REMEMBERED / WORD_BITS) as usize, 1 << (number % WORD_BITS))
    }

    /// Notes a number; whether it came before. One that is no longer remembered is taken for new.
    fn repeats(&mut self, number: u64) -> bool {
        if number >= self.next {
            if number - self.next >= REMEMBERED {
                self.came.fill(0);
            } else {
                for skipped in self.next..=number {
                    let (word, bit) = Self::word_and_bit(skipped);
                    self.came[word] &= !bit;
                }
            }
            self.next = number + 1;
        } else if self.next - number > REMEMBERED {
            return false;
        }
        let (word, bit) = Self::word_and_bit(number);
        let came = self.came[word] & bit != 0;
        self.came[word] |= bit;
        came
    }
}

/// The numbers of the messages of a plan: those of thread `t` of `n` are `t`, `t + n`, `t + 2n`...
#[derive(Debug, Clone)]
pub struct Sequences(Vec<Recent>);

impl Sequences {
    /// Of messages that so many threads send.
    pub fn new(threads: usize) -> Self {
        let none = Recent { next: 0, came: Box::new([0; (REMEMBERED / WORD_BITS) as usize]) };
        Self(vec![none; threads])
    }

    /// Notes a message's number; whether it came before.
    pub fn repeats(&mut self, seq: u64) -> bool {
        let senders = self.0.len() as u64;
        self.0[(seq % senders) as usize].repeats(seq / senders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_comes_twice_is_found_in_whatever_order_they_come() {
        let mut sequences = Sequences::new(2);
        for seq in [0, 3, 1, 9, 2, 40_000, 39_998, 7] {
            assert!(!sequences.repeats(seq), "{seq}");
        }
        for seq in [9, 40_000, 39_998, 7, 1] {
            assert!(sequences.repeats(seq), "{seq}");
        }
        assert!(!sequences.repeats(0), "it was forgotten");
    }

    #[test]
    fn a_place_that_is_used_again_is_new() {
        let mut sequences = Sequences::new(1);
        for seq in 0..3 * REMEMBERED {
            assert!(!sequences.repeats(seq), "{seq}");
        }
        assert!(sequences.repeats(2 * REMEMBERED));
    }
}
