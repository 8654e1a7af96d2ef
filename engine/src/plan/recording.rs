//! A recording whose commands are sent again: as a plan has it, and what that requires of the rest of the plan.

use super::{Arrivals, Endpoint, Model, Plan, PlanError, Writes};
use crate::share;
use serde::Deserialize;

/// Commands that were recorded, in the file that was prepared for drivers (see `load/recorded.rs`).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    pub path: String,
    /// By how much faster they come than they were recorded.
    #[serde(default = "own_speed")]
    pub speed: f64,
    /// What the commands store, for those who look after the server's memory.
    #[serde(default)]
    pub stored_bytes: u64,
}

fn own_speed() -> f64 {
    1.0
}

impl Plan {
    /// Whether keys decide on the endpoint, by hash slots.
    pub fn has_slots(&self) -> bool {
        self.endpoints.iter().any(|endpoint| !endpoint.slots.is_empty())
    }

    /// Connections of which each client of a recording has so many: one to each node of a cluster.
    pub fn connections_a_sequence(&self) -> usize {
        if self.recording.is_some() && self.has_slots() { self.endpoints.len() } else { 1 }
    }

    /// The clients of a recording that are apart; others share theirs.
    pub fn sequences(&self) -> usize {
        (self.pool.connections as usize / self.connections_a_sequence()).max(1)
    }

    /// Those of one thread.
    pub fn own_sequences(&self, thread: usize, threads: usize) -> usize {
        share(self.sequences(), thread, threads)
    }

    /// The connections of one thread.
    pub fn own_connections(&self, thread: usize, threads: usize) -> usize {
        self.own_sequences(thread, threads) * self.connections_a_sequence()
    }
}

/// Checks what a recording requires. The error names the field.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let is_recorded = matches!(&plan.model, Model::Open(open) if open.arrivals == Arrivals::Recorded);
    let wrong = |field: &str, message: &str| Err(PlanError::new(field, message));
    let Some(recording) = &plan.recording else {
        return if is_recorded { wrong("model.arrivals", "recorded: needs a recording") } else { Ok(()) };
    };
    if plan.model.is_open() && !is_recorded {
        return wrong("model.arrivals", "a recording has arrivals of its own; set them to recorded");
    }
    if !(recording.speed > 0.0 && recording.speed.is_finite()) {
        return wrong("recording.speed", &format!("{}: must be above 0", recording.speed));
    }
    if !plan.protocol.capabilities().recordings {
        let message = format!("{}: sends no recordings; write resp2 or resp3", plan.protocol.capabilities().name);
        return wrong("protocol", &message);
    }
    let is_node = |endpoint: &Endpoint| endpoint.in_service() && endpoint.replica_of.is_none();
    if plan.endpoints.len() > 1 && !(plan.has_slots() && plan.endpoints.iter().all(is_node)) {
        return wrong("endpoints", "a recording goes to one server, or to the nodes of a cluster; name one server");
    }
    for (index, operation) in plan.operations.iter().enumerate() {
        let named = matches!(operation.commands.as_slice(), [command] if command.args.len() == 1);
        if !named || operation.writes != Writes::Nothing || operation.read_back.is_some() {
            let message = "an operation of a recording is the name of one command; its arguments are the recording's";
            return wrong(&format!("operations[{index}].commands"), message);
        }
    }
    Ok(())
}
