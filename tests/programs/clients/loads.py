"""Loads for the clients' programs, and what is looked at after one."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest
from tests.real_servers import UserRedis

from loadstone.drivers.outcome import DriveRecord, Interval
from loadstone.experiment.plan.drive_plan import Closed, Documents, Keys, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand

PREFIX = "loadstone:clients:"
_TOOLS = {
    "go-redis": ("go", "no Go: scripts/go installs it"),
    "jedis": ("mvn", "no Maven: scripts/apt installs it where it can"),
    "lettuce": ("mvn", "no Maven: scripts/apt installs it where it can"),
    "ioredis": ("npm", "no Node: scripts/node installs it"),
}
HASH = Operation(
    name="hash",
    commands=(
        ServerCommand(
            args=("HSET", "{key}", "id", "{id}", "version", "{version}", "field", "{field}", "body", "{body}"),
            expect="integer",
        ),
        ServerCommand(args=("HGETALL", "{key}"), expect="hash"),
    ),
    writes="document",
    read_back=ServerCommand(args=("HGETALL", "{key}"), expect="hash"),
)
Drive = Callable[..., DriveRecord]


def words(*drivers: str) -> list[Any]:
    """Parameters of a test: drivers with their options; skipped where what builds one is missing."""
    return [pytest.param(word, marks=_needs(word.partition(":")[0])) for word in drivers]


def proofs(*drivers: str) -> list[Any]:
    """The same for scripts/prove: a file that takes them says `mark.prove`, by which it is found."""
    return [pytest.param(word, marks=(*_needs(word.partition(":")[0]), pytest.mark.prove)) for word in drivers]


def _needs(name: str) -> tuple[pytest.MarkDecorator, ...]:
    if name not in _TOOLS:
        return ()
    tool, why = _TOOLS[name]
    return (pytest.mark.skipif(shutil.which(tool) is None, reason=why),)


def plan(port: int, **parts: Any) -> Plan:
    """Eight users for a moment, over three connections."""
    return Plan(
        **{
            "endpoints": (Endpoint(port=port),),
            "model": Closed(users=8),
            "pool": Pool(connections=3),
            "phases": Phases(warm_up_s=0.1, measure_s=0.3, drain_s=5.0),
            "operations": (HASH,),
            "keys": Keys(prefix=PREFIX, count=50),
            "documents": Documents(payload_bytes=100, field_bytes=10),
            **parts,
        }
    )


def require_all_correct(record: DriveRecord) -> None:
    total = record.total
    assert (record.stopped, total.errors, total.timeouts, record.connections.lost) == (None, {}, 0, 0)
    assert total.offered == total.sent == total.ok > 0
    assert record.read_back.wrong == 0


def calls(store: UserRedis, command: str) -> int:
    """How often a server executed a command."""
    with store.client() as client:
        return int(client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"])


def connections_of(store: UserRedis, found: list[int]) -> Callable[[Interval], None]:
    """What notes at each interval how many connections of a driver a Redis has."""

    def note(_: Interval) -> None:
        with store.client() as client:
            found.append(len([one for one in client.client_list() if one["name"] == "loadstone"]))

    return note
