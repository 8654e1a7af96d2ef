//! What the meta protocol requires of a plan, beside what every protocol of commands does.

use super::command::STORE;
use crate::plan::{Command, Expect, Plan, PlanError};
use crate::wire::limits;

const NUMBER: &str = "needs `ma` with the flag v, which returns a counter's value";
const TEXT: &str = "needs `mg` with the flag v, which returns the value";

pub(in crate::wire) fn check(plan: &Plan) -> Result<(), PlanError> {
    limits::check(plan)?;
    for (index, endpoint) in plan.endpoints.iter().enumerate() {
        if endpoint.database != 0 {
            let message = format!("{}: memcached has no databases; leave it out", endpoint.database);
            return Err(PlanError::new(format!("endpoints[{index}].database"), message));
        }
    }
    for (index, operation) in plan.operations.iter().enumerate() {
        let place = format!("operations[{index}]");
        for (step, command) in operation.commands.iter().enumerate() {
            check_expect(command, &format!("{place}.commands[{step}]"))?;
        }
        if let Some(command) = &operation.read_back {
            check_expect(command, &format!("{place}.read_back"))?;
        }
    }
    Ok(())
}

/// Whether a reply to the command can be what is expected of it.
fn check_expect(command: &Command, place: &str) -> Result<(), PlanError> {
    let name = command.args.first().map_or("", String::as_str);
    let returns_value = command.args.iter().skip(if name.as_bytes() == STORE { 3 } else { 2 }).any(|flag| flag == "v");
    let (is_possible, remedy) = match command.expect {
        Expect::Any | Expect::Ok => (true, ""),
        Expect::Integer | Expect::Positive => (name == "ma" && returns_value, NUMBER),
        Expect::Document | Expect::Field | Expect::Value | Expect::Item => (name == "mg" && returns_value, TEXT),
        Expect::Row => (false, "memcached takes no data file; expect value or document"),
        Expect::Hash | Expect::FieldArray => (false, "memcached holds plain values alone; expect value or document"),
    };
    if is_possible {
        return Ok(());
    }
    let message = format!("{}: {remedy}", command.args.join(" "));
    Err(PlanError::new(format!("{place}.expect"), message))
}
