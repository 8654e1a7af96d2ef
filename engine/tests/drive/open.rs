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
fn what_of_a_response_time_may_be_the_engines_own_is_bounded() {
    let server = server(|options| options.delay_us = 2000.0);
    for spin_us in [0.0, 200.0] {
        let changes = json!({
            "model": {"kind": "open", "rate_per_s": 1000.0, "spin_us": spin_us}, "pool": {"connections": 50},
            "phases": {"ramp_up_s": 0, "warm_up_s": 0.1, "measure_s": 0.4},
        });
        let outcome = drive(plan(server.port(), changes));
        let operation = &outcome.record.operations["get"];
        let (response, least) = (&operation.response_ns, operation.least_ns.as_ref().expect("an open load has it"));
        assert_eq!((least.count, response.count), (400, 400));
        for (least, response) in [(least.min, response.min), (least.p50, response.p50), (least.p99, response.p99)] {
            assert!(least <= response, "{least} of {response}");
        }
        assert!(response.min >= 2_000_000, "the true one is not below it: {}", response.min);
        let notice = outcome.record.notice_lag_ns.as_ref().expect("an open load has it");
        assert!(notice.count >= 390 && notice.max <= response.max, "{notice:?}");
        let spun_ns: u64 = outcome.record.threads.iter().map(|thread| thread.calls.spun_ns).sum();
        assert_eq!(spun_ns > 0, spin_us > 0.0, "{spun_ns}");
    }
    let closed = drive(plan(server.port(), json!({"phases": {"measure_s": 0.1}})));
    assert!(closed.record.operations["get"].least_ns.is_none() && closed.record.notice_lag_ns.is_none());
}

#[test]
fn to_wait_for_a_connection_that_the_server_holds_is_not_the_engines_own_lateness() {
    let server = server(|options| options.delay_us = 10_000.0);
    let changes = json!({
        "model": {"kind": "open", "rate_per_s": 300.0}, "pool": {"connections": 1},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 0.5, "drain_s": 10},
    });
    let outcome = drive(plan(server.port(), changes));
    let operation = &outcome.record.operations["get"];
    let least = operation.least_ns.as_ref().unwrap();
    // 150 requests, answered one after the other in 10 ms each: half of them after 500 ms or more.
    assert!(operation.response_ns.p50 > 400_000_000, "{:?}", operation.response_ns);
    assert!(least.p50 > operation.response_ns.p50 / 2, "{least:?} of {:?}", operation.response_ns);
}

#[cfg(target_os = "linux")]
#[test]
fn an_open_load_is_polled_for_the_kernels_stamps_unless_the_plan_requires_otherwise() {
    let server = server(|_| {});
    let changes = json!({"model": {"kind": "open", "rate_per_s": 500.0}});
    let outcome = drive(plan(server.port(), changes));
    assert_eq!(outcome.record.back_end.name, "epoll");
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
