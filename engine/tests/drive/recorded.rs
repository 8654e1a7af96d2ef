//! A recording that is sent again: its times, its order, and what came of it.

use crate::resp_server::Server;
use crate::support::{drive, plan, server};
use loadstone_engine::drive::Drive;
use loadstone_engine::plan::Plan;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const CLIENTS: u32 = 6;

/// A file as it is prepared for drivers; it is removed with this.
struct Prepared(PathBuf);

impl Prepared {
    /// `SET key<client> <number>`, by the time in milliseconds and the client.
    fn new(name: &str, commands: &[(u64, u32)]) -> Self {
        let path = std::env::temp_dir().join(format!("loadstone-replay-{}-{name}", std::process::id()));
        let mut bytes = b"recorded".to_vec();
        for (number, (at_ms, client)) in commands.iter().enumerate() {
            let arguments =
                [("SET".to_string(), 0), (format!("key{client}"), 1), (number.to_string(), 0)].map(|(text, is_key)| {
                    [&((text.len() as u32) << 2 | is_key).to_le_bytes()[..], text.as_bytes()].concat()
                });
            let body = arguments.concat();
            bytes.extend((at_ms * 1_000_000).to_le_bytes());
            [*client, 0, 3, body.len() as u32].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
            bytes.extend(body);
        }
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }

    fn plan(&self, port: u16, model: Value, changes: Value) -> Plan {
        let mut all = json!({
            "model": model, "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_max_s": 20.0},
            "recording": {"path": self.0.to_str().unwrap()}, "keys": {"prefix": "p:"},
            "operations": [{"name": "set", "commands": [{"args": ["SET"]}]}],
        });
        crate::support::lay_over(&mut all, changes);
        plan(port, all)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn recorded() -> Value {
    json!({"kind": "open", "rate_per_s": 1000.0, "arrivals": "recorded"})
}

fn spread() -> Vec<(u64, u32)> {
    (0..300).map(|number: u32| (u64::from(number), number * 7 % CLIENTS)).collect()
}

#[test]
fn every_command_is_sent_once_and_each_clients_in_their_order() {
    let models = [recorded(), json!({"kind": "closed", "users": 3})];
    for (model, threads, depth) in [(0, 1, 1), (0, 2, 4), (1, 1, 1), (1, 2, 4)] {
        let prepared = Prepared::new(&format!("order-{model}-{threads}"), &spread());
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
        let outcome = drive(prepared.plan(server.port, models[model].clone(), changes));
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
        let prepared = Prepared::new(&format!("speed-{speed}"), &spread());
        let changes = json!({"recording": {"speed": speed}});
        let outcome = drive(prepared.plan(server.port(), recorded(), changes));
        assert_eq!(outcome.counts("set").ok, 300);
        assert_eq!(outcome.record.schedule_lag_ns.count, 300);
        assert!(outcome.record.measure_s >= least_s, "{} s", outcome.record.measure_s);
    }
}

#[test]
fn latency_counts_from_the_time_of_the_recording() {
    // All of one client at once: each waits for those before it.
    let slow = server(|options| options.delay_us = 10_000.0);
    let prepared = Prepared::new("intended", &[(0, 0); 20]);
    let response = |model| {
        let outcome = drive(prepared.plan(slow.port(), model, json!({"pool": {"connections": 1}})));
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
    let prepared = Prepared::new("refused", &spread());
    let refused = |changes: Value| {
        let mut all = crate::support::plan_json(1, json!({"recording": {"path": prepared.0.to_str().unwrap()}}));
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
