//! Correct replies, wrong ones, and those of another key or version.

use proptest::prelude::*;

use super::*;

fn operations() -> Value {
    json!([
        {"name": "set", "writes": "document", "commands": [{"args": ["JSON.SET", "{key}", "$", "{document}"], "expect": "ok"}]},
        {"name": "get", "commands": [{"args": ["JSON.GET", "{key}"], "expect": "document"}]},
        {"name": "field", "commands": [{"args": ["JSON.GET", "{key}", ".field"], "expect": "field"}]},
        {"name": "fields", "commands": [{"args": ["JSON.GET", "{key}", "$.field"], "expect": "field_array"}]},
        {"name": "hash", "commands": [{"args": ["HGETALL", "{key}"], "expect": "hash"}]},
        {"name": "value", "commands": [{"args": ["GET", "{key}"], "expect": "value"}]},
        {"name": "integer", "commands": [{"args": ["DEL", "{key}"], "expect": "integer"}]},
        {"name": "item", "commands": [{"args": ["LPOP", "{key}"], "expect": "item"}]},
        {"name": "positive", "commands": [{"args": ["LPUSH", "{key}", "x"], "expect": "positive"}]},
        {"name": "ok", "commands": [{"args": ["SET", "{key}", "x"], "expect": "ok"}]},
        {"name": "any", "commands": [{"args": ["PING"]}]},
    ])
}

fn one_key(more: Value) -> Workload {
    let mut parts = json!({"keys": {"prefix": "k:", "count": 1}});
    for (name, part) in more.as_object().unwrap() {
        parts[name] = part.clone();
    }
    workload(&plan(operations(), parts))
}

fn exchange(workload: &mut Workload, name: &str, reply: &[u8]) -> Result<(), &'static str> {
    let request = begin(workload, name);
    judge(workload, &request, reply)
}

/// A document as the plan's generator makes it.
fn document(workload: &Workload, key: u64, version: u32) -> String {
    let mut text = Vec::new();
    workload.shared.values.write_document(key, version, &mut text);
    String::from_utf8(text).unwrap()
}

/// Adds an operation that changes fields alone to the plan.
fn with_field_writes() -> Workload {
    let mut all = operations();
    all.as_array_mut().unwrap().push(json!({"name": "update", "writes": "field",
        "commands": [{"args": ["JSON.SET", "{key}", "$.field", "{field_json}"], "expect": "ok"}]}));
    workload(&plan(all, json!({"keys": {"count": 1}})))
}

#[test]
fn a_stored_document_is_correct_and_any_changed_byte_is_not() {
    let mut workload = one_key(json!({}));
    let sent = set(&mut workload);
    assert_eq!(exchange(&mut workload, "get", &bulk(&sent)), Ok(()));
    assert_eq!(exchange(&mut workload, "get", &bulk(&format!("[{sent}]"))), Ok(()));
    for place in 0..sent.len() {
        let mut wrong = sent.clone().into_bytes();
        wrong[place] = if wrong[place] == b'!' { b'?' } else { b'!' };
        let wrong = String::from_utf8(wrong).unwrap();
        assert_eq!(exchange(&mut workload, "get", &bulk(&wrong)), Err("wrong_reply"), "byte {place} of {wrong}");
    }
    for length in 0..sent.len() {
        assert_eq!(exchange(&mut workload, "get", &bulk(&sent[..length])), Err("wrong_reply"));
    }
}

#[test]
fn another_keys_document_is_wrong() {
    let mut workload = one_key(json!({}));
    set(&mut workload);
    let other = document(&workload, 5, 1);
    assert_eq!(exchange(&mut workload, "get", &bulk(&other)), Err("wrong_reply"));
}

#[test]
fn only_versions_that_were_begun_are_correct() {
    let mut workload = one_key(json!({}));
    set(&mut workload);
    set(&mut workload);
    for (version, judged) in [(0, Err("wrong_reply")), (1, Ok(())), (2, Ok(())), (3, Err("wrong_reply"))] {
        let text = document(&workload, 0, version);
        assert_eq!(exchange(&mut workload, "get", &bulk(&text)), judged, "version {version}");
    }
    begin(&mut workload, "set");
    let in_flight = document(&workload, 0, 3);
    assert_eq!(exchange(&mut workload, "get", &bulk(&in_flight)), Ok(()));
}

#[test]
fn a_missing_key_is_correct_only_until_it_was_stored() {
    let empty_hash: [&[u8]; 3] = [b"*0\r\n", b"%0\r\n", b"$-1\r\n"];
    let replies = [("get", &b"$-1\r\n"[..]), ("get", b"_\r\n"), ("field", b"$-1\r\n"), ("fields", b"$2\r\n[]\r\n")];
    let mut workload = one_key(json!({}));
    let before = begin(&mut workload, "get");
    for (name, reply) in replies.into_iter().chain(empty_hash.map(|reply| ("hash", reply))) {
        assert_eq!(exchange(&mut workload, name, reply), Ok(()), "{name}");
    }
    set(&mut workload);
    assert_eq!(judge(&mut workload, &before, b"$-1\r\n"), Ok(()), "it was requested before");
    for (name, reply) in replies.into_iter().chain(empty_hash.map(|reply| ("hash", reply))) {
        assert_eq!(exchange(&mut workload, name, reply), Err("missing"), "{name}");
    }
    let mut loaded = workload_loaded();
    assert_eq!(exchange(&mut loaded, "get", b"$-1\r\n"), Err("missing"));
}

