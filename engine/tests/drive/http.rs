//! Drives over HTTP/1.1: what is sent, what replies are worth, connections that come and go.

use crate::http_server::{Answer, Received, Server, reply, text};
use crate::support::{HANGS_S, Outcome, begin, drive, finish, lay_over, take_until};
use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::{NullOptions, NullProtocol, NullServer};
use loadstone_engine::plan::Plan;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A short drive of 4 users with 50 operations each, `GET /`, with `changes` laid over it.
pub fn plan(port: u16, changes: Value) -> Plan {
    let mut plan = json!({
        "protocol": "http1",
        "endpoints": [{"port": port}],
        "model": {"kind": "closed", "users": 4, "operations_per_user": 50},
        "pool": {"connections": 4},
        "phases": {"warm_up_s": 0.0, "measure_s": 0.1, "measure_max_s": HANGS_S, "drain_s": HANGS_S},
        "operations": [{"name": "get", "requests": [{"path": "/"}]}],
        "keys": {"count": 100},
        "timeouts": {"connect_ms": 1000.0 * HANGS_S, "request_ms": 1000.0 * HANGS_S},
        "interval_s": 0.05,
    });
    lay_over(&mut plan, changes);
    Plan::from_json(&plan.to_string()).expect("the test's plan is valid")
}

/// One request a `get`, with these parts.
fn request(parts: Value) -> Value {
    let mut request = json!({"path": "/"});
    lay_over(&mut request, parts);
    json!({"operations": [{"name": "get", "requests": [request]}]})
}

fn against(answer: impl Fn(&Received) -> Answer + Send + Sync + 'static, changes: Value) -> Outcome {
    let server = Server::start(answer);
    drive(plan(server.port, changes))
}

/// The outcome of replies that are all the same.
fn always(text: &str) -> Outcome {
    let text = text.to_string();
    against(move |_| Answer::Reply(text.clone()), json!({}))
}

fn errors(outcome: &Outcome) -> BTreeMap<&'static str, u64> {
    outcome.record.total.errors.clone()
}

#[test]
fn requests_arrive_as_the_plan_has_them() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let server = Server::start({
        let requests = requests.clone();
        move |received| {
            requests.lock().unwrap().push((received.head.clone(), received.body.clone()));
            reply(201, "{}")
        }
    });
    let changes = json!({
        "model": {"kind": "closed", "users": 1, "operations_per_user": 3}, "pool": {"connections": 1},
        "keys": {"count": 3, "distribution": "sequential"},
        "endpoints": [{"port": server.port, "base_path": "/api", "username": "ann", "password": "p:w", "secret_headers": {"X-Key": "s3"}}],
        "operations": [{"name": "post", "requests": [{
            "method": "POST", "path": "/post/{number}?n={uniform 5..5}", "headers": {"Content-Type": "application/json", "X-Seq": "{seq}"},
            "body": "{{\"title\":\"{random 10 lowercase}\",\"seq\":{seq}}}", "expect": {"status": 201}}]}],
    });
    let outcome = drive(plan(server.port, changes));
    assert_eq!((outcome.record.total.ok, outcome.errors()), (3, 0));
    let requests = requests.lock().unwrap();
    assert_eq!(
        requests[1].0,
        format!(
            "POST /api/post/2?n=5 HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-Key: s3\r\nAuthorization: Basic YW5uOnA6dw==\r\n\
             Content-Type: application/json\r\nX-Seq: 1\r\nContent-Length: 30\r\n",
            server.port
        )
    );
    let body: BTreeMap<String, Value> = serde_json::from_str(&requests[1].1).unwrap();
    assert!(body["seq"] == 1 && body["title"].as_str().unwrap().len() == 10);
    assert_ne!(requests[1].1[..20], requests[2].1[..20]);
    let commands = &outcome.record.commands["POST /post/{number}?n={uniform 5..5}"];
    assert_eq!((commands.sent, commands.replied), (3, 3));
}

