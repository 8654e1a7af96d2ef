//! A server that answers another's reply: a reply too many, or each reply one request late.

use crate::http_server::{self, Answer};
use crate::resp_server::{Received, Server};
use crate::support::{Outcome, drive, lay_over, plan};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

const OPERATIONS: u64 = 60;

/// One user, each of whose keys is written and then read, so that every reply names its key.
fn drive_against(port: u16, changes: Value) -> Outcome {
    let mut all = json!({
        "model": {"kind": "closed", "users": 1, "operations_per_user": OPERATIONS},
        "pool": {"connections": 1},
        "operations": [{"name": "store", "writes": "document", "commands": [
            {"args": ["SET", "{key}", "{document}"], "expect": "ok"}, {"args": ["GET", "{key}"], "expect": "document"},
        ]}],
        "keys": {"count": OPERATIONS, "distribution": "exactly_once"},
    });
    lay_over(&mut all, changes);
    drive(plan(port, all))
}

fn read_only(expect: &str, verify: Value) -> Value {
    json!({
        "operations": [{"name": "read", "commands": [{"args": ["GET", "{key}"], "expect": expect}]}],
        "verify": verify,
    })
}

fn bulk(text: &str) -> Vec<u8> {
    format!("${}\r\n{text}\r\n", text.len()).into_bytes()
}

