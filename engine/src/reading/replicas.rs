//! Replicas that get what only reads: what a plan with them must be.

use crate::plan::{Plan, PlanError, Writes};

/// Checks what replicas require. The error names the field.
pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
    let all = &plan.endpoints;
    for (index, endpoint) in all.iter().enumerate() {
        let wrong = |field: &str, message: String| Err(PlanError::new(format!("endpoints[{index}].{field}"), message));
        if endpoint.writes_only && !all.iter().any(|other| other.replica_of == Some(index)) {
            return wrong("writes_only", "true: it has no replicas that could be read from; set it to false".into());
        }
        let Some(primary) = endpoint.replica_of else {
            continue;
        };
        if !plan.protocol.capabilities().slots || plan.recording.is_some() {
            let message =
                format!("{primary}: only a Redis whose load is no recording is read from replicas; leave it out");
            return wrong("replica_of", message);
        }
        let is_primary = all.get(primary).is_some_and(|one| one.replica_of.is_none() && one.in_service());
        if !is_primary || !endpoint.slots.is_empty() {
            let message = format!("{primary}: must be the number of a primary, and a replica has no slots of its own");
            return wrong("replica_of", message);
        }
    }
    check_places(plan)?;
    let writes = |index: usize| {
        let operation = &plan.operations[index];
        operation.reads_only && (operation.writes != Writes::Nothing || !operation.requests.is_empty())
    };
    match (0..plan.operations.len()).find(|&index| writes(index)) {
        Some(index) => Err(PlanError::new(
            format!("operations[{index}].reads_only"),
            "true: is for commands of Redis that write nothing; set it to false",
        )),
        None => Ok(()),
    }
}

/// Without slots one primary has all keys; it and its replicas stand before all that get no load.
fn check_places(plan: &Plan) -> Result<(), PlanError> {
    let all = &plan.endpoints;
    if all.iter().all(|one| one.replica_of.is_none()) {
        return Ok(());
    }
    let is_cluster = all.iter().any(|one| !one.slots.is_empty());
    let primaries = all.iter().filter(|one| one.in_service() && one.replica_of.is_none()).count();
    let first_idle = all.iter().position(|one| !one.in_service()).unwrap_or(all.len());
    let is_in_order = all[first_idle..].iter().all(|one| !one.in_service());
    if is_in_order && (is_cluster || (primaries == 1 && all[0].replica_of.is_none())) {
        return Ok(());
    }
    Err(PlanError::new("endpoints", "replicas stand behind their one primary, and before Sentinels; put them there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(endpoints: &str, extra: &str) -> String {
        let text = format!(
            r#"{{"endpoints": {endpoints}, "model": {{"kind": "closed", "users": 1}}, "pool": {{"connections": 1}},
            "operations": [{{"name": "get", "commands": [{{"args": ["GET", "{{key}}"]}}]{extra}}}]}}"#
        );
        Plan::from_json(&text).map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn replicas_stand_behind_their_primary() {
        assert_eq!(error(r#"[{"writes_only": true}, {"replica_of": 0}]"#, r#", "reads_only": true"#), "");
        let cluster = r#"[{"slots": [[0, 16383]]}, {"replica_of": 0}, {}]"#;
        assert_eq!(error(cluster, ""), "");
        let watched = r#"[{}, {"standby": true, "replica_of": 0}, {"sentinel_of": "main"}]"#;
        assert_eq!(error(watched, ""), "");
        for wrong in ["[{}, {}, {\"replica_of\": 0}]", "[{\"replica_of\": 1}, {}]"] {
            assert!(error(wrong, "").starts_with("endpoints: replicas stand behind their one primary"), "{wrong}");
        }
    }

    #[test]
    fn what_is_no_replica_is_named() {
        for wrong in
            ["[{}, {\"replica_of\": 1}]", "[{}, {\"replica_of\": 7}]", "[{}, {\"replica_of\": 0}, {\"replica_of\": 1}]"]
        {
            assert!(error(wrong, "").contains("].replica_of: "), "{wrong}");
        }
        assert!(error(r#"[{"writes_only": true}]"#, "").starts_with("endpoints[0].writes_only: true: it has no"));
        let writes = error("[{}]", r#", "reads_only": true, "writes": "document""#);
        assert!(writes.starts_with("operations[0].reads_only: true: is for commands"), "{writes}");
    }
}
