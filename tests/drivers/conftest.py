"""Two embedded Redis, for drives that take turns."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.servers import registry
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.server import DeployContext


class Store:
    """A running Redis, and what it counts."""

    def __init__(self, endpoint: Endpoint, control: RedisControl, pid: int) -> None:
        self.endpoint = endpoint
        self.control = control
        self.pid = pid

    def calls(self, command: str = "set") -> int:
        """How often it was given a command."""
        return self.control.commandstats().get(command, 0)


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    servers = [registry.make_server(name, {"kind": "embedded"}) for name in ("one", "other")]
    try:
        first, second = (server.start(DeployContext(work_root=tmp_path)) for server in servers)
        with servers[0].control() as one, servers[1].control() as other:
            assert isinstance(one, RedisControl)
            assert isinstance(other, RedisControl)
            pids = [pid for server in servers for pid in server.pids.values()]
            yield Store(first, one, pids[0]), Store(second, other, pids[1])
    finally:
        for server in servers:
            server.stop()
