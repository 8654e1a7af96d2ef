//! Which writes were acknowledged, key by key: what a look-up after the drive is compared with.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::plan::{Distribution, Plan, PlanError};
use crate::record::outcome::AcknowledgedRecord;

use super::shared::{TRACKED_KEYS_MAX, per_key};

/// The version of a key that is written once, by an operation whose versions are not followed.
const ONLY_VERSION: u32 = 1;

/// Two versions a key, 0 for none. All of it is allocated before the load begins.
#[derive(Debug)]
pub(super) struct Acknowledged {
    /// The highest version that was acknowledged.
    newest: Box<[AtomicU32]>,
    /// The highest acknowledged version that was written while no other write of the key was in flight: every
    /// earlier one had ended before, so that no earlier one can stand in its place.
    certain: Box<[AtomicU32]>,
    exactly_once: bool,
}

impl Acknowledged {
    /// None if the plan does not require it.
    pub fn new(plan: &Plan) -> Result<Option<Self>, PlanError> {
        if !plan.acknowledged {
            return Ok(None);
        }
        let count = plan.keys.count;
        let exactly_once = plan.keys.distribution == Distribution::ExactlyOnce;
        let zeros = || per_key(count, AtomicU32::default);
        let (newest, certain) = zeros().zip(zeros()).ok_or_else(|| {
            let message = format!(
                "{count}: keeping what was acknowledged of so many keys takes {count} times 8 bytes; use at most \
                 {TRACKED_KEYS_MAX} keys and what the memory holds, or set `acknowledged` to false"
            );
            PlanError::new("keys.count", message)
        })?;
        Ok(Some(Self { newest, certain, exactly_once }))
    }

    /// A write was acknowledged. `alone`: no other write of the key was in flight when it began.
    #[inline]
    pub fn note(&self, key: u64, version: u32, alone: bool) {
        let key = key as usize;
        let version = if self.exactly_once { ONLY_VERSION } else { version };
        self.newest[key].fetch_max(version, Ordering::Relaxed);
        if alone || self.exactly_once {
            self.certain[key].fetch_max(version, Ordering::Relaxed);
        }
    }

    /// What was acknowledged so far. `begun` is the newest version of a key that was begun, whose keys were `taken`
    /// in order if each is written once.
    pub fn record(&self, taken: u64, begun: impl Fn(u64) -> u32) -> AcknowledgedRecord {
        let begun = |key: usize| match self.exactly_once {
            true => u32::from((key as u64) < taken) * ONLY_VERSION,
            false => begun(key as u64),
        };
        let read = |versions: &[AtomicU32]| runs(versions.iter().map(|version| version.load(Ordering::Relaxed)));
        AcknowledgedRecord {
            begun: runs((0..self.newest.len()).map(begun)),
            newest: read(&self.newest),
            certain: read(&self.certain),
        }
    }
}

/// Equal neighbours put together: their number, then what each of them is.
fn runs(versions: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut runs: Vec<u32> = Vec::new();
    for version in versions {
        match runs.last_chunk_mut::<2>() {
            Some([number, last]) if *last == version => *number += 1,
            _ => runs.extend([1, version]),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledged(keys: &str) -> Result<Option<Acknowledged>, PlanError> {
        let text = format!(
            r#"{{"endpoints": [{{}}], "model": {{"kind": "closed", "users": 1}}, "pool": {{"connections": 1}},
            "operations": [{{"name": "a", "writes": "document", "commands": [{{"args": ["SET"]}}]}}],
            "acknowledged": true, "keys": {keys}}}"#
        );
        Acknowledged::new(&Plan::from_json(&text).unwrap())
    }

    #[test]
    fn the_highest_version_is_kept_whatever_the_order_of_the_replies() {
        let kept = acknowledged(r#"{"count": 4}"#).unwrap().unwrap();
        kept.note(1, 3, true);
        kept.note(1, 5, false);
        kept.note(1, 4, true);
        kept.note(2, 1, false);
        let record = kept.record(0, |key| [0, 6, 1, 1][key as usize]);
        assert_eq!(record.newest, [1, 0, 1, 5, 1, 1, 1, 0]);
        assert_eq!(record.certain, [1, 0, 1, 4, 2, 0]);
        assert_eq!(record.begun, [1, 0, 1, 6, 2, 1]);
    }

    #[test]
    fn a_key_that_is_written_once_has_one_version_and_is_certain() {
        let kept = acknowledged(r#"{"count": 6, "distribution": "exactly_once"}"#).unwrap().unwrap();
        for key in [0, 1, 3] {
            kept.note(key, 0, false);
        }
        let record = kept.record(4, |_| 0);
        assert_eq!(record.newest, [2, 1, 1, 0, 1, 1, 2, 0]);
        assert_eq!(record.certain, record.newest);
        assert_eq!(record.begun, [4, 1, 2, 0]);
    }

    #[test]
    fn threads_note_the_same_key() {
        let kept = acknowledged(r#"{"count": 1}"#).unwrap().unwrap();
        std::thread::scope(|scope| {
            for first in [1, 2] {
                let kept = &kept;
                scope.spawn(move || (first..20_000).step_by(2).for_each(|version| kept.note(0, version, false)));
            }
        });
        assert_eq!(kept.record(0, |_| 0).newest, [1, 19_999]);
    }

    #[test]
    fn too_many_keys_are_refused_with_the_remedy() {
        let error = acknowledged(r#"{"count": 1000000000000, "distribution": "exactly_once"}"#).unwrap_err();
        assert_eq!(error.field, "keys.count");
        assert!(error.message.contains("use at most 536870912 keys"), "{error}");
    }
}
