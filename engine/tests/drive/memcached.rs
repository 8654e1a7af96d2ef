//! Drives in memcached's meta protocol: pipelined, faulty, cut into pieces.

use crate::support::{Outcome, drive, plan, server};
use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::{Fault, NullOptions, NullProtocol};
use loadstone_engine::plan::Expect;
use serde_json::{Value, json};

fn options(options: &mut NullOptions) {
    options.protocol = NullProtocol::Memcached;
    options.replies = [("mg".to_string(), Expect::Document)].into();
}

fn mixed(changes: Value) -> Value {
    let mut all = json!({
        "protocol": "memcached",
        "operations": [
            {"name": "get", "commands": [{"args": ["mg", "{key}", "v"], "expect": "document"}]},
            {"name": "set", "writes": "document",
             "commands": [{"args": ["ms", "{key}", "{document}"], "expect": "ok"}]}],
        "verify": {"count_mismatch": false, "read_back_max": 0},
    });
    crate::support::lay_over(&mut all, changes);
    all
}

fn against(fault: Option<Fault>, changes: Value) -> (Outcome, u64) {
    let server = server(|all| {
        options(all);
        all.fault = fault;
    });
    let outcome = drive(plan(server.port(), mixed(changes)));
    (outcome, server.commands())
}

#[test]
fn every_command_is_answered_once_however_many_are_under_way() {
    for depth in [1, 16] {
        let (outcome, answered) = against(None, json!({"pipeline_depth": depth}));
        assert_eq!(outcome.errors(), 0, "{:?}", outcome.record.total);
        let sent: u64 = ["MG", "MS"].iter().map(|name| outcome.record.commands[*name].sent).sum();
        assert_eq!(sent, answered);
    }
}

#[test]
fn a_login_comes_before_the_load() {
    let login = json!({"endpoints": [{"username": "ann", "password": "pw"}]});
    let server = server(options);
    let mut changes = mixed(json!({}));
    crate::support::lay_over(&mut changes, login);
    changes["endpoints"][0]["port"] = server.port().into();
    assert_eq!(drive(plan(server.port(), changes)).errors(), 0);
}

#[test]
fn replies_in_pieces_are_whole_in_the_end() {
    let (outcome, _) = against(Some(Fault::Pieces { bytes: 7, pause_us: 0 }), json!({}));
    assert_eq!(outcome.errors(), 0);
}

#[test]
fn wrong_bytes_and_half_a_reply_end_the_connection_and_are_counted() {
    let (garbage, _) = against(Some(Fault::Garbage { nth: 50 }), json!({}));
    assert_eq!(garbage.record.total.errors["protocol"], 1);
    let (half, _) = against(Some(Fault::HalfThenClose { nth: 50 }), json!({}));
    assert_eq!(half.record.total.errors["connection_closed"], 1);
    assert!(half.record.total.ok > 50);
}

#[test]
fn what_does_not_speak_the_meta_protocol_is_refused() {
    let server = server(|_| ());
    let drive = Drive::new(plan(server.port(), mixed(json!({})))).expect("the plan can be driven");
    let message = drive.start().unwrap_err().to_string();
    assert!(message.contains("no code of memcached's meta protocol"), "{message}");
}
