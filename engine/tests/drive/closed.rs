//! The closed model.

use crate::support::{HANGS_S, drive, plan, server};
use loadstone_engine::plan::Expect;
use loadstone_engine::record::outcome::Phase;
use serde_json::json;

#[test]
fn users_ask_again_as_soon_as_they_are_answered() {
    let server = server(|_| {});
    let outcome = drive(plan(server.port(), json!({"phases": {"measure_operations": 400, "measure_max_s": HANGS_S}})));
    let record = &outcome.record;
    assert!(record.operations["get"].window_ok > 0);
    assert_eq!((outcome.errors(), record.total.timeouts, record.total.in_flight), (0, 0, 0));
    assert_eq!(record.commands["GET"].sent, server.commands());
    assert_eq!(record.commands["GET"].replied, record.total.ok);
    assert_eq!(record.stopped, None);
    assert_eq!(record.connections.opened, 4);
}

#[test]
fn a_mix_of_pipelined_operations_over_two_threads_is_accounted_for() {
    let server = server(|options| {
        options.replies.insert("GET".into(), Expect::Value);
    });
    let outcome = drive(plan(
        server.port(),
        json!({
            "threads": 2, "pipeline_depth": 8, "model": {"kind": "closed", "users": 6},
            "phases": {"measure_operations": 400, "measure_max_s": HANGS_S},
            "operations": [
                {"name": "get", "weight": 3, "commands": [{"args": ["GET", "{key}"]}]},
                {"name": "set", "commands": [{"args": ["SET", "{key}", "{value}"], "expect": "ok"}]},
            ],
        }),
    ));
    let (get, set) = (outcome.counts("get"), outcome.counts("set"));
    assert!(set.ok > 0 && get.ok > set.ok, "get {} set {}", get.ok, set.ok);
    assert_eq!(outcome.record.threads.len(), 2);
    assert!(outcome.record.threads.iter().all(|thread| thread.cpu_s > 0.0));
    assert_eq!(outcome.record.commands.values().map(|command| command.sent).sum::<u64>(), server.commands());
}

#[test]
fn a_thread_stays_awake_for_the_replies_to_few_users() {
    let server = server(|options| options.delay_us = 50.0);
    let spun_ns = [(4, 200.0), (4, 0.0), (40, 200.0)].map(|(users, spin_us)| {
        let changes = json!({"model": {"kind": "closed", "users": users, "spin_us": spin_us},
            "pool": {"connections": users}, "phases": {"ramp_up_s": 0, "warm_up_s": 0.1, "measure_s": 0.2}});
        let outcome = drive(plan(server.port(), changes));
        assert_eq!((outcome.errors(), outcome.record.total.timeouts), (0, 0));
        outcome.record.threads.iter().map(|thread| thread.calls.spun_ns).sum::<u64>()
    });
    let [few, asleep, many] = spun_ns;
    // One of more users looks no longer than the stretch before an instant: that of an interval's end.
    assert!(few > many && many < 1_000_000 && asleep == 0, "{spun_ns:?}");
}

#[test]
fn the_drive_ends_when_every_user_has_done_its_operations() {
    let server = server(|_| {});
    let changes = json!({
        "model": {"kind": "closed", "users": 5, "operations_per_user": 33}, "pipeline_depth": 4, "threads": 2,
        "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 20},
    });
    let outcome = drive(plan(server.port(), changes));
    assert_eq!(outcome.counts("get").ok, 5 * 33);
    assert_eq!(server.commands(), 5 * 33);
    assert!(outcome.record.measure_s < 20.0);
}

#[test]
fn some_users_do_one_operation_more() {
    let server = server(|_| {});
    let changes = json!({
        "model": {"kind": "closed", "users": 7, "operations_per_user": 2, "operations_more": 6}, "threads": 3,
        "pool": {"connections": 7}, "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 20},
    });
    let outcome = drive(plan(server.port(), changes));
    assert_eq!((outcome.counts("get").ok, server.commands()), (20, 20));
}

#[test]
fn every_key_is_used_exactly_once_by_all_threads_together() {
    let server = server(|_| {});
    let changes = json!({
        "threads": 2, "keys": {"count": 501, "distribution": "exactly_once"}, "pipeline_depth": 3,
        "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 0.001},
    });
    let outcome = drive(plan(server.port(), changes));
    assert_eq!(outcome.counts("get").ok, 501);
    assert_eq!(server.commands(), 501);
}

#[test]
fn the_measure_phase_goes_on_until_enough_has_been_measured() {
    let server = server(|options| options.delay_us = 1000.0);
    let changes = json!({"phases": {"measure_s": 0.01, "measure_operations": 400, "measure_max_s": 30.0}});
    let outcome = drive(plan(server.port(), changes));
    let record = &outcome.record;
    assert!(record.operations["get"].window_completed >= 396, "{}", record.operations["get"].window_completed);
    assert!(outcome.counts("get").ok >= 400);
    // 4 users of 1 ms each: 400 operations take 0.1 s at the least.
    assert!(record.measure_s >= 0.099 && record.measure_s < 30.0, "{} s", record.measure_s);
}

