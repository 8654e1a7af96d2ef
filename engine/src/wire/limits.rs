//! What every protocol of commands requires of a plan.

use crate::plan::{Endpoint, Expect, Operation, Plan, PlanError};

pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    for (index, endpoint) in plan.endpoints.iter().enumerate() {
        check_endpoint(endpoint, &format!("endpoints[{index}]"))?;
    }
    for (index, operation) in plan.operations.iter().enumerate() {
        check_operation(operation, &format!("operations[{index}]"))?;
    }
    Ok(())
}

fn check_endpoint(endpoint: &Endpoint, place: &str) -> Result<(), PlanError> {
    let base = &endpoint.base_path;
    if !base.is_empty() {
        return Err(PlanError::new(
            format!("{place}.base_path"),
            format!("{base}: needs protocol http1; leave it out"),
        ));
    }
    if !endpoint.secret_headers.is_empty() {
        return Err(PlanError::new(format!("{place}.secret_headers"), "need protocol http1; leave them out"));
    }
    Ok(())
}

fn check_operation(operation: &Operation, place: &str) -> Result<(), PlanError> {
    if !operation.requests.is_empty() {
        return Err(PlanError::new(format!("{place}.requests"), "are HTTP; set `protocol` to `http1`"));
    }
    if operation.commands.is_empty() {
        return Err(PlanError::new(format!("{place}.commands"), "[]: name at least one command"));
    }
    Ok(())
}

/// Whether every reply is of a kind that has a length, and another one is an error.
pub(super) fn are_replies_known(plan: &Plan) -> bool {
    let mut commands =
        plan.operations.iter().flat_map(|operation| operation.commands.iter().chain(&operation.read_back));
    plan.verify.replies
        && plan.verify.count_mismatch
        && commands.all(|command| !matches!(command.expect, Expect::Any | Expect::Item | Expect::Row))
}
