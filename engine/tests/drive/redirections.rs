//! Nodes of a cluster that send requests on: followed where the plan knows the node, and nowhere else.

use crate::resp_server::Server;
use crate::support::{Outcome, begin, drive, finish, plan, take_until};
use loadstone_engine::load::slots::slot_of;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const ALL: [[u16; 2]; 1] = [[0, 16_383]];
const OK: &[u8] = b"$1\r\nx\r\n";

fn good() -> Server {
    Server::start(|_| vec![OK.to_vec()])
}

/// Sends every command on.
fn sending_on(kind: &'static str, host: &'static str, port: u16) -> Server {
    Server::start(move |received| {
        let slot = slot_of(received.arguments[1].as_bytes());
        vec![format!("-{kind} {slot} {host}:{port}\r\n").into_bytes()]
    })
}

/// The first of these nodes has all slots.
fn endpoints(ports: &[u16]) -> Value {
    let slots = |place: usize| if place == 0 { json!(ALL) } else { json!([]) };
    ports.iter().enumerate().map(|(place, port)| json!({"port": port, "slots": slots(place)})).collect()
}

fn users(users: u32, operations: u64) -> Value {
    json!({"kind": "closed", "users": users, "operations_per_user": operations})
}

fn drive_on(ports: &[u16], mut changes: Value) -> Outcome {
    changes["endpoints"] = endpoints(ports);
    changes["phases"] = json!({"ramp_up_s": 0, "warm_up_s": 0});
    if changes.get("pool").is_none() {
        changes["pool"] = json!({"connections": 4 * ports.len()});
    }
    drive(plan(0, changes))
}

#[test]
fn a_slot_that_moved_is_followed_once_and_found_from_then_on() {
    let target = good();
    let source = sending_on("MOVED", "127.0.0.1", target.port);
    for (pipeline_depth, threads) in [(1, 1), (7, 1), (1, 2)] {
        let changes = json!({
            "model": users(4, 500), "pipeline_depth": pipeline_depth, "threads": threads, "keys": {"count": 50},
        });
        let outcome = drive_on(&[source.port, target.port], changes);
        let record = &outcome.record;
        assert_eq!((outcome.errors(), record.total.ok, record.total.in_flight), (0, 2000, 0));
        let redirections = record.redirections.as_ref().unwrap();
        // All that is in flight may be for one slot, whose new node is known with the first reply.
        let most = 50 * 4 * pipeline_depth;
        assert!((1..=most).contains(&redirections.moved), "{redirections:?} of 50 slots");
        assert_eq!((redirections.ask, redirections.unknown, redirections.too_many), (0, 0, 0));
        assert_eq!((record.endpoints[0].sent, record.endpoints[1].sent, record.endpoints[1].ok), (0, 2000, 2000));
        assert_eq!(record.commands["GET"].sent, 2000 + redirections.moved);
        assert_eq!(record.commands["GET"].replied, record.commands["GET"].sent);
        assert_eq!(record.connections.lost, 0);
    }
}

#[test]
fn connections_to_a_node_without_slots_are_opened_when_it_gets_some() {
    let target = good();
    let idle = drive_on(&[good().port, target.port], json!({"model": users(4, 50)}));
    assert_eq!((idle.record.connections.planned, idle.record.connections.opened), (8, 4));
    assert_eq!(idle.record.redirections.as_ref().map(|found| found.moved), Some(0));
    let source = sending_on("MOVED", "", target.port);
    let moved = drive_on(&[source.port, target.port], json!({"model": users(4, 50)}));
    assert!((5..=8).contains(&moved.record.connections.opened), "{:?}", moved.record.connections);
    assert_eq!(moved.record.total.ok, 200);
}

/// Takes a command only right after ASKING on the same connection; counts what came otherwise.
fn importing(refused: Arc<AtomicU64>) -> Server {
    let announced = AtomicBool::new(false);
    Server::start(move |received| {
        if received.arguments[0] == "ASKING" {
            announced.store(true, Ordering::SeqCst);
            return vec![b"+OK\r\n".to_vec()];
        }
        if !announced.swap(false, Ordering::SeqCst) {
            refused.fetch_add(1, Ordering::SeqCst);
        }
        vec![OK.to_vec()]
    })
}

