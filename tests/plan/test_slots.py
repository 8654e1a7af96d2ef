"""Slots of a cluster's nodes: Python and the engine refuse the same plans."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from loadstone._engine import Engine
from loadstone.plan.drive_plan import Plan
from loadstone.plan.endpoints import even_slots

ALL = [[0, 16_383]]
BASE: dict[str, Any] = {
    "endpoints": [{"slots": [[0, 5000], [5002, 16_383]]}, {"slots": [[5001, 5001]]}],
    "model": {"kind": "closed", "users": 1},
    "pool": {"connections": 2},
    "operations": [{"name": "get", "commands": [{"args": ["GET", "{key}"]}]}],
}


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
