//! Parts of one plan: the whole plan goes to every agent, and each does what falls to its number.

use super::{Distribution, Plan, Writes};
use serde::Deserialize;

/// One of several parts: of an agent among all of them, or of a thread among those of all agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// From 0 on.
    pub number: usize,
    pub of: usize,
}

impl Share {
    pub const WHOLE: Share = Share { number: 0, of: 1 };

    /// What falls to it of `total`: all parts add up to that, and differ by one at most.
    pub fn part_of(self, total: usize) -> usize {
        total / self.of + usize::from(self.number < total % self.of)
    }

    /// What falls to those before it.
    pub fn before(self, total: usize) -> usize {
        total / self.of * self.number + self.number.min(total % self.of)
    }
}

impl Plan {
    /// Which agent this is.
    pub fn agent(&self) -> Share {
        self.share.unwrap_or(Share::WHOLE)
    }

    /// Which thread of all agents thread number `thread` of this one is: each has as many.
    ///
    /// All that is divided is divided among threads, so that agents together do what one does that has all their threads.
    pub fn share_of_thread(&self, thread: usize) -> Share {
        let agent = self.agent();
        Share { number: agent.number * self.threads + thread, of: agent.of * self.threads }
    }

    /// Whether keys may have versions that other agents wrote, and this one knows nothing of.
    pub fn others_write(&self) -> bool {
        let writes = self.operations.iter().any(|operation| operation.writes != Writes::Nothing);
        self.agent().of > 1 && writes && self.keys.distribution != Distribution::ExactlyOnce
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_add_up_and_differ_by_one_at_most(total in 0usize..1_000_000, of in 1usize..10_000) {
            let parts: Vec<usize> = (0..of).map(|number| Share { number, of }.part_of(total)).collect();
            prop_assert_eq!(parts.iter().sum::<usize>(), total);
            let number = total % of;
            prop_assert_eq!(Share { number, of }.before(total), parts[..number].iter().sum::<usize>());
            prop_assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1);
        }
    }

    fn plan(more: &str) -> Plan {
        let text = format!(
            r#"{{"endpoints": [{{}}], "model": {{"kind": "closed", "users": 9}}, "pool": {{"connections": 9}},
            "operations": [{{"name": "set", "writes": "document",
            "commands": [{{"args": ["SET", "{{key}}", "{{document}}"]}}]}}]{more}}}"#
        );
        Plan::from_json(&text).unwrap()
    }

    #[test]
    fn threads_are_numbered_through_all_agents() {
        let of = |number, thread| {
            plan(&format!(r#", "threads": 3, "share": {{"number": {number}, "of": 4}}"#)).share_of_thread(thread)
        };
        assert_eq!([of(0, 0), of(0, 2), of(3, 1)].map(|share| (share.number, share.of)), [(0, 12), (2, 12), (10, 12)]);
        assert_eq!(plan("").share_of_thread(0), Share::WHOLE);
    }

    #[test]
    fn others_write_the_keys_that_agents_have_in_common() {
        let two = r#", "share": {"number": 0, "of": 2}"#;
        let once = r#", "keys": {"distribution": "exactly_once"}"#;
        let others = [String::new(), two.into(), once.into(), format!("{two}{once}")];
        assert_eq!(others.map(|more| plan(&more).others_write()), [false, true, false, false]);
    }
}
