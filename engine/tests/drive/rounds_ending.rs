//! Drives that take turns come to their end, however that comes about, and what cannot take turns is named.

use crate::rounds::{ROUNDS, SLICE_S, begun, finish, made, options, sliceable};
use crate::support::{HANGS_S, PATIENCE, server};
use loadstone_engine::null_server::Fault;
use loadstone_engine::record::slices::SliceRecord;
use loadstone_engine::rounds::Rounds;
use serde_json::json;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// An end without delay, on a busy machine.
const SOON: Duration = Duration::from_millis(900);

#[test]
fn stop_ends_all_drives_in_mid_slice() {
    let servers = [server(|_| {}), server(|options| options.delay_us = 2000.0), server(|_| {})];
    let open = json!({"model": {"kind": "open", "rate_per_s": 2000.0}});
    for slices_before in [0, 4] {
        let changes = json!({"slice_s": if slices_before == 0 { 60.0 } else { 0.02 }});
        let plans = [
            sliceable(servers[0].port(), json!({"threads": 2, "interval_s": 0.02})),
            sliceable(servers[1].port(), json!({"interval_s": 0.02})),
            sliceable(servers[2].port(), open.clone()),
        ];
        let rounds = begun(&plans, &options(3, 1000, changes));
        let taken = (0..slices_before).filter_map(|_| rounds.next_interval(PATIENCE)).count();
        std::thread::sleep(Duration::from_millis(30));
        let stopped_at = Instant::now();
        rounds.stop();
        while !rounds.finished() {
            rounds.next_interval(PATIENCE);
        }
        assert!(stopped_at.elapsed() < SOON, "{:?}", stopped_at.elapsed());
        for drive in 0..3 {
            let record = rounds.result(drive, PATIENCE).unwrap().unwrap();
            assert_eq!(record.stopped.as_deref(), Some("stopped on request"));
            assert!(record.total.conserved() && record.operations["get"].counts.conserved(), "{:?}", record.total);
            let sum = |of: fn(&SliceRecord) -> u64| record.slices.iter().map(of).sum::<u64>();
            assert_eq!(sum(|slice| slice.completed), record.operations["get"].window_completed);
            assert_eq!(sum(|slice| slice.offered), record.operations["get"].counts.offered);
        }
        assert_eq!(taken, slices_before);
    }
}

#[test]
fn the_rounds_end_with_a_drive_whose_server_is_gone() {
    let mortal = server(|_| {});
    let other = server(|_| {});
    let gone = json!({"timeouts": {"gone_s": 0.05}, "phases": {"drain_s": 0.02}, "interval_s": 0.02});
    let plans = [sliceable(mortal.port(), gone), sliceable(other.port(), json!({"interval_s": 0.02}))];
    let rounds = begun(&plans, &options(2, 100_000, json!({})));
    for _ in 0..4 {
        rounds.next_interval(PATIENCE).expect("the first rounds go well");
    }
    mortal.stop();
    let mut taken = 0;
    while !rounds.finished() {
        taken += usize::from(rounds.next_interval(PATIENCE).is_some());
        assert!(taken < 100_000, "it does not end");
    }
    let records: Vec<_> = (0..2).map(|drive| rounds.result(drive, PATIENCE).unwrap().unwrap()).collect();
    let why = records[0].stopped.clone().unwrap();
    assert!(why.starts_with("server gone: no connection for 0.1 s"), "{why}");
    assert_eq!(records[1].stopped.clone().unwrap(), format!("drive 0 of the rounds ended: {why}"));
    assert!(records.iter().all(|record| record.total.conserved()));
    let whole = &records[1];
    assert_eq!((whole.total.in_flight, whole.total.unsent, whole.connections.lost), (0, 0, 0));
    assert_eq!(whole.commands["GET"].sent, other.commands());
    assert!(whole.slices.iter().all(|slice| (slice.end_s - slice.begin_s - SLICE_S).abs() < 1e-6));
}

