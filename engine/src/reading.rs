//! Reading a plan: the limits of its values, which mirror the `Field(...)` limits in `experiment/plan/drive_plan.py`,
//! and what its protocol and its endpoints require of it.

mod receivers;
mod recording;
mod replicas;
mod share;

use crate::load::slots::Slots;
use crate::plan::{Closed, Distribution, Model, Open, Plan, PlanError, Writes};
use crate::wire;

impl Plan {
    /// Reads a plan from JSON. The error names the field that is wrong.
    pub fn from_json(text: &str) -> Result<Plan, PlanError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let plan: Plan = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            let field = if path == "." { "plan".to_string() } else { path };
            PlanError::new(field, error.inner().to_string())
        })?;
        deserializer.end().map_err(|error| PlanError::new("plan", error.to_string()))?;
        check(&plan)?;
        Ok(plan)
    }
}

/// Checks every limit; the first that does not hold is the error.
fn check(plan: &Plan) -> Result<(), PlanError> {
    require(plan.format == 1, "format", plan.format, "this engine reads format 1")?;
    require(plan.seed < 1 << 63, "seed", plan.seed, "must be below 2^63")?;
    require(!plan.endpoints.is_empty(), "endpoints", "[]", "name at least one server")?;
    require((1..=256).contains(&plan.threads), "threads", plan.threads, "must be 1 to 256")?;
    require((1..=10_000).contains(&plan.pipeline_depth), "pipeline_depth", plan.pipeline_depth, "must be 1 to 10000")?;
    positive("interval_s", plan.interval_s)?;
    match &plan.model {
        Model::Closed(closed) => check_closed(closed)?,
        Model::Open(open) => check_open(open)?,
    }
    let spin_us = plan.model.spin_us();
    require((0.0..=1000.0).contains(&spin_us), "model.spin_us", spin_us, "must be 0 to 1000")?;
    let connections = plan.pool.connections;
    require((1..=100_000).contains(&connections), "pool.connections", connections, "must be 1 to 100000")?;
    check_phases(plan)?;
    check_operations(plan)?;
    recording::check(plan)?;
    receivers::check(plan)?;
    wire::check(plan)?;
    Slots::new(&plan.endpoints, plan.protocol)?;
    check_sentinel(plan)?;
    replicas::check(plan)?;
    check_data(plan)?;
    check_acknowledged(plan)?;
    share::check(plan)?;
    if let Some(at_ns) = plan.start_at_monotonic_ns {
        let remedy = "stands beside start_at_unix_ns; leave one of them out";
        require(plan.start_at_unix_ns.is_none(), "start_at_monotonic_ns", at_ns, remedy)?;
    }
    check_reply_max(plan.verify.reply_max_bytes)?;
    positive("timeouts.connect_ms", plan.timeouts.connect_ms)?;
    positive("timeouts.request_ms", plan.timeouts.request_ms)?;
    positive("timeouts.gone_s", plan.timeouts.gone_s)
}

fn check_closed(closed: &Closed) -> Result<(), PlanError> {
    require((1..=1_000_000).contains(&closed.users), "model.users", closed.users, "must be 1 to 1000000")?;
    not_negative("model.think_time_ms", closed.think_time_ms)?;
    if let Some(ramp_up) = &closed.ramp_up {
        require(ramp_up.step_users > 0, "model.ramp_up.step_users", ramp_up.step_users, "must be above 0")?;
        positive("model.ramp_up.step_every_s", ramp_up.step_every_s)?;
    }
    require(closed.operations_per_user != Some(0), "model.operations_per_user", 0, "must be above 0")?;
    let more = closed.operations_more;
    let more_max = if closed.operations_per_user.is_some() { closed.users - 1 } else { 0 };
    require(more <= more_max, "model.operations_more", more, "needs operations_per_user, and must be below users")
}

