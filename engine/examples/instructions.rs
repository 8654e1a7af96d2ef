//! A drive against a null server in the same process, for `bench/engine/instructions.py`, which counts its instructions.
//!
//! `instructions CASE DEPTH CONNECTIONS OPERATIONS`: one engine thread, a user for each connection. GET and SET are of
//! 100 bytes; `document` sets documents, whose versions are followed.

use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::{NullOptions, NullProtocol, NullServer};
use loadstone_engine::plan::{Expect, Plan};
use std::error::Error;
use std::time::Duration;

const LONGEST: Duration = Duration::from_secs(600);
const SET: &str = r#"{"name": "set", "commands": [{"args": ["SET", "{key}", "{value}"], "expect": "ok"}]}"#;
const GET: &str = r#"{"name": "get", "commands": [{"args": ["GET", "{key}"], "expect": "value"}]}"#;
const DOCUMENT: &str = r#"{"name": "set", "writes": "document",
    "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}]}"#;
const HTTP: &str = r#"{"name": "get", "requests": [{"path": "/items/{number}"}]}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, depth, connections, operations] = arguments.as_slice() else {
        return Err("give a case, a pipeline's depth, and the numbers of connections and of operations".into());
    };
    let (protocol, wire, operation) = match case.as_str() {
        "set" => (NullProtocol::Resp, "resp2", SET),
        "set-resp3" => (NullProtocol::Resp, "resp3", SET),
        "get" => (NullProtocol::Resp, "resp2", GET),
        "get-resp3" => (NullProtocol::Resp, "resp3", GET),
        "document" => (NullProtocol::Resp, "resp2", DOCUMENT),
        "http" => (NullProtocol::Http1, "http1", HTTP),
        _ => return Err(format!("{case}: the cases are set, set-resp3, get, get-resp3, document and http").into()),
    };
    let replies = [("GET".to_string(), Expect::Value)].into();
    let server = NullServer::start(NullOptions { protocol, replies, ..NullOptions::default() })?;
    let each = operations.parse::<u64>()? / connections.parse::<u64>()?.max(1);
    let plan = format!(
        r#"{{"protocol": "{wire}", "endpoints": [{{"port": {}}}], "pool": {{"connections": {connections}}},
        "pipeline_depth": {depth}, "model": {{"kind": "closed", "users": {connections}, "operations_per_user": {each}}},
        "phases": {{"warm_up_s": 0, "measure_s": 600}}, "interval_s": 1000, "timeouts": {{"request_ms": 600000}},
        "operations": [{operation}], "keys": {{"count": 1000}},
        "documents": {{"payload_bytes": 100, "field_bytes": 10}}, "verify": {{"read_back_max": 0}}}}"#,
        server.port()
    );
    let drive = Drive::new(Plan::from_json(&plan)?)?;
    drive.start()?;
    let record = drive.result(LONGEST)?.ok_or("the drive did not end")?;
    match record.total.ok {
        ok if ok == each * connections.parse::<u64>()? => Ok(()),
        ok => Err(format!("{ok} of {operations} were correct").into()),
    }
}
