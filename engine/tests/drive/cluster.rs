//! Nodes of a cluster: each command goes to the one that has its key's slot.

use crate::support::{Outcome, drive, plan, server};
use loadstone_engine::drive::Drive;
use loadstone_engine::load::slots::slot_of;
use loadstone_engine::null_server::{Fault, NullServer};
use serde_json::{Value, json};

/// Slots of three nodes, in two pieces where a node has them so.
const SLOTS: [&[(u16, u16)]; 3] =
    [&[(0, 5460)], &[(5461, 10_000), (10_002, 10_922)], &[(10_001, 10_001), (10_923, 16_383)]];

fn nodes() -> Vec<NullServer> {
    SLOTS.iter().map(|_| server(|_| {})).collect()
}

fn endpoints(nodes: &[NullServer]) -> Value {
    nodes.iter().zip(SLOTS).map(|(node, slots)| json!({"port": node.port(), "slots": slots})).collect()
}

fn node_of(key: &str) -> usize {
    let slot = slot_of(key.as_bytes()) as u16;
    SLOTS.iter().position(|ranges| ranges.iter().any(|&(from, to)| (from..=to).contains(&slot))).unwrap()
}

fn drive_on(nodes: &[NullServer], mut changes: Value) -> Outcome {
    changes["endpoints"] = endpoints(nodes);
    let outcome = drive(plan(0, changes));
    for (node, endpoint) in nodes.iter().zip(&outcome.record.endpoints) {
        assert!(node.commands() > 0);
        assert_eq!(endpoint.sent, node.commands(), "each node got what was meant for it");
    }
    assert_eq!(outcome.errors(), 0);
    outcome
}

#[test]
fn every_key_goes_to_its_node() {
    let nodes = nodes();
    let changes = json!({
        "keys": {"count": 300, "distribution": "exactly_once"}, "pool": {"connections": 6},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0},
    });
    let outcome = drive_on(&nodes, changes);
    let mut expected = [0; 3];
    (0..300).for_each(|key| expected[node_of(&format!("loadstone:{key:012}"))] += 1);
    assert_eq!(nodes.iter().map(NullServer::commands).collect::<Vec<_>>(), expected);
    let connections = &outcome.record.connections;
    assert_eq!((connections.planned, connections.opened, connections.lost), (6, 6, 0));
}

#[test]
fn a_batch_is_split_over_the_nodes_and_ends_with_its_last_part() {
    let changes = json!({
        "model": {"kind": "closed", "users": 3, "operations_per_user": 700}, "pool": {"connections": 9},
        "pipeline_depth": 7, "phases": {"ramp_up_s": 0, "warm_up_s": 0},
    });
    let outcome = drive_on(&nodes(), changes);
    assert_eq!((outcome.record.total.ok, outcome.record.total.in_flight), (2100, 0));
}

#[test]
fn arrivals_and_several_threads_keep_to_the_nodes() {
    let changes = json!({
        "model": {"kind": "open", "rate_per_s": 2000}, "pool": {"connections": 7}, "pipeline_depth": 2, "threads": 2,
    });
    let outcome = drive_on(&nodes(), changes);
    assert!(outcome.record.total.ok > 0);
    assert_eq!(outcome.record.connections.opened, 7);
}

#[test]
fn a_pool_has_a_connection_to_each_node_at_least() {
    let changes = json!({
        "model": {"kind": "closed", "users": 1, "operations_per_user": 300},
        "pool": {"connections": 1}, "threads": 4, "keys": {"count": 1000},
    });
    let connections = drive_on(&nodes(), changes).record.connections.clone();
    assert_eq!((connections.planned, connections.opened), (3, 3));
}

#[test]
fn connections_of_a_node_are_opened_when_one_of_its_keys_is_due() {
    let changes = json!({
        "model": {"kind": "closed", "users": 2, "operations_per_user": 150},
        "pool": {"connections": 6, "min_idle": 1}, "keys": {"count": 1000},
    });
    let connections = drive_on(&nodes(), changes).record.connections.clone();
    assert!((3..=6).contains(&connections.opened), "{connections:?}");
    assert_eq!(connections.closed_idle + connections.lost, 0);
}

