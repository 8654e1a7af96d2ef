//! Operations on memcached, against scripted replies.

use super::*;

const PROTOCOL: &str = "memcached";

fn operations() -> Value {
    json!([
        {"name": "set", "writes": "document", "commands": [{"args": ["ms", "{key}", "{document}", "T60"], "expect": "ok"}],
         "read_back": {"args": ["mg", "{key}", "v"], "expect": "document"}},
        {"name": "get", "commands": [{"args": ["mg", "{key}", "v", "t"], "expect": "document"}]},
        {"name": "value", "commands": [{"args": ["mg", "{key}", "v"], "expect": "value"}]},
        {"name": "item", "commands": [{"args": ["mg", "{key}", "v"], "expect": "item"}]},
        {"name": "delete", "commands": [{"args": ["md", "{key}"], "expect": "ok"}]},
        {"name": "count", "commands": [{"args": ["ma", "{key}:n", "v", "N0"], "expect": "positive"}]},
        {"name": "add", "commands": [{"args": ["ms", "{key}", "x", "ME"], "expect": "ok"}]},
        {"name": "update", "writes": "field", "commands": [
            {"args": ["mg", "{key}", "v"], "expect": "document"},
            {"args": ["ms", "{key}", "{changed}"], "expect": "ok"}]},
        {"name": "any", "commands": [{"args": ["mn"]}]},
    ])
}

fn one_key(more: Value) -> Workload {
    let mut parts = json!({"protocol": PROTOCOL, "keys": {"prefix": "k:", "count": 1}});
    for (name, part) in more.as_object().unwrap() {
        parts[name] = part.clone();
    }
    workload(&plan(operations(), parts))
}

fn value(text: &str) -> Vec<u8> {
    format!("VA {}\r\n{text}\r\n", text.len()).into_bytes()
}

fn exchange(workload: &mut Workload, name: &str, reply: &[u8]) -> Result<(), &'static str> {
    let request = begin(workload, name);
    judge(workload, &request, reply)
}

/// A `set` that succeeds; returns the data that were sent.
fn stored(workload: &mut Workload) -> String {
    let request = begin(workload, "set");
    let command = encode(workload, &request, b"");
    assert_eq!(judge(workload, &request, b"HD\r\n"), Ok(()));
    command.split("\r\n").nth(1).unwrap().to_string()
}

#[test]
fn a_stored_document_is_correct_and_any_other_is_not() {
    let mut workload = one_key(json!({}));
    let sent = stored(&mut workload);
    assert_eq!(exchange(&mut workload, "get", format!("VA {} t60\r\n{sent}\r\n", sent.len()).as_bytes()), Ok(()));
    for place in 0..sent.len() {
        let mut wrong = sent.clone().into_bytes();
        wrong[place] = if wrong[place] == b'!' { b'?' } else { b'!' };
        let wrong = String::from_utf8(wrong).unwrap();
        assert_eq!(exchange(&mut workload, "get", &value(&wrong)), Err("wrong_reply"), "byte {place}");
    }
    assert_eq!(exchange(&mut workload, "get", b"HD\r\n"), Err("wrong_type"));
}

#[test]
fn a_key_that_must_be_there_and_is_not_is_missing() {
    let mut workload = one_key(json!({}));
    assert_eq!(exchange(&mut workload, "get", b"EN\r\n"), Ok(()), "nothing was stored yet");
    stored(&mut workload);
    assert_eq!(exchange(&mut workload, "get", b"EN\r\n"), Err("missing"));
    assert_eq!(exchange(&mut workload, "value", b"EN\r\n"), Ok(()), "a cache may have let go of it");
    assert_eq!(exchange(&mut workload, "item", b"EN\r\n"), Err("nil_reply"));
    assert_eq!(exchange(&mut workload, "delete", b"NF\r\n"), Err("missing"));
    assert_eq!(exchange(&mut workload, "count", b"NF\r\n"), Err("missing"));
    assert_eq!(exchange(&mut workload, "any", b"MN\r\n"), Ok(()));
    // By name: `mg` of two correct replies and two errors, `md`, `ma`.
    let missed = workload.request_names().iter().cloned().zip(workload.missed()).filter(|(_, missed)| *missed > 0);
    assert_eq!(
        missed.collect::<Vec<_>>(),
        [("MG", 4), ("MD", 1), ("MA", 1)].map(|(name, missed)| (name.to_string(), missed))
    );
}

#[test]
fn values_and_numbers_are_what_they_must_be() {
    let mut workload = one_key(json!({}));
    assert_eq!(exchange(&mut workload, "value", &value(&"x".repeat(100))), Ok(()));
    assert_eq!(exchange(&mut workload, "value", &value("x")), Err("wrong_reply"));
    assert_eq!(exchange(&mut workload, "count", &value("7")), Ok(()));
    assert_eq!(exchange(&mut workload, "count", &value("0")), Err("not_positive"));
    assert_eq!(exchange(&mut workload, "count", &value("x")), Err("wrong_type"));
    assert_eq!(exchange(&mut workload, "count", b"HD\r\n"), Err("wrong_type"));
}

