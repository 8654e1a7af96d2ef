//! Drives that take turns: everything adds up over all slices, and who is paused does nothing.

use crate::secure::TlsFront;
use crate::support::{HANGS_S, Outcome, PATIENCE, check, plan_json, server};
use loadstone_engine::null_server::{NullProtocol, NullServer};
use loadstone_engine::record::outcome::Phase;
use loadstone_engine::record::slices::SliceRecord;
use loadstone_engine::rounds::Rounds;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub const SLICE_S: f64 = 0.02;
const SETTLE_S: f64 = 0.005;
pub const ROUNDS: usize = 6;

/// A drive that can be had in slices: nothing before its first one.
pub fn sliceable(port: u16, changes: Value) -> Value {
    let mut plan = plan_json(port, json!({"phases": {"ramp_up_s": 0, "warm_up_s": 0}}));
    crate::support::lay_over(&mut plan, changes);
    plan
}

fn over_http(port: u16, changes: Value) -> Value {
    let get = json!({"protocol": "http1", "operations": [{"name": "get", "requests": [{"path": "/"}]}]});
    let mut plan = sliceable(port, json!({}));
    plan["operations"] = Value::Null;
    crate::support::lay_over(&mut plan, get);
    crate::support::lay_over(&mut plan, changes);
    plan
}

pub fn options(drives: usize, rounds: usize, changes: Value) -> Value {
    let order = |round: usize| (0..drives).map(|drive| (drive + round) % drives).collect::<Vec<_>>();
    let orders: Vec<_> = (0..rounds).map(order).collect();
    let mut options = json!({"slice_s": SLICE_S, "settle_s": SETTLE_S, "orders": orders});
    crate::support::lay_over(&mut options, changes);
    options
}

pub fn made(plans: &[Value], options: &Value) -> Rounds {
    let plans: Vec<String> = plans.iter().map(Value::to_string).collect();
    Rounds::new(&plans, &options.to_string()).expect("the drives can be had in slices")
}

pub fn begun(plans: &[Value], options: &Value) -> Rounds {
    let rounds = made(plans, options);
    rounds.start().expect("the servers take connections");
    rounds
}

/// Waits for the end, and checks what must hold of every drive and of all of them together.
pub fn finish(rounds: &Rounds) -> Vec<Outcome> {
    let mut intervals = vec![Vec::new(); rounds.drives()];
    while !rounds.finished() {
        if let Some((drive, text)) = rounds.next_interval(PATIENCE) {
            intervals[drive].push(serde_json::from_str(&text).expect("an interval is JSON"));
        }
    }
    let outcome = |(drive, intervals)| {
        let record = rounds.result(drive, PATIENCE).expect("it was started").expect("it has ended");
        Outcome { record, intervals }
    };
    let outcomes: Vec<Outcome> = intervals.into_iter().enumerate().map(outcome).collect();
    outcomes.iter().for_each(check);
    outcomes.iter().for_each(check_slices);
    check_turns(&outcomes);
    outcomes
}

