//! Operations from the draw to the judgement, against scripted replies.

mod drawing;
mod judging;
mod memcached;
mod plan_errors;
mod reading_back;
mod shared;

use serde_json::{Value, json};

use super::*;

/// A plan with these operations; `more` replaces or adds other parts.
fn plan(operations: Value, more: Value) -> Plan {
    let mut whole = json!({
        "endpoints": [{}],
        "model": {"kind": "closed", "users": 1},
        "pool": {"connections": 1},
        "operations": operations,
        "keys": {"prefix": "k:", "count": 10},
    });
    for (name, part) in more.as_object().unwrap() {
        whole[name] = part.clone();
    }
    Plan::from_json(&whole.to_string()).unwrap()
}

fn workload(plan: &Plan) -> Workload {
    Workload::new(plan, Arc::new(Shared::new(plan).unwrap()), 0).unwrap()
}

/// The operation of that name, begun.
fn begin(workload: &mut Workload, name: &str) -> Request {
    let index = workload.operations().iter().position(|operation| operation.name == name).unwrap();
    workload.begin_operation(index).unwrap()
}

fn encode(workload: &mut Workload, request: &Request, previous: &[u8]) -> String {
    let mut out = Vec::new();
    workload.encode(request, 0, previous, &mut out);
    String::from_utf8(out).unwrap()
}

/// The arguments of an encoded command whose arguments hold no line ends.
fn arguments(command: &str) -> Vec<String> {
    command.split("\r\n").skip(2).step_by(2).map(str::to_string).collect()
}

fn bulk(text: &str) -> Vec<u8> {
    format!("${}\r\n{text}\r\n", text.len()).into_bytes()
}

/// Judges a reply that must also be found whole.
fn judge(workload: &mut Workload, request: &Request, reply: &[u8]) -> Result<(), &'static str> {
    let mut reading = Reading::default();
    let decoded = workload.decode(|| Some(request), &mut reading, reply);
    assert_eq!(decoded, Ok(Decoded::Complete { length: reply.len() }));
    workload.judge(request, &mut reading, reply).map_err(|kind| kind.name())
}

/// A `set` that succeeds; returns the last argument that was sent.
fn set(workload: &mut Workload) -> String {
    let request = begin(workload, "set");
    let command = encode(workload, &request, b"");
    assert_eq!(judge(workload, &request, b"+OK\r\n"), Ok(()));
    arguments(&command).pop().unwrap()
}
