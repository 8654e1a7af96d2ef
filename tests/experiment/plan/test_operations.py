"""What operations consist of: keys, HTTP requests, rows of data."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadstone._engine import Engine
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import keys_of_one
from loadstone.experiment.plan.stored_bytes import stored_by
from loadstone.experiment.plan.substitute import FieldError
from loadstone.experiment.plan.workload_from_text import with_arguments, with_keys
from loadstone.servers.redis.commands.confinement import keys_made, require_confined

PREFIX = "loadstone:1:"
ROOT = Path(__file__).parents[3]
BASE: dict[str, Any] = {
    "protocol": "http1",
    "endpoints": [{"port": 8080}],
    "model": {"kind": "closed", "users": 1},
    "pool": {"connections": 1},
    "operations": [{"name": "get", "requests": [{"path": "/"}]}],
}


def plan_of(command: str, **changed: Any) -> Plan:
    operation = {"name": "one", "commands": [with_arguments({"args": command}, ())]}
    return Plan.model_validate(
        {
            "endpoints": [{}],
            "model": {"kind": "closed", "users": 1},
            "pool": {"connections": 1},
            "operations": [{**operation, **changed.pop("operation", {})}],
            **changed,
        }
    )


def test_ten_keys_are_ten_arguments() -> None:
    args = with_arguments({"args": "MGET {keys:3} x"}, ())["args"]
    assert args == ["MGET", "{key}", "{key2}", "{key3}", "x"]
    tagged = with_arguments({"args": "MGET loadstone:{{t}}:{keys:2}"}, ())["args"]
    assert tagged == ["MGET", "loadstone:{{t}}:{key}", "loadstone:{{t}}:{key2}"]
    assert with_arguments({"args": "GET {{keys:3}}"}, ())["args"] == ["GET", "{{keys:3}}"]


def test_in_a_request_they_are_separated_by_commas() -> None:
    written = {"path": "/items?ids={numbers:3}", "headers": {"X-Keys": "{keys:2}"}, "body": '{{"of":"{number2}"}}'}
    found = with_keys(written, ())
    assert found["path"] == "/items?ids={number},{number2},{number3}"
    assert found["headers"] == {"X-Keys": "{key},{key2}"}
    with pytest.raises(FieldError, match="what is expected must be the same"):
        with_keys({"path": "/", "expect": {"contains": "{number2}"}}, ())


@pytest.mark.parametrize("written", ["{keys:0}", "{keys:99999}", "{keys:2}{keys:2}"])
def test_what_stands_for_no_arguments_is_refused(written: str) -> None:
    with pytest.raises(FieldError, match=r"an operation has 1 to 10000 keys|write it once in an argument"):
        with_arguments({"args": f"MGET {written}"}, ())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"keys": {"count": 9}}, "names 10 different keys, and keys.count is 9; set it to at least 10"),
        ({"keys": {"count": 10, "distribution": "exactly_once"}}, "keys are exactly_once"),
        ({"operation": {"writes": "document"}}, "followed by {key} alone; set writes to nothing"),
    ],
)
def test_a_plan_that_cannot_have_them_is_refused(changed: dict[str, Any], said: str) -> None:
    assert keys_of_one(plan_of("MGET {keys:10}", keys={"count": 10}).operations[0]) == 10
    with pytest.raises(ValidationError, match=said.replace("{", r"\{").replace("}", r"\}")):
        plan_of("MGET {keys:10}", **changed)


def test_other_keys_are_keys_of_the_run() -> None:
    command = with_arguments({"args": "MSET {key} {value} {key2} {value}"}, ())["args"]
    require_confined(command, PREFIX)
    assert keys_made([command], PREFIX) == (set(), set()), "numbered keys, which are removed by their numbers"


def test_ten_values_at_a_time_take_no_more_than_every_key_has() -> None:
    def stored(command: str) -> int:
        return stored_by([plan_of(command, keys={"count": 1000}, documents={"payload_bytes": 1000})])

    one, two = stored("SET {key} {value}"), stored("MSET {key} {value} {key2} {value}")
    assert one <= two < 3 * one


def request(**parts: Any) -> dict[str, Any]:
    return {"operations": [{"name": "get", "requests": [{"path": "/", **parts}]}]}


COMMAND = {"args": ["GET", "{key}"]}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"pipeline_depth": 2}, "pipeline_depth 2 must be 1 with protocol http1"),
        ({"endpoints": [{"database": 1}]}, "an HTTP endpoint has no database; leave it out"),
        ({"operations": [{"name": "get"}]}, "operation 'get' has no requests; name at least one"),
        (
            {"operations": [{"name": "get", "commands": [COMMAND]}]},
            "operation 'get' has parts of Redis; with protocol http1 it has only requests",
        ),
        (
            {"operations": [{"name": "get", "requests": [{"path": "/"}], "writes": "document"}]},
            "operation 'get' has parts of Redis; with protocol http1 it has only requests",
        ),
        ({"protocol": "resp2"}, "operation 'get' has HTTP requests; set protocol to http1"),
        (
            {"protocol": "resp2", "operations": [{"name": "get", "commands": []}]},
            "operation 'get' has no commands; name at least one",
        ),
        (
            {"protocol": "memcached", "data": {"path": "a.csv"}},
            "a data file needs protocol resp2 or resp3 or http1; leave it out",
        ),
        (
            {"protocol": "resp3", "endpoints": [{"base_path": "/api"}]},
            "base_path and secret_headers need protocol http1; leave them out",
        ),
    ],
)
def test_parts_that_do_not_fit_the_protocol_are_refused_by_both(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Plan.model_validate(BASE | changes)
    assert [error["msg"] for error in caught.value.errors()] == [f"Value error, {expected}"]
    _engine_refuses(BASE | changes)


@pytest.mark.parametrize(
    "changes",
    [
        request(path="post"),
        request(method="FETCH"),
        request(headers={"Content-Length": "5"}),
        request(headers={"X y": "5"}),
        request(expect={"status": 99}),
        request(expect={"status": ["2yy"]}),
        request(expect={"status": []}),
        request(expect={"json_fields": ["a..b"]}),
        request(expect={"code": 200}),
        {"endpoints": [{"base_path": "api"}]},
        {"endpoints": [{"base_path": "/api/"}]},
        {"endpoints": [{"secret_headers": {"": "x"}}]},
        {"data": {"path": "rows.csv", "order": "random"}},
    ],
)
def test_what_makes_no_sense_is_refused_by_both(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Plan.model_validate(BASE | changes)
    _engine_refuses(BASE | changes)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "examples" / "plan").glob("http*.json")), ids=lambda p: p.stem
)
def test_the_engine_takes_what_python_writes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    Engine(Plan.model_validate_json(path.read_text()).model_dump_json())


def test_secrets_are_not_shown() -> None:
    endpoint = Endpoint(password="hush1", secret_headers={"X-Key": "hush2"})
    assert "hush" not in repr(endpoint) + str(endpoint) + endpoint.label


def _engine_refuses(written: dict[str, Any]) -> None:
    """The engine is given the text itself: pydantic would not have it."""
    with pytest.raises(ValueError):
        Engine(json.dumps(written))