#[test]
fn written_documents_are_read_back_from_their_node() {
    let nodes: Vec<NullServer> = SLOTS
        .iter()
        .map(|_| {
            server(|options| options.replies = [("GET".into(), serde_json::from_value(json!("ok")).unwrap())].into())
        })
        .collect();
    let changes = json!({
        "endpoints": endpoints(&nodes),
        "model": {"kind": "closed", "users": 1, "operations_per_user": 40},
        "pool": {"connections": 3}, "keys": {"count": 40, "distribution": "sequential"},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0},
        "operations": [{"name": "set", "writes": "document",
            "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}],
            "read_back": {"args": ["GET", "{key}"], "expect": "ok"}}],
    });
    let outcome = drive(plan(0, changes));
    let mut written = [0; 3];
    (0..40).for_each(|key| written[node_of(&format!("loadstone:{key:012}"))] += 1);
    // A busy machine may not get to the end of them in the time that there is.
    let (sent, checked) = (outcome.record.commands["GET"].sent, outcome.record.read_back.checked);
    assert!((1..=sent).contains(&checked) && sent <= 40, "{checked} of {sent}");
    assert_eq!(outcome.record.read_back.wrong, 0);
    let got: Vec<u64> = nodes.iter().map(NullServer::commands).collect();
    assert!(got.iter().zip(written).all(|(&got, written)| (written..=2 * written).contains(&got)), "{got:?}");
    assert!((40 + checked..=40 + sent).contains(&got.iter().sum()), "{got:?}");
}

#[test]
fn a_slot_that_moved_to_an_unknown_node_is_an_error_of_its_own_kind() {
    let moved = Fault::Error { nth: 5, text: "MOVED 3999 127.0.0.1:6381".into() };
    let nodes = [server(|_| {}), server(|options| options.fault = Some(moved)), server(|_| {})];
    let model = json!({"kind": "closed", "users": 4, "operations_per_user": 100});
    let changes = json!({"endpoints": endpoints(&nodes), "model": model, "pool": {"connections": 6}});
    let outcome = drive(plan(0, changes));
    assert_eq!((outcome.errors(), outcome.record.total.errors["server_moved"]), (1, 1));
}

fn refusal(operation: Value) -> String {
    let nodes = nodes();
    let changes = json!({"endpoints": endpoints(&nodes), "operations": [operation]});
    Drive::new(plan(0, changes)).expect_err("the plan must be refused").to_string()
}

#[test]
fn an_operation_keeps_to_one_slot() {
    let two = |first: &str, second: &str| json!({"name": "two", "commands": [{"args": ["LPUSH", first, "x"]}, {"args": ["SET", second, "x"]}]});
    let message = refusal(two("{key}", "{key}:other"));
    assert!(message.starts_with("operations[0].commands: its keys are in different slots"), "{message}");
    let nodes = nodes();
    let tagged = json!({
        "operations": [two("{{{key}}}:list", "{{{key}}}:other")], "pool": {"connections": 6},
        "model": {"kind": "closed", "users": 4, "operations_per_user": 100},
    });
    drive_on_tagged(&nodes, tagged);
}

fn drive_on_tagged(nodes: &[NullServer], mut changes: Value) {
    changes["endpoints"] = endpoints(nodes);
    assert_eq!(drive(plan(0, changes)).errors(), 0);
    assert!(nodes.iter().all(|node| node.commands() > 0));
}

#[test]
fn a_key_that_is_plain_text_has_its_slot_too() {
    let nodes = nodes();
    let pop = json!({"name": "pop", "commands": [{"args": ["LPOP", "loadstone:queue"]}]});
    drive(plan(0, json!({"endpoints": endpoints(&nodes), "operations": [pop], "pool": {"connections": 6}})));
    for (number, node) in nodes.iter().enumerate() {
        assert_eq!(node.commands() > 0, number == node_of("loadstone:queue"));
    }
}
