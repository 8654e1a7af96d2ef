//! Plans whose operations cannot be driven: the error names the argument and the remedy.

use super::*;

fn error(operation: Value) -> PlanError {
    let plan = plan(json!([{"name": "fine", "commands": [{"args": ["PING"]}]}, operation]), json!({}));
    Workload::new(&plan, Arc::new(Shared::new(&plan).unwrap()), 0).unwrap_err()
}

#[test]
fn an_unknown_placeholder_is_named_with_those_that_exist() {
    let error = error(json!({"name": "a", "commands": [{"args": ["PING"]}, {"args": ["GET", "{kee}"]}]}));
    assert_eq!(error.field, "operations[1].commands[1].args[1]");
    assert!(error.message.contains("unknown placeholder {kee}; there are {key}, {key2}, {document}, "), "{error}");
}

#[test]
fn a_command_needs_a_plain_name() {
    for name in ["{key}", "GET{id}", ""] {
        let error = error(json!({"name": "a", "commands": [{"args": [name, "{key}"]}]}));
        assert_eq!(error.field, "operations[1].commands[0].args[0]");
        assert!(error.message.contains("a command begins with its name"), "{error}");
    }
}

#[test]
fn changed_needs_the_document_just_before_it() {
    let set = json!({"args": ["SET", "{key}", "{changed}"]});
    for commands in [json!([set]), json!([{"args": ["GET", "{key}"]}, set])] {
        let error = error(json!({"name": "a", "writes": "field", "commands": commands}));
        assert!(error.field.ends_with(".args") && error.message.contains("`expect: document`"), "{error}");
    }
    let read_back = json!({"name": "a", "writes": "field", "commands": [{"args": ["PING"]}], "read_back": set});
    assert_eq!(error(read_back).field, "operations[1].read_back.args");
}

#[test]
fn what_writes_must_say_so() {
    let set = error(json!({"name": "a", "commands": [{"args": ["SET", "{key}", "{document}"]}]}));
    assert_eq!(set.field, "operations[1].commands[0].args");
    assert!(set.message.contains("set `writes` to `document` or `field`"), "{set}");
    let get = json!({"name": "a", "commands": [{"args": ["PING"]}], "read_back": {"args": ["GET", "{key}"]}});
    assert_eq!(error(get).field, "operations[1].read_back");
}

#[test]
fn other_keys_need_enough_keys_and_no_versions() {
    let mget = |more: Value, keys: Value| {
        let mut operation = json!({"name": "a", "commands": [{"args": ["MGET", "{key}", "{key3}"]}]});
        operation.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let plan = plan(json!([operation]), json!({"keys": keys}));
        Workload::new(&plan, Arc::new(Shared::new(&plan).unwrap()), 0).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(mget(json!({}), json!({"count": 3})), Ok(()));
    let few = mget(json!({}), json!({"count": 2})).unwrap_err();
    assert!(few.ends_with("names 3 different keys, and there are only 2 keys; set keys.count to at least 3"), "{few}");
    let once = mget(json!({}), json!({"count": 9, "distribution": "exactly_once"})).unwrap_err();
    assert!(once.contains("keys are exactly_once"), "{once}");
    let writes = mget(json!({"writes": "document"}), json!({"count": 9})).unwrap_err();
    assert!(writes.contains("set `writes` to `nothing`"), "{writes}");
}
