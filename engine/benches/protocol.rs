//! CPU time that the protocol's side of an operation costs: `cargo bench -p loadstone-engine --bench protocol`.

use std::hint::black_box;
use std::sync::Arc;

use loadstone_engine::load::{Request, Shared, Workload};
use loadstone_engine::machine::clock::thread_cpu_ns;
use loadstone_engine::plan::Plan;
use loadstone_engine::wire::{Decoded, Reading};
use serde_json::json;

const ROUNDS: usize = 21;
const TURNS: u32 = 50_000;

/// Prints the median and the fastest of several rounds.
fn measure(name: &str, mut work: impl FnMut()) {
    let mut round = || {
        let before_ns = thread_cpu_ns();
        (0..TURNS).for_each(|_| work());
        (thread_cpu_ns() - before_ns) as f64 / f64::from(TURNS)
    };
    round();
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    rounds.sort_by(f64::total_cmp);
    println!("{name:<46} {:>8.1} ns  (fastest {:.1})", rounds[ROUNDS / 2], rounds[0]);
}

/// One operation on 1,000 keys that hold version 1 of their documents.
fn workload(operation: serde_json::Value, payload_bytes: usize) -> Workload {
    let speaks = if operation.get("requests").is_some() { "http1" } else { "resp2" };
    let plan = json!({
        "protocol": speaks, "endpoints": [{}], "model": {"kind": "closed", "users": 1}, "pool": {"connections": 1},
        "operations": [operation], "keys": {"count": 1000, "loaded": true},
        "documents": {"payload_bytes": payload_bytes, "field_bytes": 10},
    });
    let plan = Plan::from_json(&plan.to_string()).expect("the plan is valid");
    Workload::new(&plan, Arc::new(Shared::new(&plan).expect("there is room")), 0).expect("the plan can be driven")
}

fn begin(workload: &mut Workload) -> Request {
    workload.begin().expect("keys never run out")
}

/// Draws, encodes, decodes and judges, each alone and all together. The reply is made from the encoded command.
fn measure_all(name: &str, workload: &mut Workload, reply: &dyn Fn(&Request) -> Vec<u8>) {
    let mut out = Vec::with_capacity(1 << 20);
    measure(&format!("{name}: begin"), || {
        black_box(begin(workload));
    });
    let request = begin(workload);
    measure(&format!("{name}: encode"), || {
        out.clear();
        workload.encode(black_box(&request), 0, b"", &mut out);
        black_box(&out);
    });
    let bytes = reply(&request);
    let mut reading = Reading::default();
    measure(&format!("{name}: decode"), || {
        assert_eq!(
            black_box(workload.decode(|| Some(&request), &mut reading, black_box(&bytes))),
            Ok(Decoded::Complete { length: bytes.len() })
        );
    });
    let requests: Vec<(Request, Vec<u8>)> =
        (0..64).map(|_| begin(workload)).map(|request| (request, reply(&request))).collect();
    let mut turn = 0;
    measure(&format!("{name}: encode + decode + judge"), || {
        turn += 1;
        let (request, bytes) = &requests[turn % requests.len()];
        out.clear();
        workload.encode(black_box(request), 0, b"", &mut out);
        black_box(&out);
        assert_eq!(
            workload.decode(|| Some(request), &mut reading, black_box(bytes)),
            Ok(Decoded::Complete { length: bytes.len() })
        );
        assert_eq!(workload.judge(black_box(request), &mut reading, black_box(bytes)), Ok(()));
    });
}

/// The document of a request's key and version as a bulk string, cut out of the command that stores it.
fn stored(payload_bytes: usize) -> impl Fn(&Request) -> Vec<u8> {
    let set = json!({"name": "set", "writes": "document", "commands": [{"args": ["SET", "{key}", "{document}"]}]});
    let setter = std::cell::RefCell::new(workload(set, payload_bytes));
    move |request| {
        let mut out = Vec::new();
        let mut first = *request;
        first.version = 1;
        setter.borrow_mut().encode(&first, 0, b"", &mut out);
        let place = out.len() - (payload_bytes + 122) - format!("${}\r\n\r\n", payload_bytes + 122).len();
        out.split_off(place)
    }
}

fn main() {
    let get = json!({"name": "get", "commands": [{"args": ["GET", "{key}"], "expect": "value"}]});
    let value = b"$100\r\n".iter().chain(&[b'x'; 100]).chain(b"\r\n").copied().collect::<Vec<u8>>();
    measure_all("GET 100 B", &mut workload(get, 100), &|_| value.clone());
    let get = json!({"name": "get", "requests": [{"path": "/post/{number}", "expect": {"contains": "xxx"}}]});
    let page = format!("HTTP/1.1 200 OK\r\nServer: any\r\nContent-Length: 100\r\n\r\n{}", "x".repeat(100)).into_bytes();
    measure_all("HTTP GET 100 B", &mut workload(get, 100), &|_| page.clone());
    let set = json!({"name": "set", "commands": [{"args": ["SET", "{key}", "{value}"], "expect": "ok"}]});
    measure_all("SET 100 B", &mut workload(set, 100), &|_| b"+OK\r\n".to_vec());
    let get = json!({"name": "get", "commands": [{"args": ["JSON.GET", "{key}"], "expect": "document"}]});
    for payload_bytes in [100, 1000, 10_000] {
        let name = format!("JSON.GET {payload_bytes} B + 122");
        measure_all(&name, &mut workload(get.clone(), payload_bytes), &stored(payload_bytes));
    }
    let set = json!({"name": "set", "commands": [{"args": ["JSON.SET", "{key}", "$", "{document}"], "expect": "ok"}],
        "writes": "document", "read_back": {"args": ["JSON.GET", "{key}"], "expect": "document"}});
    let mut set = workload(set, 1000);
    let mut out = Vec::with_capacity(1 << 20);
    measure("JSON.SET 1000 B + 122: begin, encode, judge", || {
        out.clear();
        let request = begin(&mut set);
        set.encode(&request, 0, b"", &mut out);
        black_box(&out);
        assert_eq!(set.judge(&request, &mut Reading::default(), b"+OK\r\n"), Ok(()));
    });
}
