//! What rounds are to be like, and which drives can be had in slices.

use crate::plan::{Distribution, Model, Plan, PlanError};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Numbers that a process may have.
const PIDS: std::ops::RangeInclusive<i32> = 1..=1 << 22;

/// The mirror of `RoundsOptions` in `python/loadstone/drivers/driver.py`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundsOptions {
    /// The measured window of a slice.
    pub slice_s: f64,
    /// What is driven before the window and not measured.
    #[serde(default)]
    pub settle_s: f64,
    /// A round each: all drives, in the order of their slices.
    pub orders: Vec<Vec<usize>>,
    /// By drive: the process ids of each part whose CPU time is read.
    #[serde(default)]
    pub parts: Vec<BTreeMap<String, Vec<i32>>>,
    /// By drive: the processes that it needs. They stand still in the slices of those that do not.
    #[serde(default)]
    pub paused: Vec<Vec<ProcessOfDrive>>,
    /// Slices begin by the clock; else each when the one before it is over.
    #[serde(default)]
    pub timetable: Option<Timetable>,
    /// So long after the last rest there is another one, between two slices; None: there are none.
    #[serde(default)]
    pub rest_every_s: Option<f64>,
}

/// When slices begin, so that those of several agents do together: the first one when the load does, and each after all
/// that the ones before it may take. One that cannot begin in time, because the one before it was not drained, is left
/// out.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timetable {
    /// For the drain, between a slice's load and the next one's.
    pub pause_s: f64,
    /// The load goes on for so long before and after what is measured: the clocks of agents may differ by that.
    #[serde(default)]
    pub edge_s: f64,
}

/// A process of ours, as no other one ever is.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessOfDrive {
    pub pid: i32,
    pub started_ticks: u64,
}

impl RoundsOptions {
    /// Reads options for so many drives from JSON. The error names the field that is wrong.
    pub fn from_json(text: &str, drives: usize) -> Result<Self, PlanError> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let options: Self = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            PlanError::new(if path == "." { "options".into() } else { path }, error.inner().to_string())
        })?;
        deserializer.end().map_err(|error| PlanError::new("options", error.to_string()))?;
        options.check(drives)?;
        Ok(options)
    }

    /// Whether no other drive has any of the processes of this part of `drive`.
    pub fn is_own(&self, drive: usize, pids: &[i32]) -> bool {
        let others = self.parts.iter().enumerate().filter(|(other, _)| *other != drive);
        !others.flat_map(|(_, parts)| parts.values().flatten()).any(|pid| pids.contains(pid))
    }

    fn check(&self, drives: usize) -> Result<(), PlanError> {
        let Self { slice_s, settle_s, orders, parts, paused, timetable, rest_every_s } = self;
        let error = |field: &str, message: String| Err(PlanError::new(field, message));
        if !(slice_s.is_finite() && *slice_s > 0.0) {
            return error("slice_s", format!("{slice_s}: must be above 0"));
        }
        if !(settle_s.is_finite() && *settle_s >= 0.0) {
            return error("settle_s", format!("{settle_s}: must not be negative"));
        }
        if let Some(every_s) = rest_every_s {
            if !(every_s.is_finite() && *every_s > 0.0) {
                return error("rest_every_s", format!("{every_s}: must be above 0"));
            }
            if timetable.is_some() {
                return error("rest_every_s", "a timetable leaves no time for rests; leave one of them out".into());
            }
        }
        if let Some(Timetable { pause_s, edge_s }) = timetable {
            if !(pause_s.is_finite() && *pause_s > 0.0) {
                return error("timetable.pause_s", format!("{pause_s}: must be above 0"));
            }
            if !(edge_s.is_finite() && *edge_s >= 0.0) {
                return error("timetable.edge_s", format!("{edge_s}: must not be negative"));
            }
            if *settle_s == 0.0 {
                return error(
                    "settle_s",
                    "0: must be above 0 with a timetable, for slices that begin a little late".into(),
                );
            }
            if paused.iter().any(|of_drive| !of_drive.is_empty()) {
                return error(
                    "paused",
                    "processes take too long to go on for a timetable; leave one of them out".into(),
                );
            }
        }
        if orders.is_empty() {
            return error("orders", "[]: give at least one round".into());
        }
        for (round, order) in orders.iter().enumerate() {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..drives) {
                return error(&format!("orders[{round}]"), format!("{order:?}: must hold each drive's number once"));
            }
        }
        if !parts.is_empty() && parts.len() != drives {
            return error("parts", format!("{} of them: give those of each of {drives} drives", parts.len()));
        }
        for (drive, of_drive) in parts.iter().enumerate() {
            if let Some((name, pids)) = of_drive.iter().find(|(_, pids)| !pids.iter().all(|pid| PIDS.contains(pid))) {
                return error(&format!("parts[{drive}].{name}"), format!("{pids:?}: must be process ids"));
            }
        }
        if !paused.is_empty() && paused.len() != drives {
            return error("paused", format!("{} of them: give those of each of {drives} drives", paused.len()));
        }
        for (drive, of_drive) in paused.iter().enumerate() {
            if let Some(one) = of_drive.iter().find(|one| !PIDS.contains(&one.pid)) {
                return error(&format!("paused[{drive}].pid"), format!("{}: must be a process id", one.pid));
            }
        }
        Ok(())
    }
}