/// What the slices come to is what the drive does.
fn check_slices(outcome: &Outcome) {
    let record = &outcome.record;
    let sum = |of: &dyn Fn(&SliceRecord) -> u64| record.slices.iter().map(of).sum::<u64>();
    let operations = || record.operations.values();
    assert_eq!(sum(&|slice| slice.offered), operations().map(|one| one.counts.offered).sum::<u64>());
    assert_eq!(sum(&|slice| slice.completed), operations().map(|one| one.window_completed).sum::<u64>());
    assert_eq!(sum(&|slice| slice.ok), operations().map(|one| one.window_ok).sum::<u64>());
    let failed = |one: &loadstone_engine::record::outcome::OperationRecord| {
        one.counts.timeouts + one.counts.errors.values().sum::<u64>()
    };
    assert_eq!(sum(&|slice| slice.failed), operations().map(failed).sum::<u64>());
    let measure_s: f64 = record.slices.iter().map(|slice| slice.end_s - slice.begin_s).sum();
    assert!((measure_s - record.measure_s).abs() < 1e-6, "{measure_s} of {}", record.measure_s);
    let measured = || outcome.intervals.iter().filter(|interval| interval["phase"] == "measure");
    let measured_s: f64 = measured().map(|interval| interval["duration_s"].as_f64().unwrap()).sum();
    assert!((measured_s - measure_s).abs() < 1e-6, "{measured_s} of {measure_s} in intervals");
    let ok: u64 = measured().map(|interval| interval["operations"]["get"]["ok"].as_u64().unwrap()).sum();
    assert_eq!(ok, sum(&|slice| slice.ok));
    let starts: Vec<f64> = outcome.intervals.iter().map(|interval| interval["start_s"].as_f64().unwrap()).collect();
    assert!(starts.is_sorted(), "{starts:?}");
    let cpu_s: f64 = record.slices.iter().map(|slice| slice.cpu_s).sum();
    let threads_cpu_s: f64 = record.threads.iter().map(|thread| thread.cpu_s).sum();
    assert!((cpu_s - threads_cpu_s).abs() < 1e-6, "{cpu_s} of {threads_cpu_s}");
    assert!(record.threads.iter().all(|thread| thread.wall_s == record.measure_s));
}

/// No drive has its slice while another has its own, and all of a round come before the next.
fn check_turns(outcomes: &[Outcome]) {
    let started: Vec<u64> = outcomes.iter().map(|outcome| outcome.record.started_unix_ns).collect();
    assert!(started.iter().all(|unix_ns| *unix_ns == started[0]), "{started:?}");
    let mut all: Vec<SliceRecord> = outcomes.iter().flat_map(|outcome| outcome.record.slices.clone()).collect();
    all.sort_by(|one, other| one.begin_s.total_cmp(&other.begin_s));
    for slice in &all {
        assert!(slice.begin_s < slice.end_s && slice.end_s <= slice.drained_s, "{slice:?}");
    }
    for pair in all.windows(2) {
        assert!(pair[0].drained_s <= pair[1].begin_s, "{pair:?}");
        assert!((pair[0].round, pair[0].position) < (pair[1].round, pair[1].position), "{pair:?}");
    }
}

/// Takes turns to the end: nothing fails, and each server got what was meant for it.
fn take_turns(plans: &[Value], servers: &[Vec<NullServer>]) -> Vec<Outcome> {
    let outcomes = finish(&begun(plans, &options(plans.len(), ROUNDS, json!({}))));
    for (outcome, servers) in outcomes.iter().zip(servers) {
        let record = &outcome.record;
        assert_eq!((outcome.errors(), record.total.in_flight, record.total.unsent), (0, 0, 0));
        assert_eq!((record.stopped.as_deref(), record.connections.lost), (None, 0));
        assert_eq!(record.slices.len(), ROUNDS);
        let sent: u64 = record.commands.values().map(|command| command.sent).sum();
        assert_eq!(sent, servers.iter().map(NullServer::commands).sum::<u64>());
        for slice in &record.slices {
            assert!((slice.end_s - slice.begin_s - SLICE_S).abs() < 1e-6, "{slice:?}");
            assert_eq!(slice.ok, slice.completed, "{slice:?}");
        }
        assert!(record.slices.iter().any(|slice| slice.ok > 0), "{:?}", record.slices);
    }
    outcomes
}

/// Two drives of the same kind.
fn twice(change: impl Fn(u16) -> Value) -> Vec<Outcome> {
    let servers: Vec<Vec<NullServer>> = (0..2).map(|_| vec![server(|_| {})]).collect();
    let plans: Vec<Value> = servers.iter().map(|servers| change(servers[0].port())).collect();
    take_turns(&plans, &servers)
}

#[test]
fn closed_drives_take_turns() {
    for outcome in twice(|port| sliceable(port, json!({}))) {
        let phases = &outcome.record.phases;
        let (first, last) = (&outcome.record.slices[0], &outcome.record.slices[ROUNDS - 1]);
        assert_eq!((phases[&Phase::Measure].start_s, phases[&Phase::Measure].end_s), (first.begin_s, last.end_s));
        assert!(first.begin_s >= SETTLE_S, "{first:?}");
    }
}

