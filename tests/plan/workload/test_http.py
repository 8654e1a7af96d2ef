"""Plans over HTTP: what Python refuses with one clear line, and that the engine reads the same words and limits."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from loadstone._engine import Engine
from loadstone.plan.drive_plan import Plan
from loadstone.plan.endpoints import Endpoint

ROOT = Path(__file__).parents[3]
BASE: dict[str, Any] = {
    "protocol": "http1",
    "endpoints": [{"port": 8080}],
    "model": {"kind": "closed", "users": 1},
    "pool": {"connections": 1},
    "operations": [{"name": "get", "requests": [{"path": "/"}]}],
}


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