/// An honest store, with what `change` makes of the parts that each reply is sent in.
fn store(change: impl Fn(&Received, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Server {
    let values = Mutex::new(HashMap::new());
    Server::start(move |received| {
        let mut values = values.lock().unwrap();
        let reply = match received.arguments {
            [_, key, value] => {
                values.insert(key.clone(), value.clone());
                b"+OK\r\n".to_vec()
            }
            [_, key] => values.get(key).map_or_else(|| bulk(&"x".repeat(100)), |value| bulk(value)),
            _ => b"+OK\r\n".to_vec(),
        };
        change(received, reply)
    })
}

/// A server that from its fifth command on sends the reply to the command before, and so one late.
fn one_late() -> Server {
    let before = Mutex::new(b"+OK\r\n".to_vec());
    store(move |received, reply| {
        let earlier = std::mem::replace(&mut *before.lock().unwrap(), reply.clone());
        vec![if received.number < 5 { reply } else { earlier }]
    })
}

/// An honest store, but for its ninth reply, which it sends twice in one piece.
fn twice_at_the_ninth() -> Server {
    store(|received, reply| vec![if received.number == 9 { [reply.clone(), reply].concat() } else { reply }])
}

#[test]
fn an_honest_store_has_no_error() {
    let outcome = drive_against(store(|_, reply| vec![reply]).port, json!({}));
    assert_eq!(outcome.record.total.ok, OPERATIONS, "{:?}", outcome.record.total);
    assert_eq!(outcome.record.connections.unrequested, 0);
}

/// Fault (replies): a server answers another request, or once too often: an error; the trial is invalid
#[test]
fn a_reply_too_many_answers_no_request_that_was_not_sent() {
    // In one piece with the correct one: by then the next request is encoded, and nothing of it sent.
    for verify in [json!({}), json!({"replies": false})] {
        let server = twice_at_the_ninth();
        let record = drive_against(server.port, read_only("any", verify)).record;
        assert_eq!(record.connections.unrequested, 1);
        assert_eq!(record.connections.lost, 1);
        assert_eq!(record.total.errors["protocol"], 1, "{:?}", record.total);
    }
}

#[test]
fn a_reply_too_many_on_an_idle_connection_is_counted() {
    let server = twice_at_the_ninth();
    let changes = json!({"model": {"kind": "closed", "users": 1, "operations_per_user": 20, "think_time_ms": 2.0}});
    let mut all = read_only("any", json!({"replies": false}));
    lay_over(&mut all, changes);
    let record = drive_against(server.port, all).record;
    assert_eq!((record.connections.unrequested, record.connections.lost), (1, 1));
    assert_eq!(record.total.ok, 20, "no user waited for a reply: {:?}", record.total);
}

/// Fault: a server answers another request, or once too often
#[test]
fn each_document_that_answers_another_request_is_wrong() {
    let late = one_late();
    let record = drive_against(late.port, json!({})).record;
    let wrong = record.total.errors.get("wrong_type").copied().unwrap_or(0)
        + record.total.errors.get("wrong_reply").copied().unwrap_or(0);
    // Numbers 1 to 4 are two whole operations; from then on none is correct.
    assert_eq!((record.total.ok, wrong), (2, OPERATIONS - 2), "{:?}", record.total);
}

#[test]
fn a_late_reply_of_the_correct_length_is_found_by_documents_and_not_by_values() {
    let keyed = |expect: &str| {
        let values = Mutex::new(Vec::<Vec<u8>>::new());
        let server = Server::start(move |received| {
            // The documents of the keys, which the first drive stored, each one request late in the second.
            let mut values = values.lock().unwrap();
            if received.arguments.len() == 3 {
                values.push(bulk(&received.arguments[2]));
                return vec![b"+OK\r\n".to_vec()];
            }
            let index: usize = received.arguments[1].rsplit(':').next().unwrap().parse().unwrap();
            vec![values[(index + 1) % values.len()].clone()]
        });
        let argument = if expect == "value" { "{value}" } else { "{document}" };
        let store = json!([{"name": "store", "commands": [{"args": ["SET", "{key}", argument], "expect": "ok"}],
            "writes": "document"}]);
        let changes = json!({"operations": store, "keys": {"distribution": "sequential"}});
        assert_eq!(drive_against(server.port, changes).record.total.ok, OPERATIONS);
        let mut all = read_only(expect, json!({}));
        lay_over(&mut all, json!({"keys": {"distribution": "sequential", "loaded": true}}));
        drive_against(server.port, all).record.total.clone()
    };
    assert_eq!(keyed("document").errors["wrong_reply"], OPERATIONS);
    // A value names no key: only what is read back after a write is held against its text.
    assert_eq!(keyed("value").ok, OPERATIONS);
}

/// An HTTP server that repeats the path; `behaviour` makes the answer of number and path.
fn http(behaviour: impl Fn(u64, &str) -> Answer + Send + Sync + 'static, changes: Value) -> Outcome {
    let server = http_server::Server::start(move |received| behaviour(received.number, received.path()));
    let mut all = json!({
        "protocol": "http1",
        "operations": [{"name": "get", "requests": [{"path": "/{key}", "expect": {"contains": "/{key};"}}]}],
    });
    lay_over(&mut all, changes);
    drive_against(server.port, all)
}

fn body(path: &str) -> String {
    http_server::text(200, "", &format!("{path};"))
}

/// Fault: a server answers another request, or once too often
#[test]
fn an_http_reply_too_many_is_an_error() {
    for verify in [json!({}), json!({"replies": false})] {
        let twice =
            |number: u64, path: &str| Answer::Reply(if number == 9 { body(path).repeat(2) } else { body(path) });
        let record = http(twice, json!({"verify": verify})).record;
        assert_eq!((record.connections.unrequested, record.connections.lost), (1, 1));
        assert_eq!(record.total.errors["malformed_reply"], 1, "{:?}", record.total);
    }
}

#[test]
fn http_replies_that_are_one_late_are_wrong_where_the_body_is_looked_at() {
    let one_late = || {
        let before = Mutex::new(String::from("/"));
        move |_: u64, path: &str| {
            let earlier = std::mem::replace(&mut *before.lock().unwrap(), path.to_string());
            Answer::Reply(body(&earlier))
        }
    };
    let looked_at = http(one_late(), json!({})).record;
    assert_eq!(looked_at.total.errors["body_mismatch"], OPERATIONS, "{:?}", looked_at.total);
    let not_looked_at = http(one_late(), json!({"verify": {"replies": false}})).record;
    assert_eq!(not_looked_at.total.ok, OPERATIONS, "a whole reply for each request: {:?}", not_looked_at.total);
}

#[test]
fn an_example_has_the_status_line_of_a_reply_and_the_beginning_of_its_body() {
    let head = "HTTP/1.1 503 Too busy\r\n";
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n5\r\nsorry\r\n0\r\n\r\n");
    let in_pieces = [&format!("{head}Content-Length: 5\r\n\r\n"), "so", "rry"].map(String::from).to_vec();
    let long = http_server::text(503, "", &"x".repeat(200_000));
    let cases = [
        (http_server::reply(503, "sorry"), "HTTP/1.1 503 Some text sorry"),
        (Answer::Reply(chunked), "HTTP/1.1 503 Too busy sorry"),
        (Answer::Pieces(in_pieces), "HTTP/1.1 503 Too busy sorry"),
        (Answer::Last(format!("{head}\r\nsorry")), "HTTP/1.1 503 Too busy sorry"),
        (Answer::Reply(long), "HTTP/1.1 503 Some text xxxxx"),
        (http_server::reply(503, ""), "HTTP/1.1 503 Some text "),
    ];
    for (answer, expected) in cases {
        for expect in [json!({}), json!({"contains": "{key}"})] {
            let operations = json!([{"name": "get", "requests": [{"path": "/{key}", "expect": expect}]}]);
            let model = json!({"kind": "closed", "users": 1, "operations_per_user": 3});
            let answer = answer.clone();
            let changes = json!({"operations": operations, "model": model});
            let examples = http(move |_, _| answer.clone(), changes).record.examples.clone();
            assert_eq!(examples.len(), 1, "{expected}: {examples:?}");
            assert_eq!((examples[0].operation.as_str(), examples[0].kind), ("get", "status_5xx"));
            assert!(examples[0].reply.starts_with(expected), "{expected}: {:?}", examples[0]);
        }
    }
    let wrong = http(|_, _| http_server::reply(200, "{\"error\": true}"), json!({})).record;
    assert_eq!(wrong.examples[0].reply, "HTTP/1.1 200 Some text {\"error\": true}");
}

#[test]
fn a_server_that_says_why_it_closes_an_idle_connection_answered_nobodys_request() {
    let notice = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let goodbye = move |number: u64, path: &str| match number {
        9 => Answer::Last(body(path) + notice),
        _ => Answer::Reply(body(path)),
    };
    let record = http(goodbye, json!({})).record;
    assert_eq!(record.connections.unrequested, 0);
}
