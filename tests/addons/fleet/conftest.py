"""A real Redis for the engines of agents, and a plan for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.drivers.conftest import stores  # noqa: F401 (a fixture)
from tests.end_to_end.conftest import lab, plain_redis, users_redis  # noqa: F401 (fixtures)

from loadstone.experiment.plan.drive_plan import Closed, Keys, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation, ServerCommand
from loadstone.servers import registry
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext


class Store:
    """A running Redis, and what it counts."""

    def __init__(self, endpoint: Endpoint, control: RedisControl) -> None:
        self.endpoint = endpoint
        self.control = control

    def sets(self) -> int:
        return self.control.commandstats().get("set", 0)

    def plan(self, **changed: Any) -> Plan:
        """SETs by four users."""
        fields: dict[str, Any] = {
            "endpoints": (self.endpoint,),
            "model": Closed(users=4),
            "pool": Pool(connections=4),
            "phases": Phases(warm_up_s=0.0, measure_s=2.5, drain_s=2.0),
            "operations": (
                Operation(name="set", commands=(ServerCommand(args=("SET", "{key}", "{value}"), expect="ok"),)),
            ),
            "keys": Keys(prefix="loadstone:fleet:", count=50),
            **changed,
        }
        return Plan(**fields)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    server = registry.make_server("redis", {"kind": "embedded"})
    try:
        endpoint = server.start(DeployContext(work_root=tmp_path))
        with server.control() as control:
            assert isinstance(control, RedisControl)
            yield Store(endpoint, control)
    finally:
        server.stop()