#[test]
fn every_framing_is_read() {
    let body = "x".repeat(100_000);
    for (name, answer) in [
        ("length", text(200, "", &body)),
        (
            "chunks",
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n{body}\r\n0\r\nX: y\r\n\r\n"),
        ),
        ("after 100", format!("HTTP/1.1 100 Continue\r\n\r\n{}", text(200, "", "x"))),
        ("none", "HTTP/1.1 204 No Content\r\n\r\n".into()),
    ] {
        let outcome = always(&answer);
        assert_eq!((outcome.record.total.ok, outcome.errors()), (200, 0), "{name}");
        assert_eq!(outcome.record.connections.opened, 4, "{name}");
        assert_eq!(outcome.record.bytes_received, 200 * answer.len() as u64, "{name}");
    }
    let outcome = against(
        |_| Answer::Reply("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".into()),
        request(json!({"method": "HEAD"})),
    );
    assert_eq!((outcome.record.total.ok, outcome.errors()), (200, 0));
}

#[test]
fn replies_in_pieces_are_whole_only_at_their_last_byte() {
    let pieces = [
        "HTTP/1.1 20",
        "0 OK\r\nTransfer-Encoding: chu",
        "nked\r\n\r\n5\r\nhel",
        "lo\r\n6",
        "\r\n world\r\n0\r",
        "\n\r\n",
    ];
    let changes = json!({"operations": [{"name": "get", "requests": [{"path": "/", "expect": {"equals": "hello world"}}]}],
        "model": {"kind": "closed", "users": 4, "operations_per_user": 5}});
    let outcome = against(move |_| Answer::Pieces(pieces.map(String::from).to_vec()), changes);
    assert_eq!((outcome.record.total.ok, outcome.errors()), (20, 0));
    assert!(outcome.record.operations["get"].service_ns.min >= 5_000_000, "five pauses of a millisecond");
}

#[test]
fn a_status_that_is_not_expected_is_counted_by_its_class() {
    for (status, kind) in [(201, "status_2xx"), (302, "redirect"), (404, "status_4xx"), (503, "status_5xx")] {
        let outcome = against(move |_| reply(status, ""), request(json!({"expect": {"status": 200}})));
        assert_eq!(errors(&outcome), BTreeMap::from([(kind, 200)]), "all fail, and the drive ends");
        assert_eq!((outcome.record.total.ok, outcome.record.stopped.clone()), (0, None));
        assert_eq!(outcome.record.connections.opened, 4);
        assert_eq!(outcome.record.operations["get"].response_ns.count, 0);
    }
    let outcome = against(|_| reply(302, ""), request(json!({"expect": {"status": [200, "3xx"]}})));
    assert_eq!((outcome.record.total.ok, outcome.errors()), (200, 0), "a redirect that is expected");
}

#[test]
fn a_body_that_is_not_expected_is_counted() {
    let json = r#"{"id":5,"tags":["a"]}"#;
    for (expect, is_right) in [
        (json!({"contains": "\"id\":5,"}), true),
        (json!({"contains": "\"id\":6,"}), false),
        (json!({"equals": json.replace('{', "{{").replace('}', "}}")}), true),
        (json!({"equals": ""}), false),
        (json!({"json_fields": ["id", "tags.0"]}), true),
        (json!({"json_fields": ["id", "tags.1"]}), false),
        (json!({"contains": "tags", "json_fields": ["none"]}), false),
    ] {
        let outcome = against(move |_| reply(200, json), request(json!({"expect": expect})));
        let (ok, kinds) = if is_right { (200, BTreeMap::new()) } else { (0, BTreeMap::from([("body_mismatch", 200)])) };
        assert_eq!((outcome.record.total.ok, errors(&outcome)), (ok, kinds), "{expect}");
    }
    let echo = |received: &Received| reply(200, &format!("this is {}.", received.path()));
    let outcome = against(echo, request(json!({"path": "/{number}", "expect": {"contains": "is /{number}."}})));
    assert_eq!((outcome.record.total.ok, outcome.errors()), (200, 0));
}

