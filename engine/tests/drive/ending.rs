//! Drives that are stopped.

use crate::support::{begin, drive, finish, plan, server};
use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::Fault;
use serde_json::json;
use std::time::{Duration, Instant};

/// Far more than the 100 ms that it may take, for busy machines.
const BOUND: Duration = Duration::from_secs(5);

#[test]
fn stop_ends_a_drive_soon_and_the_record_says_so() {
    for threads in [1, 2] {
        let server = server(|_| {});
        let changes = json!({"threads": threads, "pipeline_depth": 4, "phases": {"measure_s": 60.0}});
        let begun = begin(plan(server.port(), changes));
        let stopped_at = Instant::now();
        begun.0.stop();
        let outcome = finish(begun);
        assert!(stopped_at.elapsed() < BOUND, "it took {:?}", stopped_at.elapsed());
        assert_eq!(outcome.record.stopped.as_deref(), Some("stopped on request"));
    }
}

#[test]
fn stop_does_not_wait_for_a_silent_server() {
    let server = server(|options| options.fault = Some(Fault::Silence { nth: 1 }));
    let changes = json!({
        "model": {"kind": "closed", "users": 1}, "pool": {"connections": 1},
        "phases": {"measure_s": 60.0}, "timeouts": {"request_ms": 60_000.0},
    });
    let begun = begin(plan(server.port(), changes));
    let stopped_at = Instant::now();
    begun.0.stop();
    let outcome = finish(begun);
    assert!(stopped_at.elapsed() < BOUND);
    assert_eq!(outcome.record.total.in_flight, 1);
}

#[test]
fn stop_ends_a_drive_whose_load_has_not_begun() {
    let server = server(|_| {});
    let in_an_hour = std::time::SystemTime::now() + Duration::from_secs(3600);
    let unix_ns = in_an_hour.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let drive = Drive::new(plan(server.port(), json!({"start_at_unix_ns": unix_ns}))).unwrap();
    drive.start().unwrap();
    assert!(!drive.finished());
    drive.stop();
    let outcome = finish((drive, Vec::new()));
    assert_eq!(outcome.record.total.offered, 0);
    assert_eq!(outcome.record.measure_s, 0.0);
    assert_eq!((outcome.record.threads.len(), outcome.record.connections.open_at_end), (1, 4));
}

#[test]
fn the_load_begins_at_its_start_time() {
    let server = server(|_| {});
    let soon = std::time::SystemTime::now() + Duration::from_millis(300);
    let unix_ns = soon.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let record = drive(plan(server.port(), json!({"start_at_unix_ns": unix_ns}))).record;
    assert!(record.started_unix_ns + 1 >= unix_ns, "{} ns too early", unix_ns - record.started_unix_ns);
}

#[test]
fn a_drive_that_is_dropped_leaves_nothing_behind() {
    let server = server(|_| {});
    let drive = Drive::new(plan(server.port(), json!({"phases": {"measure_s": 60.0}}))).unwrap();
    drive.start().unwrap();
    let stopped_at = Instant::now();
    drop(drive);
    assert!(stopped_at.elapsed() < BOUND);
}

#[test]
fn written_keys_are_read_back_after_the_drain() {
    let server = server(|options| options.replies = [("GET".into(), loadstone_engine::plan::Expect::Document)].into());
    let changes = json!({
        "threads": 2, "verify": {"read_back_max": 16},
        "operations": [{
            "name": "set", "writes": "document",
            "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}],
            "read_back": {"args": ["GET", "{key}"], "expect": "document"},
        }],
    });
    let record = drive(plan(server.port(), changes)).record;
    let read_back = &record.read_back;
    assert!(read_back.checked > 0, "{read_back:?}");
    // The null server stores nothing, so what it answers is not what was written.
    assert_eq!(read_back.wrong, read_back.checked);
    assert_eq!(record.commands["GET"].replied, read_back.checked);
    assert_eq!(record.total.ok, record.commands["SET"].replied);
}
