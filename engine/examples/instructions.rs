//! A drive against a null server in the same process, for `bench/instructions.py`, which counts its instructions.
//!
//! `instructions set-1|set-16|http-get OPERATIONS`: one user, one connection, one engine thread.

use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::{NullOptions, NullProtocol, NullServer};
use loadstone_engine::plan::Plan;
use std::error::Error;
use std::time::Duration;

const LONGEST: Duration = Duration::from_secs(600);
const SET: &str = r#"{"name": "set", "commands": [{"args": ["SET", "{key}", "{value}"], "expect": "ok"}]}"#;
const GET: &str = r#"{"name": "get", "requests": [{"path": "/items/{number}"}]}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, operations] = arguments.as_slice() else { return Err("give a case and a number of operations".into()) };
    let (protocol, wire, depth, operation) = match case.as_str() {
        "set-1" => (NullProtocol::Resp, "resp2", 1, SET),
        "set-16" => (NullProtocol::Resp, "resp2", 16, SET),
        "http-get" => (NullProtocol::Http1, "http1", 1, GET),
        _ => return Err(format!("{case}: the cases are set-1, set-16 and http-get").into()),
    };
    let server = NullServer::start(NullOptions { protocol, ..NullOptions::default() })?;
    let plan = format!(
        r#"{{"protocol": "{wire}", "endpoints": [{{"port": {}}}], "pool": {{"connections": 1}},
        "pipeline_depth": {depth}, "model": {{"kind": "closed", "users": 1, "operations_per_user": {operations}}},
        "phases": {{"warm_up_s": 0}}, "interval_s": 1000, "timeouts": {{"request_ms": 600000}},
        "operations": [{operation}], "keys": {{"count": 1000}}}}"#,
        server.port()
    );
    let drive = Drive::new(Plan::from_json(&plan)?)?;
    drive.start()?;
    let record = drive.result(LONGEST)?.ok_or("the drive did not end")?;
    println!("{} of {operations} correct", record.total.ok);
    Ok(())
}