#[test]
fn drives_that_stay_awake_take_turns_and_sleep_between_them() {
    let awake = json!({"model": {"kind": "closed", "users": 2, "spin_us": 200.0}});
    for outcome in twice(|port| sliceable(port, awake.clone())) {
        let (first, last) = (&outcome.record.slices[0], &outcome.record.slices[ROUNDS - 1]);
        let own_s = ROUNDS as f64 * (SLICE_S + SETTLE_S);
        let cpu_s: f64 = outcome.record.threads.iter().map(|thread| thread.cpu_s).sum();
        assert!(cpu_s < (last.end_s - first.begin_s + own_s) / 2.0, "{cpu_s} s of CPU in {own_s} s of its own");
    }
}

#[test]
fn drives_of_several_threads_take_turns() {
    twice(|port| sliceable(port, json!({"threads": 2})));
}

#[test]
fn drives_of_deep_pipelines_and_of_small_pools_take_turns() {
    twice(|port| sliceable(port, json!({"pipeline_depth": 7, "threads": 2})));
    let few = json!({"pool": {"connections": 2}, "model": {"kind": "closed", "users": 9}});
    for outcome in twice(|port| sliceable(port, few.clone())) {
        assert!(outcome.record.pool_wait_ns.p50 > 0);
    }
    let lazy = json!({"pool": {"connections": 8, "min_idle": 1, "max_idle": 2}, "threads": 2,
        "model": {"kind": "closed", "users": 9, "think_time_ms": 1.0, "think_time": "exponential"}});
    twice(|port| sliceable(port, lazy.clone()));
}

#[test]
fn users_think_on_where_they_stopped() {
    // 4 users who think for 10 ms: not all in one slice, and none of them twice as often for its pauses.
    let model = json!({"model": {"kind": "closed", "users": 4, "think_time_ms": 10.0}});
    for outcome in twice(|port| sliceable(port, model.clone())) {
        let measured = outcome.record.slices.iter().map(|slice| slice.ok).sum::<u64>() as f64;
        let most = 4.0 * (outcome.record.measure_s / 0.01 + ROUNDS as f64);
        assert!(measured <= most, "{measured} of {most}");
    }
}

#[test]
fn constant_arrivals_are_offered_as_planned_in_every_slice() {
    for threads in [1, 2] {
        let changes = json!({"threads": threads, "model": {"kind": "open", "rate_per_s": 2000.0}});
        for outcome in twice(|port| sliceable(port, changes.clone())) {
            // 2000 a second in windows of 20 ms: the schedule goes on where it stopped, and makes up for nothing.
            for slice in &outcome.record.slices {
                assert!((39..=41).contains(&slice.offered), "{slice:?}");
            }
            let offered = outcome.counts("get").offered;
            assert!(offered.abs_diff(40 * ROUNDS as u64) <= 1, "{offered}");
            assert_eq!(outcome.record.schedule_lag_ns.count, offered);
            let settled = (2000.0 * (SLICE_S + SETTLE_S) * ROUNDS as f64) as u64;
            assert!(outcome.record.total.offered.abs_diff(settled) <= 1, "{}", outcome.record.total.offered);
        }
    }
}

#[test]
fn poisson_arrivals_have_the_planned_mean() {
    let changes = json!({"threads": 2, "pipeline_depth": 2,
        "model": {"kind": "open", "rate_per_s": 5000.0, "arrivals": "poisson", "spin_us": 20.0}});
    for outcome in twice(|port| sliceable(port, changes.clone())) {
        let (offered, planned) = (outcome.counts("get").offered as f64, 5000.0 * SLICE_S * ROUNDS as f64);
        assert!((offered - planned).abs() < 6.0 * planned.sqrt(), "{offered} of {planned}");
    }
}

