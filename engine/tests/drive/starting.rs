//! What can go wrong before the load begins.

use crate::support::{drive, plan, server};
use loadstone_engine::drive::Drive;
use loadstone_engine::plan::Plan;
use loadstone_engine::record::outcome::DriveError;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

fn refused(plan: Plan) -> String {
    match Drive::new(plan).unwrap().start() {
        Err(DriveError::Start(why)) => why,
        other => panic!("the start must fail, not {other:?}"),
    }
}

/// The start error of a drive against a server that answers `reply` to whatever it hears first.
fn refused_with(reply: &'static [u8], changes: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut heard = [0; 1000];
        assert!(socket.read(&mut heard).unwrap() > 0);
        socket.write_all(reply).unwrap();
        // The client closes when it has understood.
        let _ = socket.read(&mut heard);
    });
    let one = json!({"model": {"kind": "closed", "users": 1}, "pool": {"connections": 1}});
    let mut changes = changes;
    changes.as_object_mut().unwrap().extend(one.as_object().unwrap().clone());
    let why = refused(plan(port, changes));
    server.join().unwrap();
    why
}

#[test]
fn nobody_listens() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let why = refused(plan(port, json!({"threads": 2})));
    assert_eq!(why, format!("127.0.0.1:{port}: Connection refused"));
}

#[test]
fn the_name_is_unknown() {
    let why = refused(plan(1, json!({"endpoints": [{"host": "no-such-host.invalid"}]})));
    assert!(why.starts_with("no-such-host.invalid:6379: "), "{why}");
}

#[test]
fn nobody_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let changes = json!({"timeouts": {"connect_ms": 150.0}, "endpoints": [{
        "port": listener.local_addr().unwrap().port(), "password": "x"}]});
    let why = refused(plan(0, changes));
    assert!(why.contains("no answer") && why.contains("0.15 s"), "{why}");
}

#[test]
fn the_servers_own_text_is_the_reason() {
    for text in ["NOAUTH Authentication required.", "LOADING Redis is loading", "ERR max number of clients reached"] {
        let reply: &'static [u8] = Box::leak(format!("-{text}\r\n").into_boxed_str().into_boxed_bytes());
        let why = refused_with(reply, json!({}));
        assert!(why.ends_with(text), "{why}");
    }
}

#[test]
fn an_answer_that_is_no_redis_is_refused() {
    let why = refused_with(b"HTTP/1.1 400 Bad Request\r\n\r\n", json!({}));
    assert!(why.contains("RESP"), "{why}");
}

#[test]
fn a_start_that_failed_or_was_never_made_has_no_result() {
    let server = server(|_| {});
    let drive = Drive::new(plan(server.port(), json!({}))).unwrap();
    assert_eq!(drive.result(Duration::ZERO).unwrap_err(), DriveError::NotStarted);
    drive.start().unwrap();
    assert!(matches!(drive.start(), Err(DriveError::Start(_))), "a drive starts once");
}

#[test]
fn more_threads_than_users_or_connections_are_not_started() {
    let server = server(|_| {});
    let record = drive(plan(server.port(), json!({"threads": 16, "pool": {"connections": 3}}))).record;
    assert_eq!(record.threads.len(), 3);
}

#[test]
fn a_unix_socket_serves_as_well() {
    let path = std::env::temp_dir().join(format!("loadstone-test-{}.sock", std::process::id()));
    let path = path.to_str().unwrap().to_string();
    let server = server(|options| options.unix_path = Some(path.clone()));
    let record = drive(plan(0, json!({"endpoints": [{"unix_path": path}], "threads": 2}))).record;
    assert!(record.total.ok > 0);
    assert_eq!(record.commands["GET"].sent, server.commands());
}