fn workload_loaded() -> Workload {
    one_key(json!({"keys": {"count": 1, "loaded": true}}))
}

#[test]
fn a_loaded_key_holds_its_version_one() {
    let mut workload = workload_loaded();
    let text = document(&workload, 0, 1);
    assert_eq!(exchange(&mut workload, "get", &bulk(&text)), Ok(()));
    let text = document(&workload, 0, 2);
    assert_eq!(exchange(&mut workload, "get", &bulk(&text)), Err("wrong_reply"));
}

#[test]
fn a_field_must_be_its_documents_own_unless_fields_are_written() {
    let mixed = |workload: &Workload| {
        let values = &workload.shared.values;
        let mut text = Vec::new();
        values.write_changed(document(workload, 0, 1).as_bytes(), 0, 77, &mut text);
        String::from_utf8(text).unwrap()
    };
    let mut strict = one_key(json!({}));
    set(&mut strict);
    let text = mixed(&strict);
    assert_eq!(exchange(&mut strict, "get", &bulk(&text)), Err("wrong_reply"));
    let mut loose = with_field_writes();
    set(&mut loose);
    let text = mixed(&loose);
    assert_eq!(exchange(&mut loose, "get", &bulk(&text)), Ok(()));
    let mut letters = text.clone().into_bytes();
    letters[108] = b'_';
    let letters = String::from_utf8(letters).unwrap();
    assert_eq!(exchange(&mut loose, "get", &bulk(&letters)), Err("wrong_reply"), "{letters}");
}

#[test]
fn a_document_in_the_servers_own_order_and_spacing_is_correct() {
    let mut workload = one_key(json!({}));
    let sent = set(&mut workload);
    let parsed: std::collections::BTreeMap<String, String> = serde_json::from_str(&sent).unwrap();
    let pretty = serde_json::to_string_pretty(&parsed).unwrap();
    assert_eq!(exchange(&mut workload, "get", &bulk(&pretty)), Ok(()));
    assert_eq!(
        exchange(&mut workload, "get", &bulk(&pretty.replacen("\"id\": \"0", "\"id\": \"1", 1))),
        Err("wrong_reply")
    );
    assert_eq!(exchange(&mut workload, "get", &bulk("{\"id\": \"000000000000\"}")), Err("wrong_reply"));
}

#[test]
fn hashes_are_correct_in_any_order_and_in_both_protocols() {
    let mut workload = one_key(json!({}));
    let sent = set(&mut workload);
    let fields: Vec<(String, String)> =
        serde_json::from_str::<std::collections::BTreeMap<_, _>>(&sent).unwrap().into_iter().collect();
    let reply = |head: &str, fields: &[(String, String)]| {
        let strings = fields.iter().flat_map(|(name, value)| [bulk(name), bulk(value)]);
        [head.as_bytes().to_vec(), strings.collect::<Vec<_>>().concat()].concat()
    };
    let reversed: Vec<_> = fields.iter().rev().cloned().collect();
    let needed: Vec<_> = fields
        .iter()
        .filter(|(name, _)| ["id", "version", "field", "body"].contains(&name.as_str()))
        .cloned()
        .collect();
    assert_eq!(exchange(&mut workload, "hash", &reply("*14\r\n", &fields)), Ok(()));
    assert_eq!(exchange(&mut workload, "hash", &reply("%7\r\n", &reversed)), Ok(()));
    assert_eq!(exchange(&mut workload, "hash", &reply("%4\r\n", &needed)), Ok(()));
    assert_eq!(exchange(&mut workload, "hash", &reply("%3\r\n", &needed[..3])), Err("wrong_reply"));
    for place in 0..fields.len() {
        let mut wrong = fields.clone();
        wrong[place].1.replace_range(..1, "!");
        assert_eq!(exchange(&mut workload, "hash", &reply("*14\r\n", &wrong)), Err("wrong_reply"), "{wrong:?}");
    }
    let more = [fields.clone(), vec![("colour".into(), "red".into())]].concat();
    assert_eq!(exchange(&mut workload, "hash", &reply("%8\r\n", &more)), Err("wrong_reply"));
    assert_eq!(exchange(&mut workload, "hash", b"*2\r\n$2\r\nid\r\n:5\r\n"), Err("wrong_reply"));
    assert_eq!(exchange(&mut workload, "hash", b"*1\r\n$2\r\nid\r\n"), Err("wrong_reply"));
}

