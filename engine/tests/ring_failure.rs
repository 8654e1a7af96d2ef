//! A ring that fails in mid-run ends the drive, says so, and loses no operation. It is alone in its process: the ring is
//! found among the files of that.
#![cfg(target_os = "linux")]

use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::{NullOptions, NullServer};
use loadstone_engine::plan::Plan;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// Has the descriptor of the only ring stand for another file.
fn break_the_ring() {
    let nothing = File::open("/dev/null").unwrap();
    let mut rings = std::fs::read_dir("/proc/self/fd").unwrap().flatten().filter(|entry| {
        std::fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy().contains("io_uring"))
    });
    let ring = rings.next().expect("the drive has a ring").file_name().into_string().unwrap().parse().unwrap();
    // SAFETY: both descriptors are open; the ring's own memory stays mapped.
    assert!(unsafe { libc::dup2(nothing.as_raw_fd(), ring) } >= 0);
}

#[test]
fn a_ring_that_fails_ends_the_drive_with_the_reason() {
    let server = NullServer::start(NullOptions::default()).unwrap();
    let plan = format!(
        r#"{{"endpoints": [{{"port": {}}}], "pool": {{"connections": 4}}, "back_end": "io_uring",
        "model": {{"kind": "closed", "users": 4}}, "phases": {{"warm_up_s": 0, "measure_s": 600}}, "interval_s": 0.05,
        "operations": [{{"name": "get", "commands": [{{"args": ["GET", "{{key}}"]}}]}}]}}"#,
        server.port()
    );
    let Ok(drive) = Drive::new(Plan::from_json(&plan).unwrap()) else {
        return eprintln!("this system has no io_uring for the engine");
    };
    drive.start().unwrap();
    drive.next_interval(PATIENCE).expect("the load has begun");
    break_the_ring();
    let record = drive.result(PATIENCE).unwrap().expect("the drive ends");
    let stopped = record.stopped.as_deref().expect("it ended before the time");
    assert!(stopped.starts_with("io_uring failed in engine thread 0: "), "{stopped}");
    assert!(record.total.ok > 0 && record.total.conserved(), "{:?}", record.total);
}