#[test]
fn a_key_that_moves_is_asked_for_each_time() {
    let refused = Arc::new(AtomicU64::new(0));
    let target = importing(refused.clone());
    let source = sending_on("ASK", "127.0.0.1", target.port);
    let commands = json!([{"args": ["GET", "{key}"]}, {"args": ["STRLEN", "{key}"]}]);
    let operations = json!([{"name": "get", "commands": commands}]);
    for depth in [1, 5] {
        let changes = json!({
            "model": users(1, 100), "pool": {"connections": 2}, "pipeline_depth": depth, "operations": operations,
        });
        let outcome = drive_on(&[source.port, target.port], changes);
        assert_eq!((outcome.errors(), outcome.record.total.ok), (0, 100));
        // The second command goes on where the first one was answered, and this node takes it.
        let redirections = outcome.record.redirections.clone().unwrap();
        assert_eq!((redirections.ask, redirections.moved), (100, 0), "{redirections:?}");
        assert_eq!(outcome.record.endpoints[0].sent, 0);
        assert!(!outcome.record.commands.contains_key("ASKING"));
    }
    assert_eq!(refused.load(Ordering::SeqCst), 200, "the second commands alone");
}

#[test]
fn latency_counts_from_the_intended_time() {
    let target = good();
    let slow = target.port;
    let source = Server::start(move |received| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        vec![format!("-ASK {} 127.0.0.1:{slow}\r\n", slot_of(received.arguments[1].as_bytes())).into_bytes()]
    });
    let changes = json!({"model": users(1, 5), "pool": {"connections": 2}});
    let outcome = drive_on(&[source.port, target.port], changes);
    let latency = &outcome.record.operations["get"];
    assert_eq!(latency.response_ns.count, 5);
    assert!(latency.response_ns.min >= 20_000_000 && latency.service_ns.min >= 20_000_000, "{latency:?}");
}

