//! Agents that share a plan: what all of them send together is what one sends.

use crate::resp_server::Server;
use crate::support::{AHEAD_NS, HANGS_S, Outcome, PATIENCE, check, finish, lay_over, plan, server};
use loadstone_engine::drive::Drive;
use loadstone_engine::plan::Plan;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How often each command came in, whole.
type Seen = Arc<Mutex<BTreeMap<Vec<String>, u32>>>;

/// A store of texts that notes all commands.
fn store(seen: &Seen) -> Server {
    let (seen, values) = (seen.clone(), Mutex::new(HashMap::new()));
    Server::start(move |received| {
        *seen.lock().unwrap().entry(received.arguments.to_vec()).or_default() += 1;
        let mut values = values.lock().unwrap();
        let reply = match received.arguments {
            [_, key, value] => {
                values.insert(key.clone(), value.clone());
                "+OK\r\n".to_string()
            }
            [_, key] => {
                values.get(key).map_or("$-1\r\n".into(), |text: &String| format!("${}\r\n{text}\r\n", text.len()))
            }
            _ => "+OK\r\n".into(),
        };
        vec![reply.into_bytes()]
    })
}

/// Drives a plan by so many agents, which begin at one instant.
fn by_agents(port: u16, agents: usize, changes: &Value) -> Vec<Outcome> {
    let agent = |number: usize| {
        let mut changes = changes.clone();
        lay_over(&mut changes, json!({"share": {"number": number, "of": agents}}));
        let drive = Drive::new(plan(port, changes)).expect("the plan can be shared");
        let opened = drive.open().expect("the server takes connections");
        (drive, opened)
    };
    let all: Vec<_> = (0..agents).map(agent).collect();
    let at_ns = now_ns() + AHEAD_NS;
    let begin = |(drive, opened): (Drive, _)| {
        assert_eq!(drive.begin_at(opened, Some(at_ns)), Ok(at_ns), "it is in time");
        drive
    };
    let begun: Vec<Drive> = all.into_iter().map(begin).collect();
    let outcomes: Vec<Outcome> = begun.into_iter().map(|drive| finish((drive, Vec::new()))).collect();
    for Outcome { record, .. } in &outcomes {
        assert_eq!(record.started_monotonic_ns, at_ns);
    }
    outcomes
}

/// This machine's CLOCK_MONOTONIC.
pub fn now_ns() -> u64 {
    loadstone_engine::machine::clock::system_ns(libc::CLOCK_MONOTONIC)
}

fn sum(outcomes: &[Outcome], of: impl Fn(&Outcome) -> u64) -> u64 {
    outcomes.iter().map(of).sum()
}

#[test]
fn all_agents_together_send_the_very_commands_of_one_in_an_open_model() {
    for arrivals in ["constant", "poisson"] {
        let changes = |threads: usize| {
            json!({
                "model": {"kind": "open", "rate_per_s": 1500.0, "arrivals": arrivals}, "threads": threads,
                "phases": {"ramp_up_s": 0.1, "warm_up_s": 0.1, "measure_s": 0.4}, "pool": {"connections": 13},
                "operations": [
                    {"name": "echo", "weight": 2, "commands": [{"args": ["ECHO", "{seq} {random 3 lowercase}"]}]},
                    {"name": "set", "commands": [{"args": ["SET", "{key}", "{uniform 1..5000}"]}]},
                ],
            })
        };
        let (one, several) = (Seen::default(), Seen::default());
        let of_one = by_agents(store(&one).port, 1, &changes(6));
        let of_several = by_agents(store(&several).port, 3, &changes(2));
        assert_eq!(*one.lock().unwrap(), *several.lock().unwrap(), "{arrivals}");
        let figures: [fn(&Outcome) -> u64; 3] =
            [|one| one.counts("set").offered, |one| one.counts("echo").ok, |one| one.record.total.offered];
        for of in figures {
            assert_eq!(sum(&of_one, of), sum(&of_several, of), "{arrivals}");
        }
        assert_eq!(sum(&of_several, |one| one.record.connections.planned), 13);
    }
}

#[test]
fn users_and_what_each_does_are_divided() {
    let server = server(|_| {});
    let changes = json!({
        "model": {"kind": "closed", "users": 7, "operations_per_user": 20, "operations_more": 3}, "threads": 2,
        "pool": {"connections": 7}, "phases": {"ramp_up_s": 0, "warm_up_s": 0},
    });
    let outcomes = by_agents(server.port(), 3, &changes);
    assert_eq!(sum(&outcomes, |one| one.record.total.ok), 143);
    let ok: Vec<u64> = outcomes.iter().map(|one| one.record.total.ok).collect();
    // Of seven users the first of six threads has two.
    assert_eq!(ok, [62, 41, 40], "the first three of all users do one more");
}

#[test]
fn each_key_is_written_once_by_one_agent() {
    let seen = Seen::default();
    let store = store(&seen);
    let changes = json!({
        "model": {"kind": "closed", "users": 6}, "threads": 2, "phases": {"ramp_up_s": 0, "warm_up_s": 0},
        "pool": {"connections": 6}, "keys": {"count": 100, "distribution": "exactly_once"},
        "operations": [{"name": "set", "commands": [{"args": ["SET", "{key}", "{value}"], "expect": "ok"}]}],
    });
    let outcomes = by_agents(store.port, 3, &changes);
    assert_eq!(sum(&outcomes, |one| one.record.total.ok), 100);
    let seen = seen.lock().unwrap();
    let written: Vec<&Vec<String>> = seen.keys().filter(|command| command[0] == "SET").collect();
    assert!(written.len() == 100 && seen.values().max() == Some(&1), "{} keys", written.len());
}

