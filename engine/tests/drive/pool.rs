//! The pool of connections within a drive.

use crate::support::{HANGS_S, drive, plan, server};
use serde_json::json;

#[test]
fn users_wait_for_a_pool_that_is_too_small_and_the_wait_is_measured_apart() {
    let server = server(|options| options.delay_us = 2000.0);
    let changes = json!({
        "model": {"kind": "closed", "users": 4}, "pool": {"connections": 1},
        "phases": {"measure_operations": 100, "measure_max_s": HANGS_S},
    });
    let record = drive(plan(server.port(), changes)).record;
    let get = &record.operations["get"];
    assert!(record.pool_wait_ns.p50 >= 5_900_000, "3 others are served first: {} ns", record.pool_wait_ns.p50);
    assert!(get.response_ns.p50 >= 7_900_000 && get.service_ns.p50 < get.response_ns.p50);
}

#[test]
fn connections_beyond_the_idle_ones_are_opened_on_demand() {
    let server = server(|options| options.delay_us = 1000.0);
    let model = json!({"kind": "closed", "users": 3, "operations_per_user": 50});
    let changes = json!({"model": model, "pool": {"connections": 10, "min_idle": 1}});
    let outcome = drive(plan(server.port(), changes));
    let connections = &outcome.record.connections;
    assert_eq!((connections.planned, connections.opened, connections.closed_idle), (10, 3, 0));
    assert_eq!(connections.open_at_end, 3);
}

#[test]
fn surplus_idle_connections_are_closed() {
    let server = server(|options| options.delay_us = 500.0);
    let changes = json!({
        "model": {
            "kind": "closed", "users": 6, "operations_per_user": 30, "think_time_ms": 5.0, "think_time": "exponential",
        },
        "pool": {"connections": 6, "max_idle": 2, "order": "fifo"},
    });
    let record = drive(plan(server.port(), changes)).record;
    let connections = &record.connections;
    assert!(connections.closed_idle > 0, "{connections:?}");
    assert_eq!(connections.opened, connections.open_at_end + connections.closed_idle);
    assert_eq!((connections.lost, connections.failed), (0, 0));
}

#[test]
fn a_pool_without_idle_connections_works() {
    let server = server(|_| {});
    let changes =
        json!({"pool": {"connections": 4, "min_idle": 0, "max_idle": 0}, "model": {"kind": "closed", "users": 2}});
    let record = drive(plan(server.port(), changes)).record;
    assert!(record.total.ok > 0);
}

#[test]
fn connections_are_spread_evenly_over_the_endpoints() {
    let servers = [server(|_| {}), server(|_| {})];
    let endpoints: Vec<_> = servers.iter().map(|server| json!({"port": server.port()})).collect();
    let changes = json!({
        "endpoints": endpoints, "threads": 2, "pool": {"connections": 4, "order": "fifo"},
        "model": {"kind": "closed", "users": 4},
    });
    drive(plan(0, changes));
    assert!(servers.iter().all(|server| server.commands() > 0));
}
