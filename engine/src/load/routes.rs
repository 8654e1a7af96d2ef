//! Which endpoint an operation must go to, where that follows from its key.

use super::Shared;
use super::slots::slot_of;
use crate::content::template::{Filling, KEYS_OF_ONE_MAX, Part, others_named};
use crate::plan::{Plan, PlanError};

/// Requests that are compared to find out whether an operation stays in one slot.
const PROBES: u64 = 8;

/// What decides on the slot of each operation; `keys` are those of its requests. Where a request has none, as PING,
/// the operation goes where its drawn key would be. Nothing if the plan has no slots.
///
/// The error names an operation whose keys are in different slots.
pub(super) fn routes(plan: &Plan, shared: &Shared, keys: Vec<Vec<Vec<Part>>>) -> Result<Vec<Vec<Part>>, PlanError> {
    if shared.slots.is_none() {
        return Ok(vec![]);
    }
    let others: Vec<u64> = (1..KEYS_OF_ONE_MAX as u64).map(|step| step % plan.keys.count).collect();
    let route = |(index, mut keys): (usize, Vec<Vec<Part>>)| {
        let drawn = || vec![Part::Literal(plan.keys.prefix.clone().into_bytes()), Part::Id];
        if keys.first().is_some_and(|first| others_named(first) > 0) {
            keys.insert(0, drawn());
        }
        let probe = |key: &[Part], number: u64| {
            let filling = Filling {
                values: &shared.values,
                key: number * plan.keys.count / PROBES,
                version: number as u32,
                seq: number,
                intended: Default::default(),
                previous: b"",
                others: &others,
                data: shared.data.as_ref(),
            };
            let mut text = Vec::new();
            key.iter().for_each(|part| part.write(&filling, &mut text));
            slot_of(&text)
        };
        let differ =
            (0..PROBES).any(|number| keys.windows(2).any(|two| probe(&two[0], number) != probe(&two[1], number)));
        if differ {
            let message = "its keys are in different slots of the cluster, and an operation keeps to one connection; \
                           use one key, or a hash tag, as in {{{key}}}:other";
            return Err(PlanError::new(format!("operations[{index}].commands"), message));
        }
        Ok(keys.into_iter().next().unwrap_or_else(drawn))
    };
    keys.into_iter().enumerate().map(route).collect()
}
