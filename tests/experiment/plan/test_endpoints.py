"""Endpoints of a plan: slots of a cluster's nodes, Sentinels and standbys."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from loadstone._engine import Engine
from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.endpoints import Endpoint, even_slots

ALL = [[0, 16_383]]
BASE: dict[str, Any] = {
    "endpoints": [{"slots": [[0, 5000], [5002, 16_383]]}, {"slots": [[5001, 5001]]}],
    "model": {"kind": "closed", "users": 1},
    "pool": {"connections": 2},
    "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}],
}
WATCHED: dict[str, Any] = {
    "model": {"kind": "closed", "users": 1},
    "pool": {"connections": 1},
    "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}],
}
SENTINEL = {"port": 26379, "sentinel_of": "main"}
STANDBY = {"port": 6380, "standby": True}


def test_both_take_slots() -> None:
    plan = Plan.model_validate(BASE)
    assert plan.endpoints[1].slots == ((5001, 5001),)
    Engine(plan.model_dump_json())


@pytest.mark.parametrize(
    ("endpoints", "expected"),
    [
        ([{"slots": [[0, 16_384]]}], "[0, 16384] must be two slots from 0 to 16383, the smaller first"),
        ([{"slots": [[7, 6]]}], "[7, 6] must be two slots from 0 to 16383, the smaller first"),
        ([{"slots": ALL}, {"slots": [[3, 3]]}], "endpoints.1.slots: slot 3 belongs to endpoints.0 too; give it to one"),
        ([{"slots": [[0, 99], [101, 16_383]]}], "endpoints: no endpoint has slot 100; give it to one"),
        ([{"slots": ALL, "database": 1}], "a cluster has database 0 alone; leave the database out"),
    ],
)
def test_both_refuse_the_same(endpoints: list[dict[str, Any]], expected: str) -> None:
    wrong = BASE | {"endpoints": endpoints}
    with pytest.raises(ValidationError) as refused:
        Plan.model_validate(wrong)
    assert expected in str(refused.value)
    with pytest.raises(ValueError, match="endpoints"):
        Engine(json.dumps(wrong))


def test_a_node_may_have_no_slots_yet() -> None:
    spare = BASE | {"endpoints": [{}, {"slots": ALL}]}
    assert Plan.model_validate(spare).endpoints[0].slots == ()
    Engine(json.dumps(spare))


def test_http_has_no_slots() -> None:
    wrong = BASE | {"protocol": "http1", "operations": [{"name": "get", "requests": [{"path": "/"}]}]}
    with pytest.raises(ValidationError, match="only a Redis Cluster has slots; leave them out"):
        Plan.model_validate(wrong)


@pytest.mark.parametrize("nodes", [1, 3, 7])
def test_even_slots_are_all_slots(nodes: int) -> None:
    slots = even_slots(nodes)
    assert Plan.model_validate(BASE | {"endpoints": [{"slots": own} for own in slots]})
    sizes = [last - first + 1 for ((first, last),) in slots]
    assert sum(sizes) == 16_384
    assert max(sizes) - min(sizes) <= 1


def test_both_take_a_primary_its_standbys_and_its_sentinels() -> None:
    plan = Plan.model_validate(WATCHED | {"endpoints": [{}, STANDBY, SENTINEL, SENTINEL]})
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
def test_both_refuse_the_same_of_sentinels(endpoints: list[dict[str, Any]], protocol: str, expected: str) -> None:
    wrong = WATCHED | {"endpoints": endpoints, "protocol": protocol}
    if protocol == "memcached":
        wrong["operations"] = [{"name": "get", "commands": [{"args": ["mg", "{key}", "v"]}]}]
    with pytest.raises(ValidationError) as refused:
        Plan.model_validate(wrong)
    assert expected in str(refused.value)
    with pytest.raises(ValueError, match="endpoints") as refused_too:
        Engine(json.dumps(wrong))
    assert expected in str(refused_too.value)


def test_http_has_none() -> None:
    wrong = WATCHED | {"protocol": "http1", "operations": [{"name": "get", "requests": [{"path": "/"}]}]}
    with pytest.raises(ValidationError, match="only a Redis has Sentinels; leave them out"):
        Plan.model_validate(wrong | {"endpoints": [{}, SENTINEL]})