#[test]
fn what_breaks_a_connection_is_counted_by_its_kind() {
    type Behaviour = fn() -> Answer;
    let cases: [(&str, Behaviour); 7] = [
        ("connection_reset", || Answer::Reset),
        ("connection_closed", || Answer::Last(String::new())),
        ("connection_closed", || Answer::HalfClose),
        ("truncated_reply", || Answer::Last("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".into())),
        ("truncated_reply", || Answer::Last("HTTP/1.1 200".into())),
        ("malformed_reply", || Answer::Reply("+PONG\r\n".into())),
        ("malformed_reply", || Answer::Reply("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".into())),
    ];
    for (kind, answer) in cases {
        let third = move |received: &Received| if received.number % 10 == 3 { answer() } else { reply(200, "fine") };
        let outcome = against(third, json!({}));
        assert_eq!(errors(&outcome), BTreeMap::from([(kind, 20)]));
        assert_eq!((outcome.record.total.ok, outcome.record.connections.lost), (180, 20), "{kind}");
        let changes = json!({"model": {"kind": "closed", "users": 4, "operations_per_user": 3}});
        let outcome = against(move |_| answer(), changes);
        assert_eq!(errors(&outcome), BTreeMap::from([(kind, 12)]), "all fail, and the drive ends");
        assert_eq!(outcome.record.stopped, None);
    }
}

#[test]
fn a_reply_that_does_not_come_is_a_timeout() {
    let third = |received: &Received| if received.number == 3 { Answer::Stall } else { reply(200, "fine") };
    let outcome = against(third, json!({"timeouts": {"request_ms": 2_000.0}}));
    assert_eq!((outcome.record.total.ok, outcome.record.total.timeouts, outcome.errors()), (199, 1, 0));
}

#[test]
fn bytes_that_no_request_is_due_for_answer_nothing() {
    let twice = text(200, "", "one") + &text(200, "", "two");
    let third =
        move |received: &Received| if received.number == 3 { Answer::Reply(twice.clone()) } else { reply(200, "") };
    let outcome = against(third, json!({}));
    assert_eq!(errors(&outcome), BTreeMap::from([("malformed_reply", 1)]), "of the request after it");
}

#[test]
fn a_connection_that_closes_with_its_reply_is_opened_again_and_no_error() {
    for answer in [
        text(200, "Connection: close\r\n", "bye"),
        "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nbye".to_string(),
        "HTTP/1.1 200 OK\r\n\r\nuntil the end".to_string(),
    ] {
        let outcome = against(move |_| Answer::Last(answer.clone()), json!({"threads": 2}));
        let connections = &outcome.record.connections;
        let total = &outcome.record.total;
        assert_eq!((total.ok, total.timeouts, errors(&outcome)), (200, 0, BTreeMap::new()));
        assert_eq!((connections.closed_by_server, connections.lost, connections.failed), (200, 0, 0));
    }
}

#[test]
fn an_operation_of_two_requests_goes_on_over_a_connection_that_closes() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let changes =
        json!({"operations": [{"name": "two", "requests": [{"path": "/first/{seq}"}, {"path": "/second/{seq}"}]}]});
    let answer = {
        let requests = requests.clone();
        move |received: &Received| {
            requests.lock().unwrap().push(received.path().to_string());
            Answer::Last(text(200, "Connection: close\r\n", ""))
        }
    };
    let outcome = against(answer, changes);
    let total = &outcome.record.total;
    assert_eq!((total.sent, total.ok, total.timeouts, errors(&outcome)), (200, 200, 0, BTreeMap::new()));
    assert_eq!(outcome.record.connections.closed_by_server, 400);
    let mut requests = requests.lock().unwrap().clone();
    requests.sort_unstable();
    requests.dedup();
    assert_eq!(requests.len(), 400);
}

