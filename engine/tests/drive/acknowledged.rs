//! What was acknowledged, key by key, is recorded if the plan requires it.

use crate::support::{drive, plan, server};
use loadstone_engine::null_server::Fault;
use serde_json::json;

/// The version of each key.
fn versions(runs: &[u32]) -> Vec<u32> {
    runs.chunks(2).flat_map(|run| vec![run[1]; run[0] as usize]).collect()
}

#[test]
fn nothing_is_kept_unless_the_plan_requires_it() {
    let server = server(|_| {});
    let record = drive(plan(server.port(), json!({}))).record;
    assert_eq!(record.acknowledged, None);
    assert!(!serde_json::to_string(&*record).unwrap().contains("acknowledged"));
}

#[test]
fn a_key_that_is_written_once_is_acknowledged_if_its_reply_came_and_was_correct() {
    for fault in [Fault::Silence { nth: 50 }, Fault::Error { nth: 50, text: "OOM no room".into() }] {
        let server = server(|options| options.fault = Some(fault));
        let changes = json!({
            "threads": 2, "acknowledged": true,
            "keys": {"count": 1_000_000, "distribution": "exactly_once"},
            "timeouts": {"request_ms": 50.0},
            "phases": {"measure_max_s": 0.2, "drain_s": 0.3},
            "operations": [{"name": "get", "commands": [{"args": ["SET", "{key}", "{value}"], "expect": "ok"}]}],
        });
        let record = drive(plan(server.port(), changes)).record;
        let kept = record.acknowledged.as_ref().expect("it is required");
        let (begun, newest) = (versions(&kept.begun), versions(&kept.newest));
        assert_eq!((begun.len(), newest.len()), (1_000_000, 1_000_000));
        assert!(record.total.ok > 0);
        assert_eq!(newest.iter().map(|&version| u64::from(version)).sum::<u64>(), record.total.ok);
        assert_eq!(begun.iter().map(|&version| u64::from(version)).sum::<u64>(), record.total.offered);
        assert!(record.total.offered > record.total.ok, "one write was not acknowledged");
        assert!(begun.iter().zip(&newest).all(|(begun, newest)| newest <= begun));
        assert_eq!(kept.certain, kept.newest);
    }
}

#[test]
fn overwrites_have_the_highest_version_that_was_acknowledged() {
    let server = server(|_| {});
    let operation = json!([{
        "name": "get", "writes": "document",
        "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}],
    }]);
    for users in [1, 8] {
        let changes = json!({
            "model": {"kind": "closed", "users": users}, "pool": {"connections": users},
            "acknowledged": true, "keys": {"count": 3}, "operations": operation,
        });
        let record = drive(plan(server.port(), changes)).record;
        let kept = record.acknowledged.as_ref().expect("it is required");
        let (begun, newest, certain) = (versions(&kept.begun), versions(&kept.newest), versions(&kept.certain));
        assert_eq!(newest, begun, "every write was answered");
        assert_eq!(newest.iter().map(|&version| u64::from(version)).sum::<u64>(), record.total.ok);
        assert!(certain.iter().zip(&newest).all(|(certain, newest)| certain <= newest));
        if users == 1 {
            assert_eq!(certain, newest, "one user never has two writes in flight");
        }
    }
}
