//! Plans over HTTP that cannot be driven: the error names the field and the remedy.

use crate::support::lay_over;
use loadstone_engine::drive::Drive;
use loadstone_engine::plan::{Plan, PlanError};
use serde_json::{Value, json};

fn error(changes: Value) -> PlanError {
    let mut plan = json!({
        "protocol": "http1", "endpoints": [{}], "model": {"kind": "closed", "users": 1}, "pool": {"connections": 1},
        "operations": [{"name": "get", "requests": [{"path": "/"}]}],
    });
    lay_over(&mut plan, changes);
    Plan::from_json(&plan.to_string()).and_then(Drive::new).expect_err("the plan must be refused")
}

fn request(request: Value) -> Value {
    json!({"operations": [{"name": "get", "requests": [request]}]})
}

#[test]
fn what_the_protocol_does_not_have_is_refused() {
    let command = json!({"args": ["GET", "{key}"]});
    for (changes, text) in [
        (json!({"pipeline_depth": 2}), "pipeline_depth: 2: must be 1 with protocol http1"),
        (json!({"endpoints": [{"database": 3}]}), "endpoints[0].database: 3: an HTTP service has none; leave it out"),
        (
            json!({"endpoints": [{"base_path": "api"}]}),
            "endpoints[0].base_path: api: must begin with `/`, not end with it, and hold no spaces",
        ),
        (json!({"protocol": "resp2"}), "operations[0].requests: are HTTP; set `protocol` to `http1`"),
        (
            json!({"protocol": "resp3", "operations": [{"name": "a"}]}),
            "operations[0].commands: []: name at least one command",
        ),
        (json!({"operations": [{"name": "a"}]}), "operations[0].requests: []: name at least one request"),
        (
            json!({"operations": [{"name": "a", "commands": [command]}]}),
            "operations[0].commands: are commands of Redis; with protocol http1 an operation has `requests`",
        ),
        (
            json!({"operations": [{"name": "a", "requests": [{"path": "/"}], "writes": "document"}]}),
            "operations[0].writes: is followed for documents in Redis only; leave it out with protocol http1",
        ),
        (
            json!({"operations": [{"name": "a", "requests": [{"path": "/"}], "read_back": command}]}),
            "operations[0].read_back: is a command of Redis; leave it out with protocol http1",
        ),
        (
            json!({"protocol": "memcached", "operations": [{"name": "a", "commands": [command]}], "data": {"path": "a.csv"}}),
            "data: a.csv: a data file needs protocol resp2 or resp3 or http1; leave it out",
        ),
    ] {
        assert_eq!(error(changes).to_string(), text);
    }
}

#[test]
fn a_request_that_makes_no_sense_is_named() {
    let place = "operations[0].requests[0]";
    for (changes, field, part) in [
        (json!({"path": "post"}), "path", "post: must begin with `/`"),
        (json!({"path": "/a b"}), "path", "`/a b`: a path holds no spaces"),
        (json!({"path": "/größe"}), "path", "only ASCII"),
        (
            json!({"path": "/{colour}"}),
            "path",
            "unknown placeholder {colour}; there are {number}, {number2}, {data.FIELD}, {key}",
        ),
        (json!({"path": "/{changed}"}), "path", "unknown placeholder {changed}"),
        (json!({"path": "/{data.a}"}), "path", "{data.a} needs a data file"),
        (json!({"path": "/", "headers": {"X": "a\r\nb"}}), "headers.X", "a header holds no line end"),
        (json!({"path": "/", "headers": {"X y": ""}}), "headers.X y", "is no name of a header"),
        (
            json!({"path": "/", "headers": {"content-length": "5"}}),
            "headers.content-length",
            "is written by the driver",
        ),
        (json!({"path": "/", "body": "{"}), "body", "without its `}`"),
        (json!({"path": "/", "expect": {"status": 99}}), "expect.status[0]", "99: must be a status from 200 to 599"),
        (json!({"path": "/", "expect": {"status": [200, "2yy"]}}), "expect.status[1]", "2yy: must be"),
        (json!({"path": "/", "expect": {"status": []}}), "expect.status", "name at least one"),
        (json!({"path": "/", "expect": {"json_fields": ["a..b"]}}), "expect.json_fields[0]", "parted by dots"),
        (
            json!({"path": "/", "expect": {"contains": "{uniform 1..2}"}}),
            "expect.contains",
            "stand for something else each time",
        ),
        (json!({"path": "/", "expect": {"equals": "{number2}"}}), "expect.equals", "with the first key alone"),
        (json!({"path": "/", "method": "FETCH"}), "method", "unknown variant `FETCH`"),
        (json!({"path": "/", "expect": {"code": 200}}), "expect.code", "unknown field `code`"),
    ] {
        let error = error(request(changes));
        assert_eq!(error.field, format!("{place}.{field}"), "{error}");
        assert!(error.message.contains(part), "{error}");
    }
}

#[test]
fn rows_that_would_break_a_request_are_named() {
    let path = std::env::temp_dir().join(format!("loadstone-rows-broken-{}.csv", std::process::id()));
    std::fs::write(&path, "a,b\nfine,x\nnot fine,\"x\r\nX-More: y\"\n").unwrap();
    let with_data = |parts: Value| {
        let mut changes = request(parts);
        lay_over(&mut changes, json!({"data": {"path": path}}));
        error(changes).to_string()
    };
    let of_path = with_data(json!({"path": "/{data.a}"}));
    assert!(of_path.ends_with("requests[0].path: {data.a} in row 2 of the data file: a path holds no spaces and only ASCII; write them as %20 and the like"), "{of_path}");
    let of_header = with_data(json!({"path": "/", "headers": {"X": "{data.b}"}}));
    assert!(of_header.contains("headers.X: {data.b} in row 2 of the data file"), "{of_header}");
    let unknown = with_data(json!({"path": "/{data.c}"}));
    assert!(unknown.ends_with("{data.c} is no field of the data file; it has a, b"), "{unknown}");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_secret_stays_out_of_the_message() {
    let error = error(json!({"endpoints": [{"secret_headers": {"X-Key": "top\nsecret"}}]}));
    assert_eq!(error.field, "endpoints[0].secret_headers.X-Key");
    assert!(!error.message.contains("secret\n") && !error.message.contains("top"), "{error}");
}
