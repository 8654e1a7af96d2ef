"""A real Redis with JSON for the tests of monitors, and what one monitor reports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.monitors.monitor import Monitor
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import EmbeddedSettings, LocalRedis
from loadstone.servers.server import DeployContext


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalRedis]:
    server = EmbeddedSettings(modules=("json",)).server("redis")
    server.start(DeployContext(work_root=tmp_path))
    yield server
    server.stop()


@pytest.fixture
def control(server: LocalRedis) -> Iterator[RedisControl]:
    with RedisControl(server._endpoint) as control:
        yield control


def values(monitor: Monitor, part: str) -> dict[str, float]:
    """The metrics of one part, queried once."""
    return {sample.metric: sample.value for sample in monitor.sample(1.0) if sample.part == part}
