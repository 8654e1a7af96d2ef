"""What a request costs a real Redis, beside what the system and the server themselves count."""

import json
import sys
from collections.abc import Callable

import psutil
import pytest

from tests.end_to_end.conftest import Lab
from tests.real_servers import UserRedis

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="parts are observed on Linux only"),
]


def counted(server: UserRedis) -> tuple[float, int]:
    """CPU seconds of the server's process, and how many commands it executed."""
    times = psutil.Process(server.pid).cpu_times()
    executed = server.client().info("stats")["total_commands_processed"]  # type: ignore[index]
    return times.user + times.system, int(executed)


def test_it_is_what_the_system_counts(user_redis: Callable[..., UserRedis], lab: Lab) -> None:
    """By the system's CPU time over the server's own count of the whole run, of which the slices are a part."""
    server = user_redis()
    before_s, before = counted(server)
    out = lab.folder / "out.json"
    words = ("redis", server.url, "-t", "get,set", "-c", "8", "--test-time", "1", "--fail-if", "cpu redis > 1ns")
    done = lab.loadstone(*words, "--json-out-file", out)
    after_s, after = counted(server)
    assert "Traceback" not in done.err
    costs = [row["costs"]["redis"] for row in json.loads(out.read_text())["tables"][0]["rows"]]
    assert sum(cost["ns"] for cost in costs) / 2 == pytest.approx(
        1e9 * (after_s - before_s) / (after - before), rel=0.4
    )
    assert all(cost["low_ns"] < cost["ns"] < cost["high_ns"] for cost in costs)
    assert "--fail-if: get: 'cpu redis > 1ns': missed: " in done.err
