//! A recording whose commands are sent again: as a plan has it, and what that requires of the rest of the plan.

use super::{Arrivals, Model, Plan, PlanError, Writes};
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

/// Checks what a recording requires. The error names the field.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let is_recorded = matches!(&plan.model, Model::Open(open) if open.arrivals == Arrivals::Recorded);
    let wrong = |field: &str, message: &str| Err(PlanError::new(field, message));
    let Some(recording) = &plan.recording else {
        return if is_recorded { wrong("model.arrivals", "recorded: needs a recording") } else { Ok(()) };
    };
    if matches!(plan.model, Model::Open(_)) && !is_recorded {
        return wrong("model.arrivals", "a recording has arrivals of its own; set them to recorded");
    }
    if !(recording.speed > 0.0 && recording.speed.is_finite()) {
        return wrong("recording.speed", &format!("{}: must be above 0", recording.speed));
    }
    if !plan.protocol.capabilities().recordings {
        let message = format!("{}: sends no recordings; write resp2 or resp3", plan.protocol.capabilities().name);
        return wrong("protocol", &message);
    }
    if plan.endpoints.len() > 1 || !plan.endpoints[0].slots.is_empty() {
        return wrong("endpoints", "a recording goes to one server; name one, without slots");
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