#[test]
fn what_waits_for_a_connection_waits_on_while_its_drive_is_paused() {
    let slow = server(|options| options.delay_us = 5000.0);
    let changes = json!({"model": {"kind": "open", "rate_per_s": 1000.0}, "pool": {"connections": 1},
        "phases": {"drain_s": 0.01}});
    let quick = server(|_| {});
    let plans = [sliceable(slow.port(), changes), sliceable(quick.port(), json!({}))];
    let outcomes = finish(&begun(&plans, &options(2, ROUNDS, json!({}))));
    let [late, other] = outcomes.as_slice() else { panic!() };
    assert!(late.record.total.unsent > 0 && late.record.total.in_flight == 0, "{:?}", late.record.total);
    assert_eq!(late.record.commands["GET"].sent, slow.commands());
    assert_eq!(late.record.slices.len(), ROUNDS);
    assert!(late.record.slices.iter().all(|slice| slice.drained_s - slice.end_s < HANGS_S / 2.0));
    assert_eq!(other.record.total.unsent, 0);
}

#[test]
fn drives_of_a_cluster_take_turns() {
    let slots = [json!([[0, 8000]]), json!([[8001, 16383]])];
    let servers: Vec<Vec<NullServer>> = (0..2).map(|_| vec![server(|_| {}), server(|_| {})]).collect();
    let endpoints = |nodes: &Vec<NullServer>| -> Value {
        nodes.iter().zip(&slots).map(|(node, slots)| json!({"port": node.port(), "slots": slots})).collect()
    };
    for changes in [json!({}), json!({"threads": 2, "pipeline_depth": 5, "pool": {"connections": 8}})] {
        let before: Vec<u64> = servers.iter().map(|nodes| nodes.iter().map(NullServer::commands).sum()).collect();
        let plan = |nodes| {
            let mut plan = sliceable(0, changes.clone());
            plan["endpoints"] = endpoints(nodes);
            plan
        };
        let plans: Vec<Value> = servers.iter().map(plan).collect();
        for (number, outcome) in finish(&begun(&plans, &options(2, ROUNDS, json!({})))).iter().enumerate() {
            assert_eq!((outcome.errors(), outcome.record.total.in_flight), (0, 0));
            let after: u64 = servers[number].iter().map(NullServer::commands).sum();
            assert_eq!(after - before[number], outcome.record.commands["GET"].sent);
        }
    }
}

#[test]
fn drives_over_http_and_tls_take_turns() {
    let http = || server(|options| options.protocol = NullProtocol::Http1);
    let servers = [vec![http()], vec![http()], vec![server(|_| {})]];
    let front = TlsFront::start("rounds", servers[2][0].port());
    let tls = sliceable(0, front.endpoint(json!({"ca_file": front.ca_file, "server_name": "localhost"})));
    let changes = json!({"threads": 2, "pool": {"connections": 2}});
    let plans = [over_http(servers[0][0].port(), json!({})), over_http(servers[1][0].port(), changes), tls];
    take_turns(&plans, &servers);
}

#[test]
fn a_warm_up_comes_before_the_first_round_and_is_not_measured() {
    let outcomes = twice(|port| sliceable(port, json!({"phases": {"warm_up_s": 0.05}})));
    for outcome in &outcomes {
        let record = &outcome.record;
        assert!(record.slices[0].begin_s >= 0.1, "after the warm-up of both");
        assert_eq!((record.phases[&Phase::WarmUp].end_s, record.slices.len()), (record.slices[0].begin_s, ROUNDS));
        assert!(record.total.ok > record.operations["get"].counts.ok);
    }
}

/// A server of `+OK` that notes when each request came, in nanoseconds since 1970.
fn noting_server() -> (u16, Arc<Mutex<Vec<u64>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let notes = Arc::new(Mutex::new(Vec::new()));
    let kept = notes.clone();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let notes = notes.clone();
            std::thread::spawn(move || answer(socket, &notes));
        }
    });
    (port, kept)
}

fn answer(mut socket: TcpStream, notes: &Mutex<Vec<u64>>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = socket.read(&mut bytes) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        if bytes[..count].windows(3).any(|word| word == b"GET") {
            notes.lock().unwrap().push(now.as_nanos() as u64);
        }
        if socket.write_all(b"+OK\r\n").is_err() {
            return;
        }
    }
}

