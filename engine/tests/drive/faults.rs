//! What goes wrong is counted by its kind, and nothing is lost.

use crate::support::{Outcome, begin, drive, finish, lay_over, plan, server};
use loadstone_engine::null_server::Fault;
use serde_json::{Value, json};

/// A drive of 4 users with 100 operations each, against a server with a fault.
fn drive_with(fault: Fault, changes: Value) -> Outcome {
    let server = server(|options| options.fault = Some(fault));
    let mut all = json!({"model": {"kind": "closed", "users": 4, "operations_per_user": 100}});
    lay_over(&mut all, changes);
    drive(plan(server.port(), all))
}

/// Fault: a server cuts connections
#[test]
fn a_server_that_closes_connections() {
    for depth in [1, 7] {
        let outcome = drive_with(Fault::CloseAfter { commands: 50 }, json!({"threads": 2, "pipeline_depth": depth}));
        let record = &outcome.record;
        assert!(record.connections.lost > 0 && record.connections.opened > record.connections.planned);
        assert!(record.total.ok > 50);
        let kinds: Vec<&str> = record.total.errors.keys().copied().collect();
        assert!(kinds.iter().all(|kind| kind.starts_with("connection_")), "{kinds:?}");
    }
}

/// Fault: a server does not answer
#[test]
fn a_server_that_does_not_answer_a_command() {
    let changes = json!({"timeouts": {"request_ms": 2_000.0}, "pipeline_depth": 3});
    let outcome = drive_with(Fault::Silence { nth: 20 }, changes);
    assert!((1..=3).contains(&outcome.record.total.timeouts), "{:?}", outcome.record.total);
    assert_eq!(outcome.record.connections.lost, 1);
    assert!(outcome.record.total.ok > 20);
}

#[test]
fn a_server_that_is_silent_when_the_drive_ends() {
    let changes = json!({
        "model": {"kind": "closed", "users": 4, "operations_per_user": 10}, "pipeline_depth": 3,
        "phases": {"measure_max_s": 3.0, "drain_s": 0.05},
    });
    let outcome = drive_with(Fault::Silence { nth: 20 }, changes);
    assert!((1..=3).contains(&outcome.record.total.in_flight), "{:?}", outcome.record.total);
}

#[test]
fn a_server_that_answers_an_error() {
    let fault = Fault::Error { nth: 10, text: "OOM command not allowed".into() };
    let outcome = drive_with(fault, json!({}));
    assert_eq!(outcome.record.total.errors["server_oom"], 1);
    assert_eq!(outcome.record.connections.lost, 0);
    let examples = &outcome.record.examples;
    let (operations, example) = (&outcome.record.operations, &examples[0]);
    assert_eq!((examples.len(), example.kind, example.reply.as_str()), (1, "server_oom", "OOM command not allowed"));
    assert!(operations.contains_key(&example.operation), "{example:?}");
}

/// Fault: garbage, or a connection that ends within a reply
#[test]
fn a_server_that_answers_garbage() {
    let outcome = drive_with(Fault::Garbage { nth: 10 }, json!({}));
    assert_eq!(outcome.record.total.errors["protocol"], 1);
    assert_eq!(outcome.record.connections.lost, 1);
    let kinds: Vec<_> = outcome.record.examples.iter().map(|one| (one.kind, one.reply.is_empty())).collect();
    assert_eq!(kinds, [("protocol", false)]);
}

/// Fault (replies): garbage, or a connection that ends within a reply: an error by kind; no panic
#[test]
fn a_server_that_breaks_off_within_a_reply() {
    let outcome = drive_with(Fault::HalfThenClose { nth: 10 }, json!({}));
    assert_eq!(outcome.errors(), 1);
    assert_eq!(outcome.record.connections.lost, 1);
}

#[test]
fn a_first_command_that_fails_ends_an_operation_of_two() {
    let fault = Fault::Error { nth: 9, text: "ERR no".into() };
    let operations = json!([{"name": "two", "commands": [{"args": ["GET", "{key}"]}, {"args": ["PING"]}]}]);
    let model = json!({"kind": "closed", "users": 1, "operations_per_user": 100});
    let record = drive_with(fault, json!({"operations": operations, "model": model})).record;
    assert_eq!(record.total.errors["server_err"], 1);
    assert_eq!((record.commands["GET"].sent, record.commands["PING"].sent), (100, 99));
}

/// Fault: a server goes away while the engine drives
#[test]
fn a_server_that_goes_away_ends_the_drive() {
    let server = server(|_| {});
    let changes = json!({"threads": 2, "phases": {"measure_s": 30.0}, "timeouts": {"gone_s": 0.3}});
    let begun = begin(plan(server.port(), changes));
    server.stop();
    let outcome = finish(begun);
    let stopped = outcome.record.stopped.clone().expect("it stopped early");
    assert!(stopped.starts_with("server gone: ") && stopped.contains("127.0.0.1"), "{stopped}");
    assert!(outcome.record.measure_s < 30.0);
    assert_eq!(outcome.record.connections.open_at_end, 0);
    assert!(outcome.record.total.unsent > 0, "users were waiting: {:?}", outcome.record.total);
}

/// Fault (servers): a server goes away while the engine drives: lost connections are counted and made again; a server that stays away ends the drive
#[test]
fn a_server_that_comes_back_in_time_is_used_again() {
    let first = server(|_| {});
    let port = first.port();
    let changes = json!({"phases": {"measure_s": 1.0}, "timeouts": {"gone_s": 20.0}});
    let begun = begin(plan(port, changes));
    first.stop();
    let second = server(|options| options.port = port);
    let outcome = finish(begun);
    assert!(second.commands() > 0);
    assert!(outcome.record.connections.lost >= 1);
    assert_eq!(outcome.record.stopped, None);
}