fn check_open(open: &Open) -> Result<(), PlanError> {
    positive("model.rate_per_s", open.rate_per_s)?;
    for (index, step) in open.schedule.iter().enumerate() {
        positive(&format!("model.schedule[{index}].rate_per_s"), step.rate_per_s)?;
        positive(&format!("model.schedule[{index}].duration_s"), step.duration_s)?;
    }
    require(open.backlog_max > 0, "model.backlog_max", open.backlog_max, "must be above 0")
}

fn check_phases(plan: &Plan) -> Result<(), PlanError> {
    let phases = &plan.phases;
    not_negative("phases.ramp_up_s", phases.ramp_up_s)?;
    not_negative("phases.warm_up_s", phases.warm_up_s)?;
    positive("phases.measure_s", phases.measure_s)?;
    require(phases.measure_operations != Some(0), "phases.measure_operations", 0, "must be above 0")?;
    if let Some(longest) = phases.measure_max_s {
        positive("phases.measure_max_s", longest)?;
    }
    not_negative("phases.drain_s", phases.drain_s)
}

fn check_operations(plan: &Plan) -> Result<(), PlanError> {
    require(!plan.operations.is_empty(), "operations", "[]", "name at least one operation")?;
    for (index, operation) in plan.operations.iter().enumerate() {
        let name = &operation.name;
        let mut letters = name.chars();
        let well_named = letters.next().is_some_and(|first| first.is_ascii_lowercase())
            && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
        require(well_named, &format!("operations[{index}].name"), name, "use small letters, digits, `_` and `-`")?;
        positive(&format!("operations[{index}].weight"), operation.weight)?;
        for (step, command) in operation.commands.iter().chain(&operation.read_back).enumerate() {
            let field = format!("operations[{index}].commands[{step}].args");
            require(!command.args.is_empty(), &field, "[]", "the first argument is the command's name")?;
        }
        let twice = plan.operations[..index].iter().any(|other| other.name == *name);
        require(!twice, &format!("operations[{index}].name"), name, "is used twice; give each operation its own name")?;
    }
    Ok(())
}

/// Sentinel watches one primary, which stands first.
fn check_sentinel(plan: &Plan) -> Result<(), PlanError> {
    let Some(other) = plan.endpoints.iter().position(|endpoint| endpoint.standby || endpoint.sentinel_of.is_some())
    else {
        return Ok(());
    };
    let place = |index: usize| format!("endpoints[{index}]");
    let name = plan.protocol.capabilities().name;
    require(plan.protocol.capabilities().slots, &place(other), name, "only a Redis has Sentinels; leave it out")?;
    if let Some(index) = plan.endpoints.iter().position(|one| !one.slots.is_empty() || one.unix_path.is_some()) {
        let message = "a server that Sentinel watches has no slots and no Unix socket; leave them out";
        return Err(PlanError::new(place(index), message));
    }
    let primaries = plan.endpoints.iter().filter(|one| one.in_service() && one.replica_of.is_none()).count();
    require(primaries == 1 && other == 1, "endpoints", primaries, "must begin with the one primary, with Sentinel")?;
    let has_sentinel = plan.endpoints.iter().any(|endpoint| endpoint.sentinel_of.is_some());
    require(has_sentinel, &place(other), "standby", "needs a Sentinel that says when it takes over")
}

/// Versions are known of documents that are written, and of keys that are written once.
fn check_acknowledged(plan: &Plan) -> Result<(), PlanError> {
    let once = plan.keys.distribution == Distribution::ExactlyOnce;
    let documents = plan.operations.iter().all(|operation| operation.writes == Writes::Document);
    let is_known = plan.protocol.capabilities().follows_versions && (once || documents);
    let remedy = "needs Redis's protocol, and keys that are exactly_once or operations that all write a document";
    require(!plan.acknowledged || is_known, "acknowledged", plan.acknowledged, remedy)
}

fn check_reply_max(bytes: Option<usize>) -> Result<(), PlanError> {
    let limits = (64 * 1024..=1024 * 1024 * 1024).contains(&bytes.unwrap_or(1024 * 1024));
    require(limits, "verify.reply_max_bytes", bytes.unwrap_or_default(), "must be 65536 to 1073741824")
}