#[test]
fn the_measure_phase_ends_at_its_longest() {
    let server = server(|options| options.delay_us = 1000.0);
    let changes = json!({"phases": {"measure_s": 0.05, "measure_operations": 1_000_000, "measure_max_s": 0.1}});
    let outcome = drive(plan(server.port(), changes));
    assert!((outcome.record.measure_s - 0.1).abs() < 1e-6, "{} s", outcome.record.measure_s);
}

/// Fault (limits): intervals end faster than they can be collected: the load goes on, and no count is lost
/// `check` compares the sums of all intervals with the record's.
#[test]
fn intervals_that_are_not_collected_in_time_are_joined() {
    let server = server(|_| {});
    for threads in [1, 2] {
        let changes = json!({"threads": threads, "interval_s": 20e-6,
            "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 0.3}});
        let outcome = drive(plan(server.port(), changes));
        assert!(outcome.record.joined_intervals > 0);
        let measured: Vec<_> = outcome.intervals.iter().filter(|one| one["phase"] == "measure").collect();
        assert!(measured.iter().any(|interval| interval["joined"].as_u64().is_some_and(|joined| joined > 0)));
        let length_s: f64 = measured.iter().map(|interval| interval["duration_s"].as_f64().unwrap()).sum();
        assert!((length_s - outcome.record.measure_s).abs() < 1e-6, "{length_s} of {}", outcome.record.measure_s);
        assert!(measured.iter().all(|interval| interval["connections"].as_u64().unwrap() <= 4));
    }
}

#[test]
fn phases_are_as_long_as_planned_and_intervals_end_where_they_end() {
    let server = server(|_| {});
    let outcome = drive(plan(server.port(), json!({"interval_s": 0.08})));
    let phase = |phase| outcome.record.phases[&phase];
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(near(phase(Phase::WarmUp).start_s, 0.02) && near(phase(Phase::WarmUp).end_s, 0.07));
    assert!(near(phase(Phase::Measure).start_s, 0.07) && near(phase(Phase::Measure).end_s, 0.27));
    assert!(phase(Phase::Drain).end_s >= phase(Phase::Measure).end_s);
    let measured: Vec<f64> = outcome
        .intervals
        .iter()
        .filter(|interval| interval["phase"] == "measure")
        .map(|interval| interval["duration_s"].as_f64().unwrap())
        .collect();
    assert_eq!(measured.len(), 3);
    assert!(near(measured[0], 0.08) && near(measured[1], 0.08) && near(measured[2], 0.04), "{measured:?}");
}

#[test]
fn a_thinking_user_does_not_ask_more_often_than_it_thinks() {
    let server = server(|_| {});
    let changes = json!({
        "model": {"kind": "closed", "users": 4, "think_time_ms": 10.0}, "phases": {"ramp_up_s": 0, "warm_up_s": 0},
    });
    let outcome = drive(plan(server.port(), changes));
    let ok = outcome.record.total.ok;
    assert!((4..=4 * 21).contains(&ok), "{ok} operations in 0.2 s");
    assert!(outcome.record.schedule_lag_ns.count > 0);
}

#[test]
fn operations_of_two_commands_send_the_second_after_the_reply_to_the_first() {
    let server = server(|options| {
        options.replies.insert("GET".into(), Expect::Document);
    });
    let changes = json!({
        "pipeline_depth": 5,
        "operations": [{"name": "update", "writes": "field", "commands": [
            {"args": ["GET", "{key}"], "expect": "document"},
            {"args": ["SET", "{key}", "{changed}"], "expect": "ok"}]}],
        "keys": {"loaded": true}, "verify": {"count_mismatch": false},
    });
    let outcome = drive(plan(server.port(), changes));
    let record = &outcome.record;
    assert_eq!(outcome.errors(), 0, "{:?}", record.total.errors);
    assert!(record.total.ok > 0);
    assert_eq!(record.commands["GET"].replied, record.total.ok);
    assert_eq!(record.commands["SET"].replied, record.total.ok);
    assert_eq!(server.commands(), 2 * record.total.ok);
}

#[test]
fn large_replies_come_whole_whatever_pieces_they_arrive_in() {
    use loadstone_engine::null_server::Fault;
    for fault in [None, Some(Fault::Pieces { bytes: 70_001, pause_us: 50 })] {
        let server = server(|options| {
            options.document_bytes = 300_122;
            options.replies.insert("GET".into(), Expect::Document);
            options.fault = fault;
        });
        let changes = json!({
            "pipeline_depth": 2, "documents": {"payload_bytes": 300_000}, "verify": {"count_mismatch": false},
            "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"], "expect": "document"}]}],
        });
        let outcome = drive(plan(server.port(), changes));
        assert!(outcome.record.total.ok > 0);
        assert_eq!(outcome.errors(), 0, "{:?}", outcome.record.total.errors);
        assert!(outcome.record.bytes_received > 300_000 * outcome.record.total.ok);
    }
}

#[test]
fn small_replies_may_come_byte_by_byte() {
    use loadstone_engine::null_server::Fault;
    let server = server(|options| options.fault = Some(Fault::Pieces { bytes: 1, pause_us: 100 }));
    let outcome = drive(plan(server.port(), json!({"pipeline_depth": 3})));
    assert!(outcome.record.total.ok > 0);
    assert_eq!(outcome.errors(), 0, "{:?}", outcome.record.total.errors);
}
