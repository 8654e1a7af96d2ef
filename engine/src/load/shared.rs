//! What the threads of one drive share: the generated texts, and which versions of each key there are.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::content::data::Data;
use crate::content::values::{ID_DIGITS, Values};
use crate::load::slots::Slots;
use crate::plan::{Plan, PlanError, Writes};
use crate::record::outcome::AcknowledgedRecord;

use super::acknowledged::Acknowledged;

/// The state of a key in 64 bits: the newest version that was begun, the writes in flight, whether a document is stored.
const IN_FLIGHT_ONE: u64 = 1 << 32;
const STORED: u64 = 1 << 63;
/// Keys whose versions can be followed: 8 bytes each, 4 GiB in all.
pub(super) const TRACKED_KEYS_MAX: u64 = 1 << 29;

/// A value for each key; None if these are too many, or the memory does not hold them.
pub(super) fn per_key<T>(count: u64, value: impl FnMut() -> T) -> Option<Box<[T]>> {
    let room = usize::try_from(count).ok().filter(|_| count <= TRACKED_KEYS_MAX)?;
    let mut values = Vec::new();
    values.try_reserve_exact(room).ok()?;
    values.resize_with(room, value);
    Some(values.into())
}

/// The versions of every key, and what else all threads of a drive use.
#[derive(Debug)]
pub struct Shared {
    pub(super) values: Values,
    pub(super) data: Option<Data>,
    /// The endpoint of each slot of a cluster.
    pub(super) slots: Option<Slots>,
    /// Keys taken by `exactly_once`.
    pub(super) taken: AtomicU64,
    /// Empty if no operation writes: then each key stays as it was at the start.
    states: Box<[AtomicU64]>,
    at_start: u64,
    /// Kept if the plan requires it.
    pub(super) acknowledged: Option<Acknowledged>,
}

/// A key's versions at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyState(u64);

impl KeyState {
    /// The newest version that was begun; 0 if none. A key has up to 4,294,967,295 versions.
    pub fn version(self) -> u32 {
        self.0 as u32
    }

    /// Writes whose reply did not come yet (or never will).
    pub fn in_flight(self) -> u64 {
        (self.0 & !STORED) >> 32
    }

    /// Whether a document was stored for certain.
    pub fn stored(self) -> bool {
        self.0 & STORED != 0
    }
}

impl Shared {
    /// Reads the data file. Takes 8 bytes a key if the plan writes, as many if it requires what was acknowledged,
    /// 1 MiB, the payload's length, and the length of the data file.
    pub fn new(plan: &Plan) -> Result<Shared, PlanError> {
        let count = plan.keys.count;
        let largest = 10u64.pow(ID_DIGITS as u32);
        if count > largest {
            return Err(PlanError::new("keys.count", format!("{count}: must be at most {largest} (12 digits)")));
        }
        let at_start = if plan.keys.loaded { STORED | 1 } else { 0 };
        let mut states = Box::default();
        if plan.operations.iter().any(|operation| operation.writes != Writes::Nothing) {
            states = per_key(count, || AtomicU64::new(at_start)).ok_or_else(|| {
                let message = format!(
                    "{count}: following the versions of so many keys takes {count} times 8 bytes; use at most \
                     {TRACKED_KEYS_MAX} keys and what the memory holds, or operations that write nothing"
                );
                PlanError::new("keys.count", message)
            })?;
        }
        let values = Values::new(plan.seed, &plan.documents);
        let data = plan.data.as_ref().map(|file| Data::load(file, plan.seed)).transpose()?;
        let slots = Slots::new(&plan.endpoints, plan.protocol)?;
        let acknowledged = Acknowledged::new(plan)?;
        Ok(Shared { values, data, slots, taken: AtomicU64::new(0), states, at_start, acknowledged })
    }

    /// What was acknowledged, once no thread writes any more; None if the plan does not require it.
    pub fn acknowledged(&self) -> Option<AcknowledgedRecord> {
        let taken = self.taken.load(Ordering::Acquire);
        self.acknowledged.as_ref().map(|kept| kept.record(taken, |key| self.state(key).version()))
    }

    /// The key as it is now.
    #[inline]
    pub(super) fn state(&self, key: u64) -> KeyState {
        KeyState(self.states.get(key as usize).map_or(self.at_start, |state| state.load(Ordering::Acquire)))
    }

    /// Begins a write of the next version. Returns the key as it was before.
    #[inline]
    pub(super) fn begin_write(&self, key: u64) -> KeyState {
        KeyState(self.states[key as usize].fetch_add(IN_FLIGHT_ONE + 1, Ordering::AcqRel))
    }

    /// Ends a write that was begun: its reply came. `stores`: a document is there from now on.
    #[inline]
    pub(super) fn end_write(&self, key: u64, stores: bool) {
        let state = &self.states[key as usize];
        let before = KeyState(state.fetch_sub(IN_FLIGHT_ONE, Ordering::AcqRel));
        debug_assert!(before.in_flight() > 0, "a write ended twice");
        if stores && !before.stored() {
            state.fetch_or(STORED, Ordering::AcqRel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(keys: &str, writes: &str) -> Result<Shared, PlanError> {
        let text = format!(
            r#"{{"endpoints": [{{}}], "model": {{"kind": "closed", "users": 1}}, "pool": {{"connections": 1}},
            "operations": [{{"name": "a", "writes": "{writes}", "commands": [{{"args": ["GET"]}}]}}], "keys": {keys}}}"#
        );
        Shared::new(&Plan::from_json(&text).unwrap())
    }

    #[test]
    fn versions_count_up_and_writes_in_flight_are_known() {
        let shared = shared(r#"{"count": 3}"#, "document").unwrap();
        let first = shared.begin_write(2);
        assert_eq!((first.version(), first.in_flight(), first.stored()), (0, 0, false));
        let second = shared.begin_write(2);
        assert_eq!((second.version(), second.in_flight(), second.stored()), (1, 1, false));
        shared.end_write(2, true);
        shared.end_write(2, true);
        let now = shared.state(2);
        assert_eq!((now.version(), now.in_flight(), now.stored()), (2, 0, true));
        assert_eq!(shared.state(1), KeyState(0));
    }

    #[test]
    fn a_loaded_key_has_version_one_whether_it_is_followed_or_not() {
        for writes in ["nothing", "document", "field"] {
            let state = shared(r#"{"count": 3, "loaded": true}"#, writes).unwrap().state(1);
            assert_eq!((state.version(), state.in_flight(), state.stored()), (1, 0, true));
        }
    }

    #[test]
    fn threads_never_share_a_version() {
        let shared = shared(r#"{"count": 1}"#, "field").unwrap();
        let mut versions: Vec<u32> = std::thread::scope(|scope| {
            let write = || (0..10_000).map(|_| shared.begin_write(0).version()).collect::<Vec<_>>();
            let threads = [scope.spawn(write), scope.spawn(write)];
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        versions.sort_unstable();
        assert_eq!(versions, (0..20_000).collect::<Vec<_>>());
    }

    #[test]
    fn too_many_keys_are_refused_with_the_remedy() {
        let digits = shared(r#"{"count": 1000000000001}"#, "nothing").unwrap_err();
        assert_eq!(digits.to_string(), "keys.count: 1000000000001: must be at most 1000000000000 (12 digits)");
        assert!(shared(r#"{"count": 1000000000000}"#, "nothing").is_ok());
        let memory = shared(r#"{"count": 1000000000000}"#, "document").unwrap_err();
        assert!(memory.message.contains("use at most 536870912 keys"), "{memory}");
    }
}