/// Whether a drive can be had in slices. The error names what keeps it from that.
pub(super) fn check_sliceable(plan: &Plan) -> Result<(), PlanError> {
    let (keys, phases) = (&plan.keys, &plan.phases);
    let mut obstacles = vec![
        (keys.distribution == Distribution::ExactlyOnce, "keys.distribution"),
        (phases.measure_operations.is_some(), "phases.measure_operations"),
        (phases.ramp_up_s > 0.0, "phases.ramp_up_s"),
        (plan.start_at_unix_ns.is_some(), "start_at_unix_ns"),
        (plan.start_at_monotonic_ns.is_some(), "start_at_monotonic_ns"),
    ];
    match &plan.model {
        Model::Closed(closed) => obstacles.extend([
            (closed.operations_per_user.is_some(), "model.operations_per_user"),
            (closed.ramp_up.is_some(), "model.ramp_up"),
        ]),
        Model::Open(open) => obstacles.push((!open.schedule.is_empty(), "model.schedule")),
    }
    match obstacles.into_iter().find(|(is_there, _)| *is_there) {
        None => Ok(()),
        Some((_, field)) => Err(PlanError::new(
            field,
            "a drive in slices has no such thing; leave it out, or drive the plan as a whole",
        )),
    }
}

/// The same error of one plan among several.
pub(super) fn of_plan(number: usize, error: PlanError) -> PlanError {
    PlanError { field: format!("plans[{number}].{}", error.field), ..error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(options: &str) -> String {
        RoundsOptions::from_json(options, 2).unwrap_err().to_string()
    }

    #[test]
    fn options_that_cannot_be_had_are_named() {
        assert!(error(r#"{"orders": [[0, 1]]}"#).contains("slice_s"));
        assert!(error(r#"{"slice_s": 0, "orders": [[0, 1]]}"#).starts_with("slice_s: 0: must be above 0"));
        assert!(error(r#"{"slice_s": 0.1, "settle_s": -1, "orders": [[0, 1]]}"#).starts_with("settle_s: "));
        assert!(error(r#"{"slice_s": 0.1, "orders": []}"#).starts_with("orders: []"));
        assert!(error(r#"{"slice_s": 0.1, "orders": [[1, 0], [1, 1]]}"#).starts_with("orders[1]: [1, 1]"));
        assert!(error(r#"{"slice_s": 0.1, "orders": [[1]]}"#).starts_with("orders[0]: [1]"));
        assert!(error(r#"{"slice_s": 0.1, "orders": [[0, 1]], "parts": [{}]}"#).starts_with("parts: 1 of them"));
        let no_process = r#"{"slice_s": 0.1, "orders": [[0, 1]], "parts": [{}, {"redis": [7, 4194305]}]}"#;
        assert!(error(no_process).starts_with("parts[1].redis: [7, 4194305]"));
        assert!(error(r#"{"slice_s": 0.1, "orders": [[0, 1]], "pause_s": 1}"#).contains("pause_s"));
        assert!(error(r#"{"slice_s": 0.1, "orders": [[0, 1]], "paused": [[]]}"#).starts_with("paused: 1 of them"));
        for (timetable, wrong) in [
            (r#"{}"#, "timetable: missing field `pause_s`"),
            (r#"{"pause_s": 0}"#, "timetable.pause_s: 0: must be above 0"),
            (r#"{"pause_s": 0.1, "edge_s": -1}"#, "timetable.edge_s: -1: must not be negative"),
            (r#"{"pause_s": 0.1}"#, "settle_s: 0: must be above 0 with a timetable"),
        ] {
            let error = error(&format!(r#"{{"slice_s": 0.1, "orders": [[0, 1]], "timetable": {timetable}}}"#));
            assert!(error.starts_with(wrong), "{error}");
        }
        let no_process = r#"{"slice_s": 0.1, "orders": [[0, 1]], "paused": [[], [{"pid": 0, "started_ticks": 7}]]}"#;
        assert!(error(no_process).starts_with("paused[1].pid: 0"));
    }
}
