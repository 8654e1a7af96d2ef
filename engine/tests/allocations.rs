//! The steady path allocates nothing: a drive six times as long makes no more allocations than a short one.

use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::{NullOptions, NullProtocol, NullServer};
use loadstone_engine::plan::Plan;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a whole drive of that many operations a user, the null server's included.
fn allocations(
    operations_per_user: u64,
    protocol: NullProtocol,
    body_bytes: usize,
    nodes: usize,
    operation: &str,
    more: &str,
) -> u64 {
    let (name, depth) = if protocol == NullProtocol::Http1 { ("http1", 1) } else { ("resp2", 4) };
    let server = NullServer::start(NullOptions { protocol, body_bytes, ..NullOptions::default() }).unwrap();
    let port = server.port();
    let endpoints = match nodes {
        1 => format!(r#"{{"port": {port}}}"#),
        _ => format!(r#"{{"port": {port}, "slots": [[0, 8000]]}}, {{"port": {port}, "slots": [[8001, 16383]]}}"#),
    };
    let plan = format!(
        r#"{{"endpoints": [{endpoints}], "pool": {{"connections": 4}}, "pipeline_depth": {depth},
        "protocol": "{name}",
        "model": {{"kind": "closed", "users": 8, "operations_per_user": {operations_per_user}}},
        "phases": {{"warm_up_s": 0}}, "interval_s": 1000, "operations": [{operation}]{more}}}"#
    );
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let drive = Drive::new(Plan::from_json(&plan).unwrap()).unwrap();
    drive.start().unwrap();
    let record = drive.result(Duration::from_secs(60)).unwrap().expect("the drive ends in a minute");
    assert_eq!(record.total.ok, 8 * operations_per_user);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// A drive six times as long makes no more allocations, but for buffers that grow at the beginning.
fn allocates_nothing(
    operations_per_user: u64,
    protocol: NullProtocol,
    body_bytes: usize,
    nodes: usize,
    operation: &str,
    more: &str,
) {
    let of = |operations_per_user| allocations(operations_per_user, protocol, body_bytes, nodes, operation, more);
    of(operations_per_user);
    let (short, long) = (of(operations_per_user), of(6 * operations_per_user));
    let more = 8 * 5 * operations_per_user;
    assert!(long < short + more / 40, "{short} allocations; {long} for {more} operations more: {operation}");
}

#[test]
fn an_operation_allocates_nothing() {
    for operation in [
        r#"{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}"#,
        r#"{"name": "set", "writes": "document", "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}]}"#,
    ] {
        allocates_nothing(500, NullProtocol::Resp, 0, 1, operation, "");
        allocates_nothing(500, NullProtocol::Resp, 0, 2, operation, "");
        if operation.contains("writes") {
            allocates_nothing(500, NullProtocol::Resp, 0, 1, operation, r#", "acknowledged": true"#);
        }
    }
    for operation in [
        r#"{"name": "post", "requests": [{"method": "POST", "path": "/{number}?n={uniform 1..9}",
            "headers": {"X": "{seq}"}, "body": "{random 9 lowercase}{seq}",
            "expect": {"contains": "xxx", "json_fields": ["null"]}}]}"#,
        r#"{"name": "head", "requests": [{"method": "HEAD", "path": "/{key}"}]}"#,
    ] {
        allocates_nothing(500, NullProtocol::Http1, 100, 1, operation, "");
    }
    // A body that does not fit the inbox comes in parts, and is kept for its check.
    let checked = r#"{"name": "get", "requests": [{"path": "/", "expect": {"contains": "xxx"}}]}"#;
    allocates_nothing(50, NullProtocol::Http1, 200_000, 1, checked, "");
}
