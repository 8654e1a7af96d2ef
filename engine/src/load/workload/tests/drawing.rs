//! Which operation, key and version come next, and the bytes that are sent.

use super::*;
use crate::plan::Endpoint;

fn two_operations() -> Value {
    json!([
        {"name": "get", "weight": 3, "commands": [{"args": ["GET", "{key}"], "expect": "value"}]},
        {"name": "set", "weight": 1, "writes": "document", "read_back": {"args": ["json.get", "{key}"]},
         "commands": [{"args": ["JSON.SET", "{key}", "$", "{document}"], "expect": "ok"}]},
    ])
}

fn draw(plan: &Plan, thread: usize, n: usize) -> Vec<Request> {
    let mut workload = Workload::new(plan, Arc::new(Shared::new(plan).unwrap()), thread).unwrap();
    (0..n).map_while(|_| workload.begin()).collect()
}

#[test]
fn operations_come_by_their_weights() {
    let drawn = draw(&plan(two_operations(), json!({})), 0, 40_000);
    let sets = drawn.iter().filter(|request| request.operation == 1).count();
    assert!((9_600..10_400).contains(&sets), "{sets}");
}

#[test]
fn every_operation_of_many_is_drawn() {
    let many: Vec<Value> = (0..200)
        .map(|index| json!({"name": format!("o{index}"), "weight": 0.1, "commands": [{"args": ["PING"]}]}))
        .collect();
    let drawn = draw(&plan(json!(many), json!({})), 0, 20_000);
    let operations: std::collections::HashSet<u16> = drawn.iter().map(|request| request.operation).collect();
    assert_eq!(operations.len(), 200);
}

#[test]
fn seed_and_thread_fix_what_is_drawn() {
    let of = |seed: u64, thread: usize| draw(&plan(two_operations(), json!({"seed": seed, "threads": 4})), thread, 500);
    assert_eq!(of(1, 0), of(1, 0));
    assert_ne!(of(1, 0), of(2, 0));
    let keys = |requests: Vec<Request>| requests.iter().map(|request| request.key).collect::<Vec<_>>();
    assert_ne!(keys(of(1, 0)), keys(of(1, 1)));
}

#[test]
fn numbers_are_unique_over_the_threads() {
    let plan = plan(two_operations(), json!({"threads": 3}));
    let mut numbers: Vec<u64> = (0..3).flat_map(|thread| draw(&plan, thread, 10)).map(|request| request.seq).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..30).collect::<Vec<_>>());
}

#[test]
fn exactly_once_ends() {
    let keys = json!({"keys": {"count": 25, "distribution": "exactly_once"}});
    let drawn = draw(&plan(two_operations(), keys), 0, 1000);
    assert_eq!(drawn.iter().map(|request| request.key).collect::<Vec<_>>(), (0..25).collect::<Vec<_>>());
}

#[test]
fn each_write_has_the_next_version_and_reads_have_none_of_their_own() {
    let plan = plan(two_operations(), json!({"keys": {"count": 1, "loaded": true}}));
    let mut workload = workload(&plan);
    assert_eq!(begin(&mut workload, "set").version, 2);
    assert_eq!(begin(&mut workload, "get").version, 2);
    assert_eq!(begin(&mut workload, "set").version, 3);
}

#[test]
fn commands_are_encoded_as_redis_reads_them() {
    let plan = plan(two_operations(), json!({"keys": {"prefix": "app:", "count": 1}}));
    let mut workload = workload(&plan);
    let get = begin(&mut workload, "get");
    assert_eq!(encode(&mut workload, &get, b""), "*2\r\n$3\r\nGET\r\n$16\r\napp:000000000000\r\n");
    let set = begin(&mut workload, "set");
    let command = encode(&mut workload, &set, b"");
    assert!(command.starts_with(
        "*4\r\n$8\r\nJSON.SET\r\n$16\r\napp:000000000000\r\n$1\r\n$\r\n$222\r\n{\"id\":\"000000000000\",\"version\":\"0000000001\""
    ));
    assert!(command.ends_with("\"}\r\n"));
    assert_eq!(encode(&mut workload, &set, b""), command);
}

#[test]
fn commands_are_named_once_read_backs_included() {
    let operations = json!([
        {"name": "set", "writes": "document", "read_back": {"args": ["json.get", "{key}"], "expect": "document"},
         "commands": [{"args": ["JSON.SET", "{key}", "$", "{document}"]}]},
        {"name": "both", "commands": [{"args": ["JSON.GET", "{key}"]}, {"args": ["GET", "{key}"]}]},
    ]);
    let mut workload = workload(&plan(operations, json!({})));
    assert_eq!(workload.request_names(), ["JSON.SET", "JSON.GET", "GET"]);
    let infos: Vec<(&str, u16)> =
        workload.operations().iter().map(|operation| (operation.name.as_str(), operation.steps)).collect();
    assert_eq!(infos, [("set", 1), ("both", 2)]);
    let both = begin(&mut workload, "both");
    let mut second = both;
    assert!(workload.go_on(&mut second) && !workload.go_on(&mut second));
    assert_eq!((workload.name_index(&both), workload.name_index(&second)), (1, 2));
    assert!(encode(&mut workload, &second, b"").contains("\r\nGET\r\n"));
    set(&mut workload);
    let read_back = workload.next_read_back().unwrap();
    assert_eq!(workload.name_index(&read_back), 1);
    assert!(encode(&mut workload, &read_back, b"").contains("\r\njson.get\r\n"));
}

#[test]
fn hello_and_error_texts_come_from_the_protocol() {
    let workload = workload(&plan(two_operations(), json!({"protocol": "resp3"})));
    let mut out = Vec::new();
    assert_eq!(workload.wire().hello(&Endpoint::default(), &mut out), 2);
    assert!(out.starts_with(b"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"));
    assert_eq!(workload.wire().error_text(b"-WRONGPASS invalid\r\n").as_deref(), Some("WRONGPASS invalid"));
    assert_eq!(workload.wire().error_text(b"+OK\r\n"), None);
    assert_eq!(workload.wire().error_text(b"-cut"), None);
}