#[test]
fn no_address_is_connected_to_that_the_plan_does_not_have() {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let port = stranger.local_addr().unwrap().port();
    for (kind, error) in [("MOVED", "server_moved"), ("ASK", "server_ask")] {
        let source = sending_on(kind, "127.0.0.1", port);
        let changes = json!({"model": users(2, 20)});
        let outcome = drive_on(&[source.port, good().port], changes);
        assert_eq!((outcome.errors(), outcome.record.total.errors[error]), (40, 40));
        let redirections = outcome.record.redirections.clone().unwrap();
        assert_eq!((redirections.unknown, redirections.moved + redirections.ask), (40, 0));
        assert_eq!(redirections.unknown_address, Some(format!("127.0.0.1:{port}")));
    }
    assert_eq!(stranger.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_request_is_sent_on_so_often_and_not_oftener() {
    let (a_port, b_port) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    let pointing = |to: Arc<Mutex<u16>>| {
        Server::start(move |received| {
            let slot = slot_of(received.arguments[1].as_bytes());
            vec![format!("-MOVED {slot} 127.0.0.1:{}\r\n", to.lock().unwrap()).into_bytes()]
        })
    };
    let (a, b) = (pointing(b_port.clone()), pointing(a_port.clone()));
    (*a_port.lock().unwrap(), *b_port.lock().unwrap()) = (a.port, b.port);
    let outcome = drive_on(&[a.port, b.port], json!({"model": users(1, 10)}));
    assert_eq!((outcome.errors(), outcome.record.total.errors["server_moved"]), (10, 10));
    let redirections = outcome.record.redirections.clone().unwrap();
    assert_eq!((redirections.too_many, redirections.moved), (10, 50));
    assert_eq!(outcome.record.commands["GET"].sent, 60);
}

#[test]
fn what_a_cluster_says_beside_is_an_error_by_its_name() {
    for (text, error) in [
        ("TRYAGAIN Multiple keys request during rehashing of slot", "server_tryagain"),
        ("CLUSTERDOWN The cluster is down", "server_clusterdown"),
        ("MOVED 99999 127.0.0.1:1", "server_moved"),
        ("MOVED 5 :PORT", "server_moved"),
        ("READONLY You can't write against a read only replica.", "server_readonly"),
    ] {
        let own = Arc::new(Mutex::new(0));
        let source = Server::start({
            let own = own.clone();
            move |_| vec![format!("-{}\r\n", text.replace("PORT", &own.lock().unwrap().to_string())).into_bytes()]
        });
        *own.lock().unwrap() = source.port;
        let outcome = drive_on(&[source.port, good().port], json!({"model": users(1, 5)}));
        assert_eq!((outcome.errors(), outcome.record.total.errors[error]), (5, 5));
    }
}

#[test]
fn a_transaction_that_is_sent_on_ends_and_leaves_no_connection_in_it() {
    let target = Server::start(|received| match received.arguments[0].as_str() {
        "SET" => vec![b"+QUEUED\r\n".to_vec()],
        "EXEC" => vec![b"*1\r\n+OK\r\n".to_vec()],
        _ => vec![b"+OK\r\n".to_vec()],
    });
    let port = target.port;
    let source = Server::start(move |received| match received.arguments[0].as_str() {
        "SET" => {
            let slot = slot_of(received.arguments[1].as_bytes());
            vec![format!("-MOVED {slot} 127.0.0.1:{port}\r\n").into_bytes()]
        }
        _ => vec![b"+OK\r\n".to_vec()],
    });
    let operations = json!([{"name": "both",
        "commands": [{"args": ["MULTI"]}, {"args": ["SET", "{key}", "x"]}, {"args": ["EXEC"]}]}]);
    let changes = json!({"model": users(1, 100), "operations": operations, "keys": {"count": 5}});
    let outcome = drive_on(&[source.port, target.port], changes);
    let redirections = outcome.record.redirections.clone().unwrap();
    let ended = redirections.in_transaction;
    assert!((1..=5).contains(&ended), "one for each key: {redirections:?}");
    assert_eq!((outcome.errors(), outcome.record.total.errors["server_moved"]), (ended, ended));
    assert_eq!((outcome.record.total.ok, outcome.record.connections.lost), (100 - ended, ended));
}

#[test]
fn a_node_that_is_gone_is_found_at_another() {
    let (primary, replica) = (good(), good());
    let port = replica.port;
    let other = Server::start(move |received| {
        let slot = slot_of(received.arguments[1].as_bytes());
        vec![if slot > 8000 { OK.to_vec() } else { format!("-MOVED {slot} 127.0.0.1:{port}\r\n").into_bytes() }]
    });
    let endpoints = json!([
        {"port": primary.port, "slots": [[0, 8000]]}, {"port": other.port, "slots": [[8001, 16_383]]}, {"port": port}
    ]);
    let changes = json!({
        "endpoints": endpoints, "model": {"kind": "closed", "users": 4}, "pool": {"connections": 12},
        "phases": {"ramp_up_s": 0, "warm_up_s": 0, "measure_s": 2.0, "measure_operations": 3000, "measure_max_s": 60},
    });
    let mut running = begin(plan(0, changes));
    let ok = |intervals: &[Value]| -> u64 {
        intervals.iter().map(|one| one["operations"]["get"]["ok"].as_u64().unwrap()).sum()
    };
    drop(primary);
    let before = ok(&running.1);
    take_until(&mut running, |intervals| ok(intervals) >= before + 1000);
    let outcome = finish(running);
    let record = &outcome.record;
    assert!(record.endpoints[2].ok > 0, "the replica: {:?}", record.endpoints);
    let names: Vec<&str> = record.total.errors.keys().copied().collect();
    assert!(names.iter().all(|name| name.starts_with("connection_")), "{names:?}");
    assert!(outcome.errors() <= 4, "what was on its way: {:?}", record.total.errors);
}

#[test]
fn arrivals_are_sent_on_too() {
    let target = good();
    let source = sending_on("MOVED", "127.0.0.1", target.port);
    let changes = json!({"model": {"kind": "open", "rate_per_s": 2000}, "pipeline_depth": 3});
    let mut changes = changes;
    changes["endpoints"] = endpoints(&[source.port, target.port]);
    let outcome = drive(plan(0, changes));
    assert_eq!(outcome.errors(), 0);
    assert!(outcome.record.total.ok > 0 && outcome.record.redirections.as_ref().unwrap().moved > 0);
}
