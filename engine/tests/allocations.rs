//! The steady path allocates nothing: a drive six times as long makes no more allocations than a short one.

use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::{NullOptions, NullServer};
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
fn allocations(operations_per_user: u64, operation: &str) -> u64 {
    let server = NullServer::start(NullOptions::default()).unwrap();
    let plan = format!(
        r#"{{"endpoints": [{{"port": {}}}], "pool": {{"connections": 4}}, "pipeline_depth": 4,
        "model": {{"kind": "closed", "users": 8, "operations_per_user": {operations_per_user}}},
        "phases": {{"warm_up_s": 0}}, "interval_s": 1000, "operations": [{operation}]}}"#,
        server.port()
    );
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let drive = Drive::new(Plan::from_json(&plan).unwrap()).unwrap();
    drive.start().unwrap();
    let record = drive.result(Duration::from_secs(60)).unwrap().expect("the drive ends in a minute");
    assert_eq!(record.total.ok, 8 * operations_per_user);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn an_operation_allocates_nothing() {
    for operation in [
        r#"{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}"#,
        r#"{"name": "set", "writes": "document", "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}]}"#,
    ] {
        allocations(500, operation);
        let (short, long) = (allocations(500, operation), allocations(3000, operation));
        // 20,000 operations more; what differs is how often buffers grew at the beginning.
        assert!(long < short + 500, "{short} allocations for 4,000 operations, {long} for 24,000");
    }
}
