//! How much a thread did at once: how often it woke up, received and sent, for how many requests and replies.

use crate::record::outcome::CommandRecord;
use serde::Serialize;

/// Counts of one thread over some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// Waits for events that ended: with events, or because something was due.
    pub wakeups: u64,
    /// Receives that brought bytes, and the replies in these.
    pub receives: u64,
    pub replies: u64,
    /// Sends that took bytes, and the requests in these.
    pub sends: u64,
    pub requests: u64,
    /// Time that was spent polling again and again instead of asleep.
    pub spun_ns: u64,
}

/// What left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    pub bytes: u64,
    /// Of so many connections, or calls.
    pub sends: u64,
}

impl Sent {
    /// What left of one connection.
    #[inline]
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.sends += u64::from(bytes > 0);
    }
}

impl Calls {
    /// Adds others.
    pub fn add(&mut self, other: &Calls) {
        self.wakeups += other.wakeups;
        self.receives += other.receives;
        self.replies += other.replies;
        self.sends += other.sends;
        self.requests += other.requests;
        self.spun_ns += other.spun_ns;
    }

    /// The same with what `commands` count of requests and replies.
    pub fn of(self, commands: &[CommandRecord]) -> Self {
        let requests = commands.iter().map(|command| command.sent).sum();
        let replies = commands.iter().map(|command| command.replied).sum();
        Self { replies, requests, ..self }
    }

    /// What was added since `before`.
    pub fn since(self, before: Calls) -> Self {
        Self {
            wakeups: self.wakeups - before.wakeups,
            receives: self.receives - before.receives,
            replies: self.replies - before.replies,
            sends: self.sends - before.sends,
            requests: self.requests - before.requests,
            spun_ns: self.spun_ns - before.spun_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_add_up_and_are_kept_apart_from_those_before() {
        let commands =
            [CommandRecord { sent: 5, replied: 4, missed: 1 }, CommandRecord { sent: 2, replied: 2, missed: 0 }];
        let before = Calls { wakeups: 1, receives: 1, sends: 1, ..Calls::default() }.of(&commands);
        assert_eq!((before.requests, before.replies), (7, 6));
        let mut sum = before;
        sum.add(&before);
        assert_eq!(sum.since(before), before);
    }
}