#[test]
fn a_first_request_that_fails_ends_an_operation_of_two() {
    let changes = json!({"operations": [{"name": "two", "requests": [{"path": "/first"}, {"path": "/second"}]}]});
    let outcome = against(|received| reply(if received.path() == "/first" { 500 } else { 200 }, ""), changes);
    assert_eq!(errors(&outcome), BTreeMap::from([("status_5xx", 200)]));
    assert_eq!(outcome.record.commands["GET /second"].sent, 0);
}

#[test]
fn a_connection_that_is_closed_while_it_idles_is_no_error() {
    // Two connections in turn: the one that the third request went over is closed before the fourth is answered.
    let answer =
        |received: &Received| if received.number == 3 { Answer::Parting(text(200, "", "")) } else { reply(200, "") };
    let model = json!({"kind": "closed", "users": 1, "operations_per_user": 6});
    let outcome = against(answer, json!({"model": model, "pool": {"connections": 2, "order": "fifo"}}));
    assert_eq!((outcome.record.total.ok, errors(&outcome)), (6, BTreeMap::new()));
    let connections = &outcome.record.connections;
    assert_eq!((connections.closed_by_server, connections.lost), (1, 0));
}

#[test]
fn two_endpoints_get_the_same_load() {
    let servers = [(); 2].map(|()| Server::start(|_| reply(200, "")));
    let endpoints: Vec<Value> = servers.iter().map(|server| json!({"port": server.port})).collect();
    for threads in [1, 2] {
        let changes = json!({"endpoints": endpoints, "threads": threads, "pool": {"connections": 8}});
        let outcome = drive(plan(0, changes));
        let sent: Vec<u64> = outcome.record.endpoints.iter().map(|endpoint| endpoint.sent).collect();
        assert_eq!(sent, [100, 100]);
        assert_eq!(outcome.record.endpoints.iter().map(|endpoint| endpoint.ok).sum::<u64>(), 200);
    }
    // A connection for each arrival: none ever has to take what the other endpoint has left.
    let changes = json!({"endpoints": endpoints, "model": {"kind": "open", "rate_per_s": 500.0, "arrivals": "poisson"},
        "pool": {"connections": 400}, "phases": {"measure_s": 0.4}});
    let mut open = serde_json::to_value(json!({})).unwrap();
    lay_over(&mut open, changes);
    let outcome = drive(plan(0, open));
    let [one, two] = [0, 1].map(|place| outcome.record.endpoints[place].sent);
    assert!(one + two > 100 && one.abs_diff(two) <= 1, "{one} and {two}");
}

#[test]
fn a_connection_that_is_refused_is_the_failure_of_who_waits_for_it() {
    let left = Server::start(|_| reply(200, ""));
    let mut gone = Server::start(|_| reply(200, ""));
    let changes = json!({
        "endpoints": [{"port": left.port}, {"port": gone.port}],
        "model": {"kind": "closed", "users": 4}, "phases": {"measure_s": HANGS_S}, "timeouts": {"gone_s": 0.001},
    });
    let mut begun = begin(plan(0, changes));
    gone.stop();
    take_until(&mut begun, |intervals| {
        let refused = |interval: &&Value| interval.pointer("/operations/get/errors/connection_refused").is_some();
        intervals.iter().filter(refused).count() > 3
    });
    begun.0.stop();
    let outcome = finish(begun);
    assert!(outcome.record.total.ok > 0, "{:?}", outcome.record.total);
    assert_eq!(outcome.record.stopped.as_deref(), Some("stopped on request"), "the other endpoint is there");
}

#[test]
fn a_service_that_goes_away_ends_the_drive() {
    let mut server = Server::start(|_| reply(200, ""));
    let changes =
        json!({"model": {"kind": "closed", "users": 4}, "phases": {"measure_s": 30.0}, "timeouts": {"gone_s": 0.3}});
    let begun = begin(plan(server.port, changes));
    server.stop();
    let outcome = finish(begun);
    let stopped = outcome.record.stopped.clone().expect("it stopped early");
    assert!(stopped.starts_with("server gone: ") && stopped.ends_with("Connection refused"), "{stopped}");
    assert!(outcome.record.total.errors.contains_key("connection_refused"), "{:?}", outcome.record.total);
}

