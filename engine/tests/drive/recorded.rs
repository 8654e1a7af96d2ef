//! A recording that is sent again: its times, its order, and what came of it.

use crate::prepared::{Command, Prepared, recorded};
use crate::resp_server::Server;
use crate::support::{drive, plan, server};
use loadstone_engine::drive::Drive;
use loadstone_engine::plan::Plan;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const CLIENTS: u32 = 6;

/// `SET key<client> <number>`, by the time in milliseconds and the client.
fn prepared(name: &str, commands: &[(u64, u32)]) -> Prepared {
    let command = |(number, (at_ms, client)): (usize, &(u64, u32))| {
        Command::new(*at_ms, *client, &format!("SET @key{client} {number}"))
    };
    Prepared::new(name, &commands.iter().enumerate().map(command).collect::<Vec<_>>())
}

fn spread() -> Vec<(u64, u32)> {
    (0..300).map(|number: u32| (u64::from(number), number * 7 % CLIENTS)).collect()
}

#[test]
fn every_command_is_sent_once_and_each_clients_in_their_order() {
    let models = [recorded(), json!({"kind": "closed", "users": 3})];
    for (model, threads, depth) in [(0, 1, 1), (0, 2, 4), (1, 1, 1), (1, 2, 4)] {
        let file = prepared(&format!("order-{model}-{threads}"), &spread());
        let seen: Arc<Mutex<Vec<(String, u32)>>> = Arc::default();
        let noted = seen.clone();
        let server = Server::start(move |received| {
            if let [name, key, number] = received.arguments
                && name == "SET"
            {
                noted.lock().unwrap().push((key.clone(), number.parse().unwrap()));
            }
            vec![b"+OK\r\n".to_vec()]
        });
        let changes = json!({"threads": threads, "pool": {"connections": 3}, "pipeline_depth": depth});
        let outcome = drive(file.plan(server.port, models[model].clone(), changes));
        assert_eq!((outcome.counts("set").ok, outcome.errors()), (300, 0));
        assert_eq!(outcome.record.commands["SET"].sent, 300);
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 300);
        for client in 0..CLIENTS {
            let own: Vec<u32> =
                seen.iter().filter(|(key, _)| *key == format!("p:key{client}")).map(|(_, number)| *number).collect();
            assert!(own.len() == 50 && own.is_sorted(), "client {client}: {own:?}");
        }
    }
}

#[test]
fn it_comes_at_the_recorded_times_or_faster() {
    let server = server(|_| {});
    for (speed, least_s) in [(1.0, 0.299), (3.0, 0.099)] {
        let file = prepared(&format!("speed-{speed}"), &spread());
        let changes = json!({"recording": {"speed": speed}});
        let outcome = drive(file.plan(server.port(), recorded(), changes));
        assert_eq!(outcome.counts("set").ok, 300);
        assert_eq!(outcome.record.schedule_lag_ns.count, 300);
        assert!(outcome.record.measure_s >= least_s, "{} s", outcome.record.measure_s);
    }
}

#[test]
fn latency_counts_from_the_time_of_the_recording() {
    // All of one client at once: each waits for those before it.
    let slow = server(|options| options.delay_us = 10_000.0);
    let file = prepared("intended", &[(0, 0); 20]);
    let response = |model| {
        let outcome = drive(file.plan(slow.port(), model, json!({"pool": {"connections": 1}})));
        assert_eq!(outcome.counts("set").ok, 20);
        outcome.record.operations["set"].response_ns.clone()
    };
    assert!(response(recorded()).max >= 200_000_000);
    let (fastest, last) = (response(json!({"kind": "closed", "users": 1})), 190_000_000);
    assert!(fastest.min < last, "as fast as possible: from when it could be sent, {} ns", fastest.min);
}

#[test]
fn how_much_was_done_at_once_is_counted() {
    let server = server(|_| {});
    let outcome = drive(plan(server.port(), json!({"pipeline_depth": 8, "phases": {"warm_up_s": 0, "ramp_up_s": 0}})));
    let calls = outcome.record.threads[0].calls;
    assert!(calls.wakeups > 0 && calls.receives > 0, "{calls:?}");
    assert!(calls.requests >= 8 * calls.sends, "eight requests in each send: {calls:?}");
    assert!(calls.replies <= calls.requests && calls.replies >= calls.receives, "{calls:?}");
}

#[test]
fn a_plan_that_does_not_fit_its_recording_is_refused() {
    let file = prepared("refused", &spread());
    let refused = |changes: Value| {
        let mut all = crate::support::plan_json(1, json!({"recording": {"path": file.path()}}));
        all["operations"] = json!([{"name": "set", "commands": [{"args": ["SET"]}]}]);
        crate::support::lay_over(&mut all, changes);
        match Plan::from_json(&all.to_string()) {
            Ok(plan) => Drive::new(plan).unwrap_err().field,
            Err(error) => error.field,
        }
    };
    assert_eq!(refused(json!({"model": {"kind": "open", "rate_per_s": 1.0}})), "model.arrivals");
    assert_eq!(refused(json!({"recording": {"speed": 0.0}})), "recording.speed");
    assert_eq!(refused(json!({"recording": {"path": "/no/such"}})), "recording.path");
    assert_eq!(refused(json!({"protocol": "memcached"})), "protocol");
    let operations = json!([{"name": "set", "commands": [{"args": ["SET", "{key}"]}]}]);
    assert_eq!(refused(json!({"operations": operations})), "operations[0].commands");
}
