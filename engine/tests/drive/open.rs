//! The open model.

use crate::support::{drive, plan, server};
use loadstone_engine::null_server::Fault;
use serde_json::json;

#[test]
fn constant_arrivals_are_offered_exactly_as_often_as_planned() {
    for threads in [1, 2] {
        let server = server(|_| {});
        let changes = json!({
            "threads": threads, "model": {"kind": "open", "rate_per_s": 2000.0},
            "phases": {"ramp_up_s": 0, "warm_up_s": 0.05, "measure_s": 0.25},
        });
        let outcome = drive(plan(server.port(), changes));
        assert_eq!(outcome.counts("get").offered, 500);
        assert_eq!(outcome.counts("get").ok, 500);
        assert_eq!(outcome.record.schedule_lag_ns.count, 500);
        assert_eq!(outcome.record.pool_wait_ns.count, 500);
    }
}

#[test]
fn poisson_arrivals_have_the_planned_mean_and_may_share_connections() {
    let server = server(|_| {});
    let changes = json!({
        "model": {"kind": "open", "rate_per_s": 4000.0, "arrivals": "poisson", "spin_us": 20.0},
        "pipeline_depth": 4, "pool": {"connections": 2}, "phases": {"measure_s": 0.5},
    });
    let outcome = drive(plan(server.port(), changes));
    let offered = outcome.counts("get").offered as f64;
    assert!((offered - 2000.0).abs() < 6.0 * 2000f64.sqrt(), "{offered} offered");
    assert_eq!(outcome.counts("get").ok, outcome.counts("get").offered);
}

#[test]
fn arrivals_that_find_the_backlog_full_are_dropped_and_counted() {
    let server = server(|options| options.delay_us = 20_000.0);
    let changes = json!({
        "model": {"kind": "open", "rate_per_s": 1000.0, "backlog_max": 5}, "pool": {"connections": 1},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0},
    });
    let outcome = drive(plan(server.port(), changes));
    let counts = outcome.counts("get");
    assert!(counts.dropped > 0 && counts.ok > 0, "{counts:?}");
    assert!(outcome.intervals.iter().all(|interval| interval["backlog"].as_u64().unwrap() <= 5));
}

#[test]
fn what_still_waits_when_the_drain_ends_is_unsent() {
    let server = server(|options| options.delay_us = 50_000.0);
    let changes = json!({
        "model": {"kind": "open", "rate_per_s": 1000.0}, "pool": {"connections": 1}, "phases": {"drain_s": 0.1},
    });
    let outcome = drive(plan(server.port(), changes));
    let counts = outcome.counts("get");
    assert!(counts.unsent > 0, "{counts:?}");
    assert_eq!(outcome.record.total.in_flight, 1);
}

#[test]
fn a_freeze_of_the_server_shows_in_the_response_times() {
    // Frozen for the last 0.2 s of each 0.5 s: two arrivals in five are intended in a freeze.
    let server = server(|options| (options.delay_us, options.freeze_every_s, options.freeze_s) = (1000.0, 0.5, 0.2));
    let changes = json!({
        "model": {"kind": "open", "rate_per_s": 500.0},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 1.0},
    });
    let outcome = drive(plan(server.port(), changes));
    let response = &outcome.record.operations["get"].response_ns;
    assert!(response.p99 > 150_000_000, "P99 is {} ns", response.p99);
    assert!(response.p50 >= 1_000_000, "P50 is {} ns", response.p50);
    // Few connections were there to wait: most of the time was spent waiting for one of them.
    assert!(outcome.record.pool_wait_ns.max > 100_000_000);
    assert_eq!(outcome.counts("get").ok, 500);
}

#[test]
fn arrivals_over_a_failing_connection_are_accounted_for() {
    for depth in [1, 3] {
        let server = server(|options| options.fault = Some(Fault::CloseAfter { commands: 20 }));
        let changes = json!({
            "model": {"kind": "open", "rate_per_s": 2000.0}, "pipeline_depth": depth, "threads": 2,
        });
        let outcome = drive(plan(server.port(), changes));
        assert!(outcome.record.connections.lost > 0);
        assert!(outcome.record.total.ok > 0);
    }
}
