//! What a plan with a recording must be.

use crate::plan::{Arrivals, Endpoint, Model, Plan, PlanError, Writes};

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
