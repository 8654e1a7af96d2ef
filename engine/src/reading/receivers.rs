//! What a plan with receivers must be.

use crate::content::message::STAMP_BYTES;
use crate::plan::{Operation, Plan, PlanError};

/// The placeholder that a receiver reads.
const MESSAGE: &str = "{message}";
/// The most entries that a consumer may take at once.
const COUNT_MAX: u32 = 100_000;

/// Checks what receivers require. The error names the field.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let wrong = |field: &str, message: &str| Err(PlanError::new(field, message));
    let Some(receivers) = &plan.receivers else {
        let has_message = |operation: &Operation| {
            let mut commands = operation.commands.iter().chain(&operation.read_back);
            commands.any(|command| command.args.iter().any(|argument| argument.contains(MESSAGE)))
        };
        return match plan.operations.iter().position(has_message) {
            Some(index) => wrong(&format!("operations[{index}].commands"), "{message} needs `receivers` that read it"),
            None => Ok(()),
        };
    };
    let (connections, channels) = (receivers.connections, plan.keys.count);
    if !(1..=100_000).contains(&connections) {
        return wrong("receivers.connections", &format!("{connections}: must be 1 to 100000"));
    }
    if u64::from(connections) % channels != 0 {
        let message = format!("{connections}: must be a multiple of keys.count ({channels}), so that each has as many");
        return wrong("receivers.connections", &message);
    }
    if !(1..=COUNT_MAX).contains(&receivers.count) {
        return wrong("receivers.count", &format!("{}: must be 1 to {COUNT_MAX}", receivers.count));
    }
    if !plan.protocol.capabilities().receivers {
        let message = format!("{}: has no receivers; write resp2 or resp3", plan.protocol.capabilities().name);
        return wrong("protocol", &message);
    }
    if plan.endpoints.len() > 1 || !plan.endpoints[0].slots.is_empty() {
        return wrong("endpoints", "receivers are of one server; name one, without slots");
    }
    if plan.recording.is_some() {
        return wrong("recording", "receivers read {message}, which no recording has; leave one of them out");
    }
    if plan.documents.payload_bytes < STAMP_BYTES {
        let message = format!("{}: a message has at least {STAMP_BYTES} bytes", plan.documents.payload_bytes);
        return wrong("documents.payload_bytes", &message);
    }
    let name = receivers.kind.command();
    for (index, operation) in plan.operations.iter().enumerate() {
        let sends = match operation.commands.as_slice() {
            [command] => {
                let args = command.args.as_slice();
                args.len() > 2
                    && args[0].eq_ignore_ascii_case(name)
                    && args[1] == "{key}"
                    && args[args.len() - 1] == MESSAGE
            }
            _ => false,
        };
        if !sends || operation.read_back.is_some() {
            let message = format!("with these receivers each is one command: {name} {{key}} ... {MESSAGE}");
            return wrong(&format!("operations[{index}].commands"), &message);
        }
    }
    Ok(())
}
