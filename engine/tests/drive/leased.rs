//! Drives under a lease: without renewal they end by themselves, and nothing is sent any more.

use crate::resp_server::Server;
use crate::rounds::{begun, options, sliceable};
use crate::support::{PATIENCE, begin, finish, plan, server, take_until};
use loadstone_engine::control::lease::RAN_OUT;
use loadstone_engine::drive::Drive;
use serde_json::json;
use std::time::{Duration, Instant};

const LEASE: Duration = Duration::from_millis(150);
/// Far more than it may take, for busy machines.
const BOUND: Duration = Duration::from_secs(5);

/// Fault (load): no one renews the lease of a load: it ends by itself
#[test]
fn a_drive_whose_lease_is_not_renewed_ends_by_itself() {
    for model in [json!({"kind": "closed", "users": 4}), json!({"kind": "open", "rate_per_s": 500.0})] {
        let server = server(|_| {});
        let drive = begin(plan(server.port(), json!({"threads": 2, "model": model, "phases": {"measure_s": 60.0}})));
        assert!(drive.0.lease(LEASE));
        let leased = Instant::now();
        let outcome = finish(drive);
        assert!((LEASE..BOUND).contains(&leased.elapsed()), "{:?}", leased.elapsed());
        assert_eq!(outcome.record.stopped.as_deref(), Some(RAN_OUT));
        let commands = server.commands();
        std::thread::sleep(LEASE);
        assert_eq!(server.commands(), commands, "nothing is sent any more");
    }
}

#[test]
fn a_drive_goes_on_as_long_as_its_lease_is_renewed_and_nothing_revives_it() {
    let server = server(|_| {});
    let mut drive = begin(plan(server.port(), json!({"phases": {"measure_s": 60.0}})));
    let begun = Instant::now();
    while begun.elapsed() < 4 * LEASE {
        assert!(drive.0.lease(LEASE * 10));
        take_until(&mut drive, |all| all.len() > 1);
        std::thread::sleep(LEASE / 10);
    }
    assert!(!drive.0.finished() && drive.0.lease(Duration::from_millis(1)));
    while drive.0.control().reason().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!drive.0.lease(BOUND));
    assert_eq!(finish(drive).record.stopped.as_deref(), Some(RAN_OUT));
}

#[test]
fn a_drive_that_ended_needs_no_lease() {
    let server = server(|_| {});
    let drive = Drive::new(plan(server.port(), json!({}))).unwrap();
    assert!(drive.lease(PATIENCE));
    drive.start().unwrap();
    let outcome = finish((drive, Vec::new()));
    assert_eq!(outcome.record.stopped, None);
}

#[test]
fn a_lease_runs_out_while_connections_are_opened_too() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let changes = json!({"endpoints": [{"port": silent.local_addr().unwrap().port(), "password": "x"}]});
    let drive = Drive::new(plan(0, changes)).unwrap();
    assert!(drive.lease(LEASE));
    let begun = Instant::now();
    let why = drive.start().unwrap_err().to_string();
    assert!(why.ends_with("lease ran out before the load began"), "{why}");
    assert!(begun.elapsed() < BOUND);
}

#[test]
fn drives_that_take_turns_have_one_lease() {
    let servers = [server(|_| {}), server(|_| {})];
    let plans = servers.each_ref().map(|server| sliceable(server.port(), json!({})));
    let rounds = begun(&plans, &options(2, 10_000, json!({})));
    assert!(rounds.lease(LEASE * 10) && rounds.lease(LEASE));
    while !rounds.finished() {
        rounds.next_interval(PATIENCE);
    }
    for drive in 0..2 {
        let record = rounds.result(drive, PATIENCE).unwrap().unwrap();
        assert_eq!(record.stopped.as_deref(), Some(RAN_OUT));
        assert!(!record.slices.is_empty());
    }
    assert!(!rounds.lease(BOUND));
}

#[test]
fn what_waits_when_the_lease_runs_out_is_not_sent() {
    let server = Server::start(|received| {
        // The reply comes when the lease is over: what it lets go on is to be no more.
        if received.number == 1 {
            std::thread::sleep(2 * LEASE);
        }
        vec![b"$-1\r\n".to_vec()]
    });
    let changes = json!({
        "model": {"kind": "open", "rate_per_s": 1000.0}, "pool": {"connections": 1}, "pipeline_depth": 1,
        "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 60.0}, "timeouts": {"request_ms": 60_000.0},
    });
    let drive = Drive::new(plan(server.port, changes)).unwrap();
    assert!(drive.lease(LEASE));
    drive.start().unwrap();
    let outcome = finish((drive, Vec::new()));
    assert_eq!((outcome.record.total.sent, outcome.record.total.ok), (1, 0), "{:?}", outcome.record.total);
    assert!(outcome.record.total.unsent > 10, "{:?}", outcome.record.total);
}
