//! Both ways to send and to receive do the same: what is too large for one call, and what comes in more than there is room for.

use crate::resp_server;
use crate::support::{HANGS_S, begin, drive, finish, plan, server, take_until};
use loadstone_engine::drive::Drive;
use loadstone_engine::plan::Plan;
use loadstone_engine::record::outcome::DriveRecord;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

/// Those that this system has.
fn back_ends() -> Vec<&'static str> {
    ["epoll", "io_uring"].into_iter().filter(|name| Drive::new(plan(1, json!({"back_end": name}))).is_ok()).collect()
}

fn on_each(check: impl Fn(&str)) {
    back_ends().into_iter().for_each(check);
}

fn back_end(record: &DriveRecord) -> Value {
    serde_json::to_value(record.back_end).expect("a record is JSON")
}

#[test]
fn the_record_says_what_was_used_and_why() {
    let server = server(|_| {});
    let of = |name: &str| back_end(&drive(plan(server.port(), json!({"back_end": name, "threads": 2}))).record);
    assert_eq!(of("epoll")["why_not_io_uring"], "not_requested");
    let by_itself = of("auto");
    assert_eq!(by_itself["name"] == "io_uring", by_itself["why_not_io_uring"].is_null(), "{by_itself}");
    if back_ends().contains(&"io_uring") {
        assert_eq!(of("io_uring"), json!({"name": "io_uring", "why_not_io_uring": null}));
    }
}

/// A plan of SETs of 3 MB, which no socket takes at once.
fn large(port: u16, name: &str) -> Plan {
    let set = json!([{"name": "set", "writes": "document", "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}]}]);
    plan(
        port,
        json!({
            "back_end": name, "operations": set, "documents": {"payload_bytes": 3_000_000}, "keys": {"count": 2},
            "model": {"kind": "closed", "users": 2, "operations_per_user": 3}, "pool": {"connections": 2},
            "phases": {"measure_max_s": HANGS_S}, "verify": {"read_back_max": 0},
        }),
    )
}

#[test]
fn what_a_socket_does_not_take_at_once_is_sent_when_it_has_room() {
    on_each(|name| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let serving = std::thread::spawn(move || {
            let sockets: Vec<_> = listener.incoming().take(2).flatten().collect();
            let serve = |mut socket: std::net::TcpStream| {
                std::thread::spawn(move || {
                    let (mut heard, mut room) = (0u64, vec![0; 64 * 1024]);
                    while let Ok(count @ 1..) = socket.read(&mut room) {
                        if heard == 0 {
                            // The greeting, `CLIENT SETNAME`. Then it is slow to read.
                            socket.write_all(b"+OK\r\n").expect("it is open");
                            std::thread::sleep(Duration::from_millis(100));
                        } else if room[..count].ends_with(b"}\r\n") {
                            socket.write_all(b"+OK\r\n").expect("it is open");
                        }
                        heard += count as u64;
                    }
                    heard
                })
            };
            let serving: Vec<_> = sockets.into_iter().map(serve).collect();
            serving.into_iter().map(|thread| thread.join().expect("it ends with its socket")).sum::<u64>()
        });
        let drive = Drive::new(large(port, name)).expect("the plan can be driven");
        drive.start().expect("the server takes connections");
        let outcome = finish((drive, Vec::new()));
        assert_eq!((outcome.record.total.ok, outcome.errors()), (6, 0), "{name}: {:?}", outcome.record.total);
        assert!(outcome.record.bytes_sent > 18_000_000, "{name}");
        assert_eq!(serving.join().expect("it ends"), outcome.record.bytes_sent, "{name}: every byte once");
    });
}

#[test]
fn replies_beyond_all_buffers_are_taken() {
    let reply: Vec<u8> = [b"$4000000\r\n".as_slice(), &vec![b'x'; 4_000_000], b"\r\n"].concat();
    on_each(|name| {
        let reply = reply.clone();
        let server = resp_server::Server::start(move |_| vec![reply.clone()]);
        let changes = json!({
            "back_end": name, "model": {"kind": "closed", "users": 8, "operations_per_user": 3}, "pool": {"connections": 8},
            "phases": {"measure_max_s": HANGS_S},
        });
        let outcome = drive(plan(server.port, changes));
        assert_eq!(outcome.record.total.ok, 24, "{name}: {:?}", outcome.record.total);
        assert!(outcome.record.bytes_received > 24 * 4_000_000, "{name}");
    });
}

#[test]
fn many_connections_have_replies_at_once() {
    let server = server(|_| {});
    on_each(|name| {
        let changes = json!({
            "back_end": name, "model": {"kind": "closed", "users": 700, "operations_per_user": 20},
            "pool": {"connections": 700}, "phases": {"measure_max_s": HANGS_S},
        });
        let outcome = drive(plan(server.port(), changes));
        assert_eq!((outcome.record.total.ok, outcome.record.connections.opened), (14_000, 700), "{name}");
    });
}

#[test]
fn what_was_lost_with_a_connection_does_not_come_on_the_next_one() {
    on_each(|name| {
        // A reply in two parts, of which the second comes when the connection was given up.
        let server = resp_server::Server::start(|received| match received.number {
            1 => vec![b"$3\r\nab".to_vec()],
            _ => vec![b"$3\r\nabc\r\n".to_vec()],
        });
        let changes = json!({
            "back_end": name, "model": {"kind": "closed", "users": 1, "operations_per_user": 20}, "pool": {"connections": 1},
            "timeouts": {"request_ms": 100.0}, "phases": {"measure_max_s": HANGS_S},
        });
        let outcome = drive(plan(server.port, changes));
        let record = &outcome.record;
        assert_eq!((record.total.ok, record.total.timeouts, record.connections.opened), (19, 1, 2), "{name}");
    });
}

#[test]
fn an_open_load_is_met_with_and_without_staying_awake() {
    let server = server(|_| {});
    on_each(|name| {
        for spin_us in [0.0, 50.0] {
            let model = json!({"kind": "open", "rate_per_s": 2000.0, "spin_us": spin_us});
            let changes = json!({"back_end": name, "model": model, "pipeline_depth": 8});
            let mut begun = begin(plan(server.port(), changes));
            take_until(&mut begun, |intervals| intervals.len() > 2);
            let outcome = finish(begun);
            assert_eq!((outcome.errors(), outcome.record.total.unsent), (0, 0), "{name}");
            assert!(outcome.record.total.ok > 300, "{name}: {:?}", outcome.record.total);
        }
    });
}