#[test]
fn nobody_listens() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let why = Drive::new(plan(port, json!({}))).unwrap().start().unwrap_err().to_string();
    assert!(why.ends_with(&format!("127.0.0.1:{port}: Connection refused")), "{why}");
}

#[test]
fn rows_of_a_data_file_come_in_order() {
    let path = std::env::temp_dir().join(format!("loadstone-rows-{}.csv", std::process::id()));
    std::fs::write(&path, "name,colour\na,red\nb,green\nc,blue\n").unwrap();
    let requests = Arc::new(Mutex::new(BTreeMap::new()));
    let answer = {
        let requests = requests.clone();
        move |received: &Received| {
            *requests.lock().unwrap().entry(format!("{} {}", received.path(), received.body)).or_insert(0) += 1;
            reply(200, received.path())
        }
    };
    let mut changes = request(
        json!({"method": "PUT", "path": "/{data.name}", "body": "{data.colour}", "expect": {"equals": "/{data.name}"}}),
    );
    lay_over(
        &mut changes,
        json!({"data": {"path": path}, "model": {"kind": "closed", "users": 3, "operations_per_user": 50}}),
    );
    let outcome = against(answer, changes);
    std::fs::remove_file(&path).unwrap();
    assert_eq!((outcome.record.total.ok, outcome.errors()), (150, 0));
    let expected = ["/a red", "/b green", "/c blue"].map(|row| (row.to_string(), 50));
    assert_eq!(*requests.lock().unwrap(), BTreeMap::from(expected));
}

#[test]
fn the_open_model_counts_what_arrives() {
    let changes = json!({"model": {"kind": "open", "rate_per_s": 1000.0}, "phases": {"measure_s": 0.3}, "pool": {"connections": 16}});
    let outcome = against(|_| reply(200, ""), changes);
    assert_eq!(outcome.counts("get").offered, 300);
    assert_eq!(outcome.errors(), 0);
}

#[test]
fn the_null_server_speaks_http() {
    let options =
        NullOptions { protocol: NullProtocol::Http1, status: 404, body_bytes: 5000, ..NullOptions::default() };
    let server = NullServer::start(options).unwrap();
    let operations = json!([
        {"name": "get", "requests": [{"path": "/", "expect": {"status": 404, "contains": "xxx", "json_fields": ["null"]}}]},
        {"name": "head", "requests": [{"method": "HEAD", "path": "/", "expect": {"status": 404}}]},
        {"name": "post", "requests": [{"method": "POST", "path": "/", "body": "{document}", "expect": {"status": 404}}]},
    ]);
    let outcome = drive(plan(server.port(), json!({"operations": operations, "documents": {"payload_bytes": 20_000}})));
    assert_eq!((outcome.record.total.ok, outcome.errors()), (200, 0));
    assert_eq!(server.commands(), 200);
    let outcome = drive(plan(server.port(), json!({"verify": {"count_mismatch": false}})));
    assert_eq!(errors(&outcome), BTreeMap::from([("status_4xx", 200)]));
}

#[test]
fn mismatches_are_not_counted_where_the_plan_says_so() {
    let mut changes = request(json!({"expect": {"status": 201, "contains": "never"}}));
    lay_over(&mut changes, json!({"verify": {"count_mismatch": false}}));
    let outcome = against(|_| reply(200, ""), changes);
    assert_eq!((outcome.record.total.ok, outcome.errors()), (200, 0));
}

#[test]
fn stopping_ends_at_once() {
    let server = Server::start(|_| Answer::Stall);
    let changes = json!({"model": {"kind": "closed", "users": 4}, "phases": {"measure_s": 30.0}});
    let (drive, intervals) = begin(plan(server.port, changes));
    drive.stop();
    assert!(drive.result(Duration::from_secs(5)).unwrap().is_some());
    let outcome = finish((drive, intervals));
    assert_eq!(outcome.record.total.in_flight, 4);
}