fn check_data(plan: &Plan) -> Result<(), PlanError> {
    let (keys, documents) = (&plan.keys, &plan.documents);
    require(keys.count > 0, "keys.count", keys.count, "must be above 0")?;
    require(
        keys.zipf_exponent > 0.0 && keys.zipf_exponent < 10.0,
        "keys.zipf_exponent",
        keys.zipf_exponent,
        "must be above 0 and below 10",
    )?;
    positive("keys.gaussian_sd", keys.gaussian_sd)?;
    require(
        (2..=64 * 1024 * 1024).contains(&documents.payload_bytes),
        "documents.payload_bytes",
        documents.payload_bytes,
        "must be 2 to 67108864",
    )?;
    require(
        (1..documents.payload_bytes).contains(&documents.field_bytes),
        "documents.field_bytes",
        documents.field_bytes,
        "must be at least 1 and smaller than payload_bytes",
    )
}

fn positive(field: &str, value: f64) -> Result<(), PlanError> {
    require(value > 0.0 && value.is_finite(), field, value, "must be above 0")
}

fn not_negative(field: &str, value: f64) -> Result<(), PlanError> {
    require(value >= 0.0 && value.is_finite(), field, value, "must not be negative")
}

fn require(holds: bool, field: &str, value: impl std::fmt::Display, remedy: &str) -> Result<(), PlanError> {
    if holds { Ok(()) } else { Err(PlanError::new(field, format!("{value}: {remedy}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(extra: &str) -> PlanError {
        let text = format!(
            r#"{{"endpoints": [{{}}], "model": {{"kind": "closed", "users": 1}}, "pool": {{"connections": 1}},
            "operations": [{{"name": "get", "commands": [{{"args": ["GET", "{{key}}"]}}]}}]{extra}}}"#
        );
        Plan::from_json(&text).expect_err("the plan must be refused")
    }

    #[test]
    fn the_error_names_the_field() {
        assert_eq!(error(r#", "threads": 0"#).to_string(), "threads: 0: must be 1 to 256");
        assert_eq!(error(r#", "phases": {"measure_s": -1}"#).field, "phases.measure_s");
        assert_eq!(error(r#", "phases": {"measure": 1}"#).field, "phases.measure");
        assert_eq!(error(r#", "keys": {"count": "many"}"#).field, "keys.count");
        assert!(error(r#", "colour": 1"#).to_string().contains("unknown field `colour`"));
        assert_eq!(error(r#", "documents": {"payload_bytes": 5}"#).field, "documents.field_bytes");
        assert_eq!(error(r#", "acknowledged": true"#).field, "acknowledged");
    }

    #[test]
    fn not_all_users_do_more_than_each_does() {
        let with = |extra: &str| {
            Plan::from_json(&format!(
                r#"{{"endpoints": [{{}}], "model": {{"kind": "closed", "users": 3, {extra}}}, "pool": {{"connections": 1}},
                "operations": [{{"name": "get", "commands": [{{"args": ["GET", "{{key}}"]}}]}}]}}"#
            ))
        };
        assert!(with(r#""operations_per_user": 2, "operations_more": 2"#).is_ok());
        for wrong in [r#""operations_per_user": 2, "operations_more": 3"#, r#""operations_more": 1"#] {
            assert_eq!(with(wrong).expect_err("the plan must be refused").field, "model.operations_more");
        }
    }

    #[test]
    fn a_missing_part_is_named() {
        let error = Plan::from_json(r#"{"endpoints": []}"#).unwrap_err();
        assert!(error.to_string().contains("model"), "{error}");
    }

    #[test]
    fn a_models_unknown_key_is_refused() {
        let text = r#"{"endpoints": [{}], "model": {"kind": "open", "rate_per_s": 5, "users": 1},
            "pool": {"connections": 1}, "operations": [{"name": "a", "commands": [{"args": ["PING"]}]}]}"#;
        let error = Plan::from_json(text).unwrap_err();
        assert_eq!(error.field, "model");
        assert!(error.message.contains("users"), "{error}");
    }
}