#[test]
fn fields_are_recognised_by_their_length_and_letters() {
    let mut workload = one_key(json!({}));
    set(&mut workload);
    for (name, reply, judged) in [
        ("field", "abcdefghi0", Ok(())),
        ("field", "abcdefghi", Err("wrong_reply")),
        ("field", "abcdefghi\"", Err("wrong_reply")),
        ("fields", "[\"abcdefghi0\"]", Ok(())),
        ("fields", "[\"abcdefghi0\",\"abcdefghi0\"]", Err("wrong_reply")),
        ("fields", "abcdefghi0", Err("wrong_reply")),
    ] {
        assert_eq!(exchange(&mut workload, name, &bulk(reply)), judged, "{name} {reply}");
    }
}

#[test]
fn types_are_checked_for_each_expectation() {
    let (text, hash) = (bulk("x"), &b"*1\r\n$1\r\nx\r\n"[..]);
    let ok = &b"+OK\r\n"[..];
    let mut workload = one_key(json!({}));
    for (name, reply, judged) in [
        ("any", &text[..], Ok(())),
        ("any", hash, Ok(())),
        ("any", b"$-1\r\n", Ok(())),
        ("ok", ok, Ok(())),
        ("ok", &bulk("OK"), Ok(())),
        ("ok", b"+QUEUED\r\n", Err("wrong_reply")),
        ("ok", b":1\r\n", Err("wrong_type")),
        ("ok", b"$-1\r\n", Err("wrong_type")),
        ("integer", b":-5\r\n", Ok(())),
        ("integer", ok, Err("wrong_type")),
        ("integer", &bulk("5"), Err("wrong_type")),
        ("item", &text, Ok(())),
        ("item", &bulk(""), Ok(())),
        ("item", b"$-1\r\n", Err("nil_reply")),
        ("item", b"_\r\n", Err("nil_reply")),
        ("item", b"*-1\r\n", Err("nil_reply")),
        ("item", hash, Err("wrong_type")),
        ("item", ok, Err("wrong_type")),
        ("positive", b":1\r\n", Ok(())),
        ("positive", b":+10\r\n", Ok(())),
        ("positive", b":0\r\n", Err("not_positive")),
        ("positive", b":-10\r\n", Err("not_positive")),
        ("positive", b"$-1\r\n", Err("wrong_type")),
        ("positive", &bulk("1"), Err("wrong_type")),
        ("get", ok, Err("wrong_type")),
        ("get", hash, Err("wrong_type")),
        ("get", b":1\r\n", Err("wrong_type")),
        ("hash", &text, Err("wrong_type")),
        ("field", b":1\r\n", Err("wrong_type")),
        ("fields", hash, Err("wrong_type")),
        ("value", &bulk(&"x".repeat(100)), Ok(())),
        ("value", b"$-1\r\n", Ok(())),
        ("value", &bulk(&"x".repeat(99)), Err("wrong_reply")),
        ("value", ok, Err("wrong_type")),
        ("get", b"-WRONGTYPE Operation against\r\n", Err("server_wrongtype")),
        ("any", b"-ERR unknown\r\n", Err("server_err")),
        ("any", b"!8\r\nOOM full\r\n", Err("server_oom")),
        ("ok", b"|1\r\n+a\r\n+b\r\n+OK\r\n", Ok(())),
    ] {
        assert_eq!(exchange(&mut workload, name, reply), judged, "{name} {:?}", String::from_utf8_lossy(reply));
    }
}

#[test]
fn without_verification_only_errors_count() {
    let mut workload = one_key(json!({"verify": {"replies": false}}));
    set(&mut workload);
    assert_eq!(exchange(&mut workload, "get", b":1\r\n"), Ok(()));
    assert_eq!(exchange(&mut workload, "get", b"-ERR no\r\n"), Err("server_err"));
}

#[test]
fn without_counting_mismatches_only_errors_count() {
    let mut workload = one_key(json!({"verify": {"count_mismatch": false}}));
    set(&mut workload);
    let other = document(&workload, 5, 1);
    assert_eq!(exchange(&mut workload, "get", &bulk(&other)), Ok(()));
    assert_eq!(exchange(&mut workload, "get", b":1\r\n"), Ok(()));
    assert_eq!(exchange(&mut workload, "get", b"-LOADING Redis is loading\r\n"), Err("server_loading"));
}

#[test]
fn no_reply_makes_the_judge_panic() {
    let names = vec!["get", "field", "fields", "hash", "value", "integer", "item", "positive", "ok", "any"];
    let workload = std::cell::RefCell::new(one_key(json!({"documents": {"payload_bytes": 2, "field_bytes": 1}})));
    proptest!(|(
        name in proptest::sample::select(names),
        kind in proptest::sample::select(b"+-:$*%~_=!|".to_vec()),
        tail in proptest::collection::vec(any::<u8>(), 0..64),
        text in "[\\[{\"ivid0:,}\\]]{0,40}",
    )| {
        let mut workload = workload.borrow_mut();
        let request = begin(&mut workload, name);
        let _ = workload.judge(&request, &mut Reading::default(), &[&[kind][..], &tail].concat());
        let get = begin(&mut workload, "get");
        prop_assert_ne!(workload.judge(&get, &mut Reading::default(), &bulk(&text)), Ok(()));
    });
}
