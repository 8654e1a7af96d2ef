//! Which endpoint an operation must go to, where that follows from its key.

use crate::plan::{Plan, PlanError};
use crate::slots::slot_of;
use crate::template::{Filling, Part};

use super::{Protocol, Request, Shared};

/// Requests that are looked at to find out whether an operation stays in one slot.
const PROBES: u64 = 8;

impl Protocol {
    /// Lanes that operations keep to: one an endpoint where keys decide on it, else one for all.
    pub fn lanes(&self) -> usize {
        self.shared.slots.as_ref().map_or(1, |slots| slots.endpoints())
    }

    /// The lane of an operation. All its commands go there.
    #[inline]
    pub fn lane(&mut self, request: &Request) -> usize {
        let Some(slots) = &self.shared.slots else {
            return 0;
        };
        let filling = request.filling(&self.shared, b"");
        self.scratch.clear();
        self.routes[usize::from(request.operation)].iter().for_each(|part| part.write(&filling, &mut self.scratch));
        slots.endpoint_of(&self.scratch)
    }
}

/// The argument that holds a command's key: the first one with the plan's prefix in it.
pub(super) fn key_argument(arguments: &[Vec<Part>], prefix: &str) -> Option<Vec<Part>> {
    let prefix = prefix.as_bytes();
    let has_prefix = |part: &Part| match part {
        Part::Literal(text) => memchr::memmem::find(text, prefix).is_some(),
        _ => false,
    };
    arguments.iter().skip(1).find(|argument| argument.iter().any(has_prefix)).cloned()
}

/// What decides on the slot of each operation; `keys` are those of its commands. Where a command has none, as
/// PING, the operation goes where its drawn key would be. Nothing if the plan has no slots.
///
/// The error names an operation whose keys are in different slots.
pub(super) fn routes(plan: &Plan, shared: &Shared, keys: Vec<Vec<Vec<Part>>>) -> Result<Vec<Vec<Part>>, PlanError> {
    if shared.slots.is_none() {
        return Ok(vec![]);
    }
    let route = |(index, keys): (usize, Vec<Vec<Part>>)| {
        let probe = |key: &[Part], number: u64| {
            let filling = Filling {
                values: &shared.values,
                key: number * plan.keys.count / PROBES,
                version: number as u32,
                seq: number,
                previous: b"",
                data: None,
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
        let drawn = || vec![Part::Literal(plan.keys.prefix.clone().into_bytes()), Part::Id];
        Ok(keys.into_iter().next().unwrap_or_else(drawn))
    };
    keys.into_iter().enumerate().map(route).collect()
}