#[test]
fn a_drive_sends_nothing_while_it_is_paused() {
    const CLOCKS_APART_S: f64 = 0.001;
    let servers = [noting_server(), noting_server()];
    let model = |users: u32| json!({"model": {"kind": "closed", "users": users, "think_time_ms": 1.0}});
    let changes = [model(4), json!({"model": {"kind": "open", "rate_per_s": 1000.0}})];
    let plans: Vec<Value> = servers.iter().zip(changes).map(|(server, change)| sliceable(server.0, change)).collect();
    let outcomes = finish(&begun(&plans, &options(2, 10, json!({}))));
    for (outcome, (_, notes)) in outcomes.iter().zip(&servers) {
        let record = &outcome.record;
        let notes = notes.lock().unwrap();
        assert_eq!(notes.len() as u64, record.commands["GET"].sent);
        for &unix_ns in notes.iter() {
            let at_s = unix_ns.saturating_sub(record.started_unix_ns) as f64 / 1e9;
            let own = record.slices.iter().any(|slice| {
                let begin_s = slice.begin_s - SETTLE_S;
                begin_s - CLOCKS_APART_S <= at_s && at_s <= slice.drained_s + CLOCKS_APART_S
            });
            assert!(own, "a request at {at_s} s, in no slice of {:?}", record.slices);
        }
    }
}

/// A server of HTTP that closes a connection on which nothing was requested for so long.
fn impatient_server(patience: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            socket.set_read_timeout(Some(patience)).unwrap();
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(1..) = socket.read(&mut bytes) {
                    if socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

#[test]
fn connections_that_a_server_closes_meanwhile_are_opened_again_before_the_drive_goes_on() {
    let impatient = impatient_server(Duration::from_millis(150));
    let other = server(|_| {});
    let plans = [over_http(impatient, json!({})), sliceable(other.port(), json!({}))];
    let outcomes = finish(&begun(&plans, &options(2, 3, json!({"slice_s": 0.2}))));
    let record = &outcomes[0].record;
    assert!(record.connections.closed_by_server >= 4, "{:?}", record.connections);
    assert!(record.connections.opened >= 8, "{:?}", record.connections);
    assert!(record.slices.iter().all(|slice| slice.ok > 0), "{:?}", record.slices);
}

#[cfg(target_os = "linux")]
#[test]
fn parts_and_cpus_are_read_at_both_ends_of_every_window() {
    let server = server(|_| {});
    let plans = [sliceable(server.port(), json!({})), sliceable(server.port(), json!({}))];
    let parts = json!({"parts": [{"this": [std::process::id()]}, {"none": [1 << 22]}]});
    let outcomes = finish(&begun(&plans, &options(2, ROUNDS, parts)));
    for slice in &outcomes[0].record.slices {
        let cpu_s = slice.parts["this"].cpu_s.expect("this process is there");
        assert!(cpu_s > 0.0 && cpu_s >= slice.cpu_s / 2.0, "{slice:?}");
        assert!(slice.parts["this"].main_s.is_some() && slice.parts["this"].main_wait_s.is_some(), "{slice:?}");
    }
    assert!(outcomes[1].record.slices.iter().all(|slice| slice.parts["none"].cpu_s.is_none()));
    let cpus = &outcomes[0].record.cpus;
    let sum_s: f64 = cpus.values().map(|cpu| cpu.busy_s + cpu.idle_s + cpu.steal_s).sum();
    let expected_s = outcomes[0].record.measure_s * cpus.len() as f64;
    assert!((sum_s - expected_s).abs() < 0.03 * cpus.len() as f64 * ROUNDS as f64, "{sum_s} of {expected_s}");
    let busy_s: f64 = outcomes[0].record.slices.iter().map(|slice| slice.cpus_busy_s.expect("Linux reports it")).sum();
    let of_cpus_s: f64 = cpus.values().map(|cpu| cpu.busy_s + cpu.steal_s).sum();
    assert!((busy_s - of_cpus_s).abs() < 0.001 * ROUNDS as f64, "{busy_s} of {of_cpus_s}");
}
