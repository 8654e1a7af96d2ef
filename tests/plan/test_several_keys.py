"""The different keys of one operation, as an experiment writes them and as a plan has them."""

from typing import Any

import pytest
from pydantic import ValidationError

from loadstone.plan.drive_plan import Plan
from loadstone.plan.footprint import stored_by
from loadstone.plan.operations import keys_of_one
from loadstone.plan.substitute import FieldError
from loadstone.plan.workload.finish import with_arguments, with_keys
from loadstone.software.redis.commands.confinement import keys_made, require_confined

PREFIX = "loadstone:1:"


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
