//! Plans for tests, drives from start to end, and what must hold of every one of them.

use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::{NullOptions, NullServer};
use loadstone_engine::plan::Plan;
use loadstone_engine::record::outcome::{Counts, DriveRecord};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(30);
/// What takes so long has come to a halt: even a busy machine keeps a thread waiting for some seconds only.
pub const HANGS_S: f64 = 20.0;
/// How far ahead tests set an instant: a busy machine keeps their thread off the CPU for 0.1 s and more.
pub const AHEAD_NS: u64 = 400_000_000;

/// A null server that behaves as `change` says.
pub fn server(change: impl FnOnce(&mut NullOptions)) -> NullServer {
    let mut options = NullOptions::default();
    change(&mut options);
    NullServer::start(options).expect("the null server starts")
}

/// A short closed drive of GETs against `port`, with `changes` laid over it.
pub fn plan(port: u16, changes: Value) -> Plan {
    Plan::from_json(&plan_json(port, changes).to_string()).expect("the test's plan is valid")
}

/// The same as JSON.
pub fn plan_json(port: u16, changes: Value) -> Value {
    let mut plan = json!({
        "endpoints": [{"port": port}],
        "model": {"kind": "closed", "users": 4},
        "pool": {"connections": 4},
        "phases": {"ramp_up_s": 0.02, "warm_up_s": 0.05, "measure_s": 0.2, "drain_s": HANGS_S},
        "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}],
        "keys": {"count": 100},
        "timeouts": {"connect_ms": 1000.0 * HANGS_S, "request_ms": 1000.0 * HANGS_S},
        "interval_s": 0.05,
    });
    lay_over(&mut plan, changes);
    plan
}

/// Lays `changes` over a plan, part by part; a model is replaced whole.
pub fn lay_over(plan: &mut Value, changes: Value) {
    match (plan, changes) {
        (Value::Object(plan), Value::Object(changes)) if !changes.contains_key("kind") => {
            for (key, change) in changes {
                lay_over(plan.entry(key).or_insert(Value::Null), change);
            }
        }
        (plan, change) => *plan = change,
    }
}

/// What came of a drive.
pub struct Outcome {
    pub record: Arc<DriveRecord>,
    pub intervals: Vec<Value>,
}

impl Outcome {
    pub fn counts(&self, operation: &str) -> &Counts {
        &self.record.operations[operation].counts
    }

    pub fn errors(&self) -> u64 {
        self.record.total.errors.values().sum()
    }
}

/// Drives a plan to its end, and checks that every operation is accounted for.
pub fn drive(plan: Plan) -> Outcome {
    let drive = Drive::new(plan).expect("the plan can be driven");
    drive.start().expect("the server takes connections");
    finish((drive, Vec::new()))
}

/// Starts a drive, and waits until its load has begun.
pub fn begin(plan: Plan) -> (Drive, Vec<Value>) {
    let drive = Drive::new(plan).expect("the plan can be driven");
    drive.start().expect("the server takes connections");
    let first = drive.next_interval(PATIENCE).expect("the load has begun");
    (drive, vec![serde_json::from_str(&first).expect("an interval is JSON")])
}

/// Takes intervals of a drive until they show enough.
pub fn take_until((drive, intervals): &mut (Drive, Vec<Value>), is_enough: impl Fn(&[Value]) -> bool) {
    while !is_enough(intervals) {
        let text = drive.next_interval(PATIENCE).expect("the drive has not ended by itself");
        intervals.push(serde_json::from_str(&text).expect("an interval is JSON"));
    }
}

/// Waits for the end of a drive some of whose intervals were taken, and checks that every operation is
/// accounted for.
pub fn finish((drive, mut intervals): (Drive, Vec<Value>)) -> Outcome {
    while !drive.finished() {
        if let Some(text) = drive.next_interval(PATIENCE) {
            intervals.push(serde_json::from_str(&text).expect("an interval is JSON"));
        }
    }
    let record = drive.result(PATIENCE).expect("the drive was started").expect("the drive has ended");
    let outcome = Outcome { record, intervals };
    check(&outcome);
    outcome
}

pub fn check(outcome: &Outcome) {
    let record = &outcome.record;
    assert!(record.total.conserved(), "total: {:?}", record.total);
    let mut measured = 0;
    for (name, operation) in &record.operations {
        assert!(operation.counts.conserved(), "{name}: {:?}", operation.counts);
        let recorded = operation.response_ns.count;
        assert_eq!(
            recorded + record.overflowed.min(1) * record.overflowed,
            operation.counts.ok,
            "{name}: response times"
        );
        assert_eq!(operation.service_ns.count, recorded, "{name}: service times");
        measured += operation.counts.offered;
    }
    assert!(measured <= record.total.offered);
    let sum = |key: &str| -> u64 {
        let operations =
            outcome.intervals.iter().flat_map(|interval| interval["operations"].as_object().unwrap().values());
        operations.map(|operation| operation[key].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("offered"), record.total.offered, "offered in all intervals");
    assert_eq!(sum("ok"), record.total.ok, "ok in all intervals");
    assert_eq!(sum("dropped"), record.total.dropped, "dropped in all intervals");
    for (index, interval) in outcome.intervals.iter().enumerate() {
        assert_eq!(interval["index"], index);
    }
    for (name, command) in &record.commands {
        assert!(command.replied <= command.sent, "{name}: {command:?}");
    }
}