#[test]
fn errors_and_refused_writes_have_kinds_of_their_own() {
    let mut workload = one_key(json!({}));
    for (reply, kind) in [
        (&b"NS\r\n"[..], "not_stored"),
        (b"EX\r\n", "not_stored"),
        (b"ERROR\r\n", "server_err"),
        (b"CLIENT_ERROR bad data chunk\r\n", "server_err"),
        (b"CLIENT_ERROR unauthenticated\r\n", "server_noauth"),
        (b"SERVER_ERROR object too large for cache\r\n", "server_too_large"),
        (b"SERVER_ERROR out of memory storing object\r\n", "server_oom"),
        (b"SERVER_ERROR something\r\n", "server_other"),
        (b"STORED\r\n", "wrong_type"),
    ] {
        assert_eq!(exchange(&mut workload, "add", reply), Err(kind), "{:?}", String::from_utf8_lossy(reply));
    }
    let mut lenient = one_key(json!({"verify": {"count_mismatch": false}}));
    assert_eq!(exchange(&mut lenient, "add", b"NS\r\n"), Ok(()));
    assert_eq!(exchange(&mut lenient, "add", b"ERROR\r\n"), Err("server_err"));
}

#[test]
fn an_update_sends_back_the_document_that_it_read() {
    let mut workload = one_key(json!({}));
    let sent = stored(&mut workload);
    let mut request = begin(&mut workload, "update");
    assert_eq!(encode(&mut workload, &request, b""), "mg k:000000000000 v\r\n");
    assert_eq!(judge(&mut workload, &request, &value(&sent)), Ok(()));
    assert!(workload.go_on(&mut request));
    let command = encode(&mut workload, &request, &value(&sent));
    let changed = command.split("\r\n").nth(1).unwrap();
    assert!(command.starts_with(&format!("ms k:000000000000 {}\r\n", sent.len())), "{command}");
    assert_ne!(changed, sent);
    assert_eq!(changed.len(), sent.len());
}

#[test]
fn the_last_write_is_read_back_strictly() {
    let mut workload = one_key(json!({}));
    let old = stored(&mut workload);
    let new = stored(&mut workload);
    let request = workload.next_read_back().unwrap();
    assert_eq!(encode(&mut workload, &request, b""), "mg k:000000000000 v\r\n");
    assert_eq!(judge(&mut workload, &request, &value(&old)), Err("wrong_reply"));
    assert_eq!(judge(&mut workload, &request, &value(&new)), Ok(()));
    assert_eq!(judge(&mut workload, &request, b"EN\r\n"), Err("missing"));
}

#[test]
fn a_server_that_is_too_old_or_takes_no_password_is_refused() {
    let workload = one_key(json!({}));
    let wire = workload.wire();
    assert_eq!(wire.refusal(b"MN\r\n", true), None);
    assert_eq!(wire.refusal(b"STORED\r\n", false), None);
    let old = wire.refusal(b"ERROR\r\n", true).unwrap();
    assert!(old.contains("does not know the meta commands"), "{old}");
    let text = "CLIENT_ERROR authentication failure";
    assert_eq!(wire.refusal(format!("{text}\r\n").as_bytes(), false), Some(text.into()));
    assert_eq!(wire.error_text(format!("{text}\r\n").as_bytes()), Some(text.into()));
    assert_eq!(wire.error_text(b"HD\r\n"), None);
}

#[test]
fn the_plan_is_refused_where_no_reply_could_be_what_it_expects() {
    let refused = |operation: Value, more: Value| {
        let mut whole = json!({
            "protocol": PROTOCOL, "endpoints": [{}], "model": {"kind": "closed", "users": 1},
            "pool": {"connections": 1}, "operations": [operation],
        });
        for (name, part) in more.as_object().unwrap() {
            whole[name] = part.clone();
        }
        Plan::from_json(&whole.to_string()).unwrap_err().to_string()
    };
    let expecting = |args: Value, expect: &str| json!({"name": "a", "commands": [{"args": args, "expect": expect}]});
    for (args, expect, part) in [
        (json!(["mg", "{key}"]), "document", "`mg` with the flag v"),
        (json!(["ms", "{key}", "v"]), "value", "`mg` with the flag v"),
        (json!(["ma", "{key}"]), "integer", "`ma` with the flag v"),
        (json!(["mg", "{key}", "v"]), "hash", "plain values alone"),
    ] {
        let message = refused(expecting(args, expect), json!({}));
        assert!(message.starts_with("operations[0].commands[0].expect: ") && message.contains(part), "{message}");
    }
    let fine = || expecting(json!(["mg", "{key}", "v"]), "document");
    let database = refused(fine(), json!({"endpoints": [{"database": 1}]}));
    assert!(database.starts_with("endpoints[0].database: 1: memcached has no databases"), "{database}");
    let slots = refused(fine(), json!({"endpoints": [{"slots": [[0, 16383]]}]}));
    assert!(slots.contains("with protocol memcached"), "{slots}");
    let http = refused(json!({"name": "a", "requests": [{"path": "/"}]}), json!({}));
    assert!(http.starts_with("operations[0].requests"), "{http}");
}

#[test]
fn a_command_that_is_none_is_named() {
    let plan = plan(json!([{"name": "a", "commands": [{"args": ["get", "{key}"]}]}]), json!({"protocol": PROTOCOL}));
    let error = Workload::new(&plan, Arc::new(Shared::new(&plan).unwrap()), 0).unwrap_err();
    assert_eq!(error.field, "operations[0].commands[0].args");
    assert!(error.message.contains("use mg, ms, md, ma or mn"), "{error}");
}
