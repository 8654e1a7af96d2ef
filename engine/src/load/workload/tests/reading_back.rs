//! Operations of several commands, and what is read back after the drain.

use super::*;

fn operations() -> Value {
    json!([
        {"name": "set", "writes": "document", "commands": [{"args": ["SET", "{key}", "{document}"], "expect": "ok"}],
         "read_back": {"args": ["GET", "{key}"], "expect": "document"}},
        {"name": "update", "writes": "field", "read_back": {"args": ["GET", "{key}"], "expect": "document"},
         "commands": [{"args": ["GET", "{key}"], "expect": "document"},
                      {"args": ["SET", "{key}", "{changed}"], "expect": "ok"}]},
        {"name": "path", "writes": "field", "read_back": {"args": ["JSON.GET", "{key}", "$.field"], "expect": "field_array"},
         "commands": [{"args": ["JSON.SET", "{key}", "$.field", "{field_json}"], "expect": "ok"}]},
    ])
}

fn one_key() -> Workload {
    workload(&plan(operations(), json!({"keys": {"count": 1}})))
}

/// Reads a document, changes its field and writes it back, as a string is updated.
fn update(workload: &mut Workload, stored: &str) -> String {
    let request = begin(workload, "update");
    assert_eq!(judge(workload, &request, &bulk(stored)), Ok(()));
    let mut second = request;
    assert!(workload.go_on(&mut second));
    let changed = arguments(&encode(workload, &second, &bulk(stored))).pop().unwrap();
    assert_eq!(judge(workload, &second, b"+OK\r\n"), Ok(()));
    changed
}

fn counts(checked: u64, wrong: u64, skipped: u64) -> ReadBackCounts {
    ReadBackCounts { checked, wrong, skipped }
}

#[test]
fn an_update_of_a_string_changes_its_field_alone() {
    let mut workload = one_key();
    let before = set(&mut workload);
    let after = update(&mut workload, &before);
    let [before, after]: [std::collections::BTreeMap<String, String>; 2] =
        [&before, &after].map(|text| serde_json::from_str(text).unwrap());
    let differing: Vec<&String> = before.keys().filter(|&name| before[name] != after[name]).collect();
    assert_eq!(differing, ["field"]);
    assert_eq!(after["field"].as_bytes(), workload.shared.values.field(0, 2));
}

#[test]
fn the_last_write_is_read_back_strictly() {
    let mut workload = one_key();
    let first = set(&mut workload);
    let second = set(&mut workload);
    let read_back = workload.next_read_back().unwrap();
    assert_eq!(encode(&mut workload, &read_back, b""), "*2\r\n$3\r\nGET\r\n$22\r\nloadstone:000000000000\r\n");
    assert_eq!(judge(&mut workload, &read_back, &bulk(&second)), Ok(()));
    assert_eq!(judge(&mut workload, &read_back, &bulk(&first)), Err("wrong_reply"));
    assert_eq!(judge(&mut workload, &read_back, b"$-1\r\n"), Err("missing"));
    assert_eq!(workload.read_back_counts(), counts(3, 2, 0));
    assert_eq!(workload.next_read_back(), None);
}

#[test]
fn a_changed_field_is_read_back_strictly_in_its_document() {
    let mut workload = one_key();
    let before = set(&mut workload);
    let after = update(&mut workload, &before);
    let read_back = workload.next_read_back().unwrap();
    assert_eq!(judge(&mut workload, &read_back, &bulk(&after)), Ok(()));
    assert_eq!(judge(&mut workload, &read_back, &bulk(&before)), Err("wrong_reply"), "the update was lost");
}

#[test]
fn a_field_written_by_path_is_read_back_strictly() {
    let mut workload = one_key();
    set(&mut workload);
    let request = begin(&mut workload, "path");
    let field = arguments(&encode(&mut workload, &request, b"")).pop().unwrap();
    assert_eq!(judge(&mut workload, &request, b"+OK\r\n"), Ok(()));
    let read_back = workload.next_read_back().unwrap();
    assert_eq!(judge(&mut workload, &read_back, &bulk(&format!("[{field}]"))), Ok(()));
    assert_eq!(judge(&mut workload, &read_back, &bulk("[\"abcdefghi0\"]")), Err("wrong_reply"));
    assert_eq!(judge(&mut workload, &read_back, &bulk("[]")), Err("missing"));
}

