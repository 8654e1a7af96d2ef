"""What operations are made of, held against the command table of a real Redis."""

from pathlib import Path

import pytest

from loadstone.experiment.plan.drive_plan import Plan
from loadstone.experiment.plan.operation_units import KEYS, OperationUnits, are_compared_by_units, read_units, units_of
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.experiment.plan.workload_from_text import with_arguments
from loadstone.servers import registry
from loadstone.servers.server import DeployContext


def operation(*commands: str, units: str = "auto") -> Operation:
    made = tuple(ServerCommand.model_validate(with_arguments({"args": text}, ())) for text in commands)
    return Operation(name="one", commands=made, units=units)


@pytest.mark.parametrize(
    ("commands", "units"),
    [
        (["GET {key}"], (1, "key", "GET")),
        (["MGET {keys:10}"], (10, "key", "GET")),
        (["MGET {key} {key}"], (2, "key", "GET")),
        ([f"GET {{key{number or ''}}}" for number in (0, 2, 3)], (3, "key", "GET")),
        (["MULTI", "SET {key} 1", "SET {key2} 1", "EXEC"], (2, "key", "SET")),
        (["GET {key}", "SET {key} 1"], (1, "key", "GET SET")),
        (["MSET {key} 1 {key2} 2"], (2, "key", "SET")),
        (["ZADD {key} NX CH 1 a 2 b"], (2, "item", "ZADD")),
        (["HSET {key} a 1 b 2"], (2, "item", "HSET")),
        (["JSON.MGET {key} {key2} $"], (2, "key", "JSON.GET")),
        (["PING"], (1, "key", "")),
    ],
)
def test_an_operation_is_as_many_as_its_commands_say(commands: list[str], units: tuple[int, str, str]) -> None:
    assert units_of(operation(*commands)) == OperationUnits(*units)


def test_what_is_written_counts() -> None:
    assert units_of(operation("PING", units="10 messages")) == OperationUnits(10, "message", "")
    assert units_of(operation("MGET {keys:10}", units="1")).count == 1
    for wrong in ("0", "ten", "1.5", "10 Keys"):
        with pytest.raises(ValueError, match="is not how many units an operation is"):
            read_units(wrong)


def plan_of(one: Operation) -> Plan:
    return Plan.model_validate(
        {
            "endpoints": [{}],
            "model": {"kind": "closed", "users": 1},
            "pool": {"connections": 1},
            "operations": [one],
        }
    )


@pytest.mark.parametrize(
    ("a", "b", "by_units"),
    [
        ("MGET {keys:10}", "GET {key}", True),
        ("MGET {keys:10}", "MGET {keys:10}", False),
        ("HSET {key} a 1 b 2", "SET {key} 12", False),
        ("MGET {keys:10}", "HGETALL {key}", False),
        ("ZADD {key} 1 a 2 b", "ZADD {key} 1 a", True),
    ],
)
def test_only_operations_of_one_kind_are_compared_by_their_units(a: str, b: str, by_units: bool) -> None:
    assert are_compared_by_units([plan_of(operation(a)), plan_of(operation(b))]) is by_units


def test_the_key_steps_are_those_of_the_server(tmp_path: Path) -> None:
    server = registry.make_server("redis", {"kind": "process"})
    server.start(DeployContext(work_root=tmp_path))
    try:
        with server.control() as control:
            for name, (last, step) in KEYS.items():
                (described,) = control.call(b"COMMAND", "INFO", name)  # type: ignore[attr-defined]
                if described:  # RedisJSON is not there
                    assert described[3:6] == [1, last, step], name
    finally:
        server.stop()
