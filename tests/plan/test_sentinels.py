"""Sentinels and standbys among the endpoints of a plan: both sides of it take and refuse the same."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from loadstone._engine import Engine
from loadstone.plan.drive_plan import Plan
from loadstone.plan.endpoints import Endpoint

BASE: dict[str, Any] = {
    "model": {"kind": "closed", "users": 1},
    "pool": {"connections": 1},
    "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}],
}
SENTINEL = {"port": 26379, "sentinel_of": "main"}
STANDBY = {"port": 6380, "standby": True}


def test_both_take_a_primary_its_standbys_and_its_sentinels() -> None:
    plan = Plan.model_validate(BASE | {"endpoints": [{}, STANDBY, SENTINEL, SENTINEL]})
    assert [endpoint.in_service for endpoint in plan.endpoints] == [True, False, False, False]
    Engine(plan.model_dump_json())


def test_drivers_that_know_nothing_of_it_read_nothing_of_it() -> None:
    written = json.loads(Endpoint().model_dump_json())
    assert "standby" not in written
    assert "sentinel_of" not in written


@pytest.mark.parametrize(
    ("endpoints", "protocol", "expected"),
    [
        ([{}, STANDBY], "resp2", "needs a"),
        ([SENTINEL], "resp2", "must begin with the one primary, with Sentinel"),
        ([{}, {}, SENTINEL], "resp2", "must begin with the one primary, with Sentinel"),
        ([SENTINEL, {}], "resp2", "must begin with the one primary, with Sentinel"),
        (
            [{"slots": [[0, 16_383]]}, SENTINEL],
            "resp2",
            "a server that Sentinel watches has no slots and no Unix socket",
        ),
        ([{}, {"unix_path": "/x", "standby": True}, SENTINEL], "resp2", "has no slots and no Unix socket"),
        ([{}, SENTINEL], "memcached", "only a Redis has Sentinels; leave it out"),
    ],
)
def test_both_refuse_the_same(endpoints: list[dict[str, Any]], protocol: str, expected: str) -> None:
    wrong = BASE | {"endpoints": endpoints, "protocol": protocol}
    if protocol == "memcached":
        wrong["operations"] = [{"name": "get", "commands": [{"args": ["mg", "{key}", "v"]}]}]
    with pytest.raises(ValidationError) as refused:
        Plan.model_validate(wrong)
    assert expected in str(refused.value)
    with pytest.raises(ValueError, match="endpoints") as refused_too:
        Engine(json.dumps(wrong))
    assert expected in str(refused_too.value)


def test_http_has_none() -> None:
    wrong = BASE | {"protocol": "http1", "operations": [{"name": "get", "requests": [{"path": "/"}]}]}
    with pytest.raises(ValidationError, match="only a Redis has Sentinels; leave them out"):
        Plan.model_validate(wrong | {"endpoints": [{}, SENTINEL]})