#[test]
fn what_other_agents_wrote_is_no_error() {
    let store = store(&Seen::default());
    let changes = json!({
        "model": {"kind": "closed", "users": 6}, "pool": {"connections": 6}, "keys": {"count": 5}, "operations": [
            {"name": "set", "writes": "document", "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}],
             "read_back": {"args": ["GET", "{key}"], "expect": "document"}},
            {"name": "get", "weight": 4, "commands": [{"args": ["GET", "{key}"], "expect": "document"}]},
        ],
    });
    let outcomes = by_agents(store.port, 3, &changes);
    assert!(outcomes.iter().all(|one| one.counts("get").ok > 0 && one.counts("set").ok > 0));
    assert_eq!(sum(&outcomes, Outcome::errors), 0, "{:?}", outcomes[0].record.examples);
    assert_eq!(sum(&outcomes, |one| one.record.read_back.wrong), 0);
    assert!(sum(&outcomes, |one| one.record.read_back.checked) > 0);
}

#[test]
fn a_cluster_has_a_connection_of_each_agent_to_each_node() {
    let nodes = [server(|_| {}), server(|_| {})];
    let ports = nodes.each_ref().map(|node| node.port());
    let changes = json!({
        "endpoints": [{"port": ports[0], "slots": [[0, 8000]]}, {"port": ports[1], "slots": [[8001, 16383]]}],
        "model": {"kind": "open", "rate_per_s": 1000.0}, "threads": 2, "pool": {"connections": 1},
    });
    let outcomes = by_agents(0, 3, &changes);
    let planned: Vec<u64> = outcomes.iter().map(|one| one.record.connections.planned).collect();
    assert_eq!(planned, [2, 2, 2]);
    assert!(outcomes.iter().all(|one| one.record.endpoints.iter().all(|endpoint| endpoint.ok > 0)));
}

#[test]
fn more_agents_than_there_is_to_divide_are_refused() {
    let refused = |changes: Value| Drive::new(plan(1, changes)).unwrap_err().to_string();
    let share = json!({"number": 4, "of": 5});
    let few_users = refused(json!({"share": share, "pool": {"connections": 5}}));
    assert_eq!(few_users, "share.of: 5: more agents than users; use at most 4, or more users");
    let open = json!({"kind": "open", "rate_per_s": 5.0});
    let few_connections = refused(json!({"share": share, "model": open}));
    assert_eq!(few_connections, "share.of: 5: more agents than connections; use at most 4, or more connections");
}

#[test]
fn agents_measure_until_they_have_done_enough_together() {
    let server = server(|_| {});
    let changes = json!({
        "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 0.05, "measure_operations": 1, "measure_max_s": 60.0},
        "share": {"number": 0, "of": 2}, "threads": 2,
    });
    let drive = Drive::new(plan(server.port(), changes)).unwrap();
    drive.start().unwrap();
    let mut intervals = Vec::new();
    for _ in 0..6 {
        intervals.push(serde_json::from_str(&drive.next_interval(PATIENCE).unwrap()).unwrap());
    }
    let end_ns = now_ns() + AHEAD_NS;
    drive.end_measure_at(end_ns);
    let outcome = finish((drive, intervals));
    let record = &outcome.record;
    assert!(record.measure_s > 0.2, "it went on although one operation was done: {}", record.measure_s);
    let ended_ns = record.started_monotonic_ns + (record.measure_s * 1e9).round() as u64;
    assert!(ended_ns.abs_diff(end_ns) < 1000, "{ended_ns} and not {end_ns}");
    assert_eq!(record.stopped, None);
}

#[test]
fn an_instant_that_has_passed_is_now_and_the_record_says_when() {
    let server = server(|_| {});
    let drive = Drive::new(plan(server.port(), json!({}))).unwrap();
    let opened = drive.open().unwrap();
    let asked_ns = now_ns();
    let at_ns = drive.begin_at(opened, Some(asked_ns - 1_000_000_000)).unwrap();
    let outcome = finish((drive, Vec::new()));
    assert!(at_ns > asked_ns && outcome.record.started_monotonic_ns == at_ns);
    assert!(outcome.record.start_lag_ns < 1_000_000_000 * HANGS_S as u64);
}

#[test]
fn an_instant_of_another_machines_clock_is_refused() {
    let server = server(|_| {});
    let at_ns = now_ns() + 90_000 * 1_000_000_000;
    let drive = Drive::new(plan(server.port(), json!({"start_at_monotonic_ns": at_ns}))).unwrap();
    let why = drive.start().unwrap_err().to_string();
    assert!(
        why.ends_with("was to begin in more than a day, by this machine's clock; choose an earlier instant"),
        "{why}"
    );
    assert_eq!(server.commands(), 0);
}

#[test]
fn the_load_begins_at_its_instant_of_the_monotonic_clock() {
    let server = server(|_| {});
    let at_ns = now_ns() + AHEAD_NS;
    let drive = Drive::new(plan(server.port(), json!({"start_at_monotonic_ns": at_ns, "threads": 2}))).unwrap();
    drive.start().unwrap();
    assert!(drive.next_interval(Duration::ZERO).is_none() && now_ns() < at_ns);
    let outcome = finish((drive, Vec::new()));
    check(&outcome);
    assert_eq!(outcome.record.started_monotonic_ns, at_ns);
    let both = json!({"start_at_monotonic_ns": 5, "start_at_unix_ns": 5});
    let error = Plan::from_json(&crate::support::plan_json(1, both).to_string()).unwrap_err();
    assert_eq!(error.to_string(), "start_at_monotonic_ns: 5: stands beside start_at_unix_ns; leave one of them out");
}
