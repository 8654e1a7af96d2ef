//! Replicas: what only reads goes there, and what they answer late is counted.

use crate::resp_server::Server;
use crate::support::{Outcome, begin, drive, finish, plan, server, take_until};
use loadstone_engine::null_server::NullServer;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const OK: &[u8] = b"+OK\r\n";
const NIL: &[u8] = b"$-1\r\n";

fn operations() -> Value {
    json!([
        {"name": "get", "commands": [{"args": ["GET", "{key}"]}], "reads_only": true},
        {"name": "incr", "commands": [{"args": ["INCR", "{key}"]}]},
    ])
}

fn changes(endpoints: Value) -> Value {
    json!({
        "endpoints": endpoints, "operations": operations(),
        "model": {"kind": "closed", "users": 4, "operations_per_user": 300}, "pool": {"connections": 12},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0},
    })
}

fn sent(outcome: &Outcome) -> Vec<u64> {
    outcome.record.endpoints.iter().map(|endpoint| endpoint.sent).collect()
}

fn drive_on(nodes: &[NullServer], changes: Value) -> Outcome {
    let outcome = drive(plan(0, changes));
    assert_eq!(outcome.errors(), 0);
    assert_eq!(sent(&outcome), nodes.iter().map(NullServer::commands).collect::<Vec<_>>());
    outcome
}

#[test]
fn reads_go_to_replicas_and_all_else_to_the_primary() {
    for (writes_only, threads, depth) in [(true, 1, 1), (false, 2, 4)] {
        let nodes = [server(|_| {}), server(|_| {}), server(|_| {})];
        let mut changes = changes(json!([
            {"port": nodes[0].port(), "writes_only": writes_only},
            {"port": nodes[1].port(), "replica_of": 0}, {"port": nodes[2].port(), "replica_of": 0},
        ]));
        (changes["threads"], changes["pipeline_depth"]) = (json!(threads), json!(depth));
        let outcome = drive_on(&nodes, changes);
        let (reads, writes) = (outcome.record.commands["GET"].sent, outcome.record.commands["INCR"].sent);
        let sent = sent(&outcome);
        if writes_only {
            assert_eq!((sent[0], sent[1] + sent[2]), (writes, reads));
            assert!(sent[1].abs_diff(sent[2]) <= threads, "they take turns: {sent:?}");
        } else {
            assert!(sent[1].abs_diff(sent[2]) <= threads && sent[1].abs_diff(sent[0] - writes) <= threads, "{sent:?}");
        }
        assert_eq!(outcome.record.connections.opened, 12);
    }
}

/// A server that records the commands it gets, and answers each with `reply`.
fn recording(reply: &'static [u8]) -> (Server, Arc<Mutex<Vec<String>>>) {
    let got = Arc::new(Mutex::new(Vec::new()));
    let server = Server::start({
        let got = got.clone();
        move |received| {
            got.lock().unwrap().push(received.arguments[0].clone());
            vec![if received.arguments[0] == "READONLY" { OK } else { reply }.to_vec()]
        }
    });
    (server, got)
}

#[test]
fn a_replica_of_a_cluster_is_greeted_by_readonly() {
    let ((primary, of_primary), (replica, of_replica)) = (recording(OK), recording(OK));
    let endpoints = json!([
        {"port": primary.port, "slots": [[0, 16_383]], "writes_only": true}, {"port": replica.port, "replica_of": 0},
    ]);
    let mut changes = changes(endpoints);
    changes["pool"] = json!({"connections": 2});
    let outcome = drive(plan(0, changes));
    assert_eq!(outcome.errors(), 0);
    let count = |got: &Mutex<Vec<String>>, name: &str| got.lock().unwrap().iter().filter(|one| *one == name).count();
    assert_eq!((count(&of_primary, "READONLY"), count(&of_primary, "GET")), (0, 0));
    assert_eq!((count(&of_replica, "READONLY"), count(&of_replica, "INCR")), (1, 0));
    assert!(count(&of_primary, "INCR") > 0 && count(&of_replica, "GET") > 0);
}

#[test]
fn a_key_that_a_replica_lacks_is_stale_and_no_error() {
    let ((primary, _), (replica, _)) = (recording(OK), recording(NIL));
    let endpoints = json!([{"port": primary.port}, {"port": replica.port, "replica_of": 0}]);
    let operations = json!([
        {"name": "get", "commands": [{"args": ["GET", "{key}"], "expect": "document"}], "reads_only": true},
        {"name": "set", "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}], "writes": "document"},
    ]);
    let mut changes = changes(endpoints);
    (changes["operations"], changes["keys"]) = (operations, json!({"count": 20, "loaded": true}));
    let outcome = drive(plan(0, changes.clone()));
    let replica_got = &outcome.record.endpoints[1];
    assert_eq!(
        (replica_got.stale, replica_got.ok),
        (replica_got.sent, replica_got.sent),
        "all of its keys were stored"
    );
    // What the primary answers so is wrong: OK is no document.
    let wrong = outcome.record.total.errors.clone();
    assert_eq!(wrong.keys().collect::<Vec<_>>(), [&"wrong_type"], "{wrong:?}");
    changes["keys"] = json!({"count": 20, "loaded": false});
    changes["operations"] = json!([changes["operations"][0]]);
    let outcome = drive(plan(0, changes));
    assert_eq!(outcome.record.endpoints[1].stale, 0, "nothing was ever stored");
}

#[test]
fn without_its_replica_the_primary_is_read() {
    let ((primary, _), (replica, _)) = (recording(OK), recording(OK));
    let endpoints = json!([{"port": primary.port, "writes_only": true}, {"port": replica.port, "replica_of": 0}]);
    let mut changes = changes(endpoints);
    changes["model"] = json!({"kind": "closed", "users": 4});
    changes["phases"] =
        json!({"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 0.5, "measure_operations": 2000, "measure_max_s": 60});
    let mut running = begin(plan(0, changes));
    drop(replica);
    let ok = |intervals: &[Value], name: &str| -> u64 {
        intervals.iter().map(|one| one["operations"][name]["ok"].as_u64().unwrap()).sum()
    };
    let before = ok(&running.1, "get");
    take_until(&mut running, |intervals| ok(intervals, "get") >= before + 500);
    let outcome = finish(running);
    let errors = &outcome.record.total.errors;
    assert!(errors.keys().all(|name| name.starts_with("connection_")), "{errors:?}");
    // A user's next request may go to a connection that is not yet noticed as lost.
    assert!(outcome.errors() <= 4 + outcome.record.endpoints[1].sent.min(12), "what was on its way: {errors:?}");
    assert!(outcome.record.endpoints[0].ok > outcome.record.commands["INCR"].replied, "it was read, too");
    assert_eq!(outcome.record.stopped, None);
}
