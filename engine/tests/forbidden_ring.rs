//! A process that may not use io_uring, as in most containers: the engine falls back, and says so.
#![cfg(target_os = "linux")]

use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::{NullOptions, NullServer};
use loadstone_engine::plan::{Plan, PlanError};
use std::time::Duration;

/// Refuses `io_uring_setup` to this thread, and to those that it starts, as the filters of containers do.
fn forbid_rings() {
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0), // the number of the call
        libc::sock_filter {
            jf: 1,
            ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_io_uring_setup as u32)
        },
        statement(libc::BPF_RET | libc::BPF_K, refused),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: a valid program, which the calls copy.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

fn drive(port: u16, back_end: &str) -> Result<Drive, PlanError> {
    let plan = format!(
        r#"{{"endpoints": [{{"port": {port}}}], "pool": {{"connections": 2}}, "back_end": "{back_end}",
        "model": {{"kind": "closed", "users": 2, "operations_per_user": 100}}, "phases": {{"warm_up_s": 0}},
        "operations": [{{"name": "get", "commands": [{{"args": ["GET", "{{key}}"]}}]}}]}}"#
    );
    Drive::new(Plan::from_json(&plan).unwrap())
}

#[test]
fn it_is_polled_where_io_uring_is_forbidden() {
    // SAFETY: this test is the only one of its process, and has started no thread yet.
    unsafe { std::env::set_var("LOADSTONE_BACK_END", "auto") };
    forbid_rings();
    let server = NullServer::start(NullOptions::default()).unwrap();
    let drive_by_itself = drive(server.port(), "auto").unwrap();
    drive_by_itself.start().unwrap();
    let record = drive_by_itself.result(Duration::from_secs(60)).unwrap().expect("it ends in a minute");
    assert_eq!(record.total.ok, 200);
    let said = serde_json::to_value(record.back_end).unwrap();
    // Where the administrator has switched it off as well, that is the reason.
    assert_eq!(said["name"], "epoll");
    assert!(["forbidden", "disabled"].contains(&said["why_not_io_uring"].as_str().unwrap()), "{said}");
    let error = drive(server.port(), "io_uring").unwrap_err();
    assert_eq!(error.field, "back_end");
    assert!(error.message.starts_with("io_uring: ") && error.message.ends_with("; write auto, or epoll"), "{error}");
}