#[test]
fn a_connection_that_is_lost_again_and_again_holds_nobody_up() {
    let failing = server(|options| options.fault = Some(Fault::CloseAfter { commands: 30 }));
    let other = server(|_| {});
    let changes = json!({"timeouts": {"request_ms": 50.0}, "threads": 2});
    let plans = [sliceable(failing.port(), changes), sliceable(other.port(), json!({}))];
    let outcomes = finish(&begun(&plans, &options(2, ROUNDS, json!({}))));
    assert!(outcomes[0].record.connections.lost > 0);
    assert!(outcomes.iter().all(|outcome| outcome.record.slices.len() == ROUNDS));
    assert_eq!(outcomes[1].errors(), 0);
}

#[test]
fn a_request_times_out_in_the_drain_as_it_does_elsewhere() {
    let silent = server(|options| options.fault = Some(Fault::Silence { nth: 50 }));
    let other = server(|_| {});
    let changes = json!({"timeouts": {"request_ms": 60.0}, "pool": {"connections": 4}});
    let plans = [sliceable(silent.port(), changes), sliceable(other.port(), json!({}))];
    let outcomes = finish(&begun(&plans, &options(2, ROUNDS, json!({}))));
    assert!(outcomes[0].record.total.timeouts > 0, "{:?}", outcomes[0].record.total);
    assert_eq!(outcomes[0].record.slices.len(), ROUNDS);
    let longest_s = outcomes[0].record.slices.iter().map(|slice| slice.drained_s - slice.end_s).fold(0.0, f64::max);
    assert!((0.03..HANGS_S / 2.0).contains(&longest_s), "{longest_s}");
}

#[test]
fn rounds_that_cannot_begin_say_why_and_leave_nothing_behind() {
    let there = server(|_| {});
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let plans = [sliceable(there.port(), json!({})), sliceable(port, json!({}))];
    let rounds = made(&plans, &options(2, ROUNDS, json!({})));
    let why = rounds.start().unwrap_err().to_string();
    assert!(why.contains(&format!("127.0.0.1:{port}: ")), "{why}");
    assert!(rounds.start().unwrap_err().to_string().contains("started before"));
    assert_eq!(there.commands(), 0);
}

#[test]
fn rounds_that_are_dropped_leave_nothing_behind() {
    let server = server(|_| {});
    let plans = [sliceable(server.port(), json!({})), sliceable(server.port(), json!({}))];
    let rounds = begun(&plans, &options(2, 1000, json!({"slice_s": 60.0})));
    std::thread::sleep(Duration::from_millis(20));
    let dropped_at = Instant::now();
    drop(rounds);
    assert!(dropped_at.elapsed() < SOON, "{:?}", dropped_at.elapsed());
}

#[test]
fn plans_that_cannot_be_had_in_slices_are_named() {
    let cases = [
        (json!({"phases": {"measure_operations": 5}}), "phases.measure_operations"),
        (json!({"phases": {"ramp_up_s": 1}}), "phases.ramp_up_s"),
        (json!({"model": {"kind": "closed", "users": 1, "operations_per_user": 3}}), "model.operations_per_user"),
        (json!({"keys": {"distribution": "exactly_once"}}), "keys.distribution"),
        (json!({"start_at_unix_ns": 5}), "start_at_unix_ns"),
        (
            json!({"model": {"kind": "closed", "users": 4,
                "ramp_up": {"initial_users": 1, "step_users": 1, "step_every_s": 1.0}}}),
            "model.ramp_up",
        ),
        (
            json!({"model": {"kind": "open", "rate_per_s": 5.0,
                "schedule": [{"rate_per_s": 5.0, "duration_s": 1.0}]}}),
            "model.schedule",
        ),
        (json!({"threads": 0}), "threads"),
    ];
    for (changes, field) in cases {
        let plans = [sliceable(1, json!({})).to_string(), sliceable(1, changes).to_string()];
        let error = Rounds::new(&plans, &options(2, 1, json!({})).to_string()).unwrap_err();
        assert_eq!(error.field, format!("plans[1].{field}"), "{error}");
    }
    assert_eq!(Rounds::new(&[], "{}").unwrap_err().field, "plans");
}