#[test]
fn plain_values_are_read_back_strictly() {
    let operations = json!([{"name": "set", "writes": "document", "read_back": {"args": ["GET", "{key}"], "expect": "value"},
        "commands": [{"args": ["SET", "{key}", "{value}"], "expect": "ok"}]}]);
    let mut workload = workload(&plan(operations, json!({"keys": {"count": 1}})));
    let first = set(&mut workload);
    let second = set(&mut workload);
    let read_back = workload.next_read_back().unwrap();
    assert_eq!(judge(&mut workload, &read_back, &bulk(&second)), Ok(()));
    assert_eq!(judge(&mut workload, &read_back, &bulk(&first)), Err("wrong_reply"));
    assert_eq!(judge(&mut workload, &read_back, b"$-1\r\n"), Err("missing"));
}

#[test]
fn a_key_with_a_newer_write_is_skipped() {
    let mut workload = one_key();
    set(&mut workload);
    let unanswered = begin(&mut workload, "set");
    assert_eq!(workload.next_read_back(), None);
    assert_eq!(workload.read_back_counts(), counts(0, 0, 1));
    assert_eq!(unanswered.version, 2);
}

#[test]
fn writes_that_overlapped_are_not_read_back_for_either_may_have_won() {
    for a_later_one_alone in [false, true] {
        let mut workload = one_key();
        let first = begin(&mut workload, "set");
        let second = begin(&mut workload, "set");
        for request in [second, first] {
            assert_eq!(judge(&mut workload, &request, b"+OK\r\n"), Ok(()));
        }
        if a_later_one_alone {
            set(&mut workload);
        }
        let version = workload.next_read_back().map(|request| request.version);
        assert_eq!(version, a_later_one_alone.then_some(3));
    }
}

#[test]
fn a_write_that_failed_or_was_given_up_leaves_the_next_one_alone() {
    let mut workload = one_key();
    let failed = begin(&mut workload, "set");
    assert_eq!(judge(&mut workload, &failed, b"-OOM command not allowed\r\n"), Err("server_oom"));
    let unread = begin(&mut workload, "update");
    assert_eq!(judge(&mut workload, &unread, b":1\r\n"), Err("wrong_type"));
    let given_up = begin(&mut workload, "set");
    workload.abandon(&given_up);
    assert_eq!(workload.next_read_back(), None);
    set(&mut workload);
    assert_eq!(workload.next_read_back().map(|request| request.version), Some(4));
}

#[test]
fn at_most_so_many_keys_are_read_back_and_none_without_verification() {
    for (verify, expected) in [
        (json!({"read_back_max": 3}), 3),
        (json!({"read_back_max": 0}), 0),
        (json!({"replies": false}), 0),
        (json!({}), 10),
    ] {
        let more = json!({"keys": {"count": 10, "distribution": "sequential"}, "verify": verify});
        let mut only_set = operations();
        only_set.as_array_mut().unwrap().truncate(1);
        let mut workload = workload(&plan(only_set, more));
        (0..10).for_each(|_| drop(set(&mut workload)));
        assert_eq!(std::iter::from_fn(|| workload.next_read_back()).count(), expected, "{verify}");
    }
}

#[test]
fn against_a_server_that_stores_nothing_read_backs_are_made_and_not_counted_wrong() {
    let more = json!({"keys": {"count": 1}, "verify": {"count_mismatch": false}});
    let mut workload = workload(&plan(operations(), more));
    set(&mut workload);
    let read_back = workload.next_read_back().unwrap();
    assert_eq!(judge(&mut workload, &read_back, &bulk("{}")), Ok(()));
    assert_eq!(workload.read_back_counts(), counts(1, 0, 0));
}
