"""Machine and server."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.report.text.sentences import text

ResultOf = Callable[..., Any]


@pytest.mark.parametrize(("idle", "verdict"), [(0.5, "valid"), (0.05, "suspect"), (None, "suspect")])
def test_shared_cpus_matter_once_none_is_idle(
    result_of: ResultOf, injectors: ModuleType, idle: float | None, verdict: str
) -> None:
    shared = injectors.setting("facts.placement.shared", True)
    assert result_of("placement", shared, injectors.setting("facts.host.idle_share", idle)).verdict == verdict


def test_a_server_elsewhere_is_not_placed(result_of: ResultOf, injectors: ModuleType) -> None:
    assert result_of("placement", injectors.setting("facts.placement", None)).verdict == "unknown"


@pytest.mark.parametrize("name", ["rdb_bgsave_in_progress", "aof_rewrite_in_progress", "total_forks"])
def test_work_in_the_background(result_of: ResultOf, injectors: ModuleType, name: str) -> None:
    assert (
        result_of("background", injectors.setting(f"facts.servers.redis.after.counters.{name}", 1.0)).verdict
        == "suspect"
    )


@pytest.mark.parametrize(("share", "bound"), [(0.5, False), (0.94, False), (0.96, True)])
def test_the_servers_cpu_is_information(result_of: ResultOf, injectors: ModuleType, share: float, bound: bool) -> None:
    found = result_of("server_cpu", injectors.setting("facts.parts.redis.main_thread_share", share))
    assert found.verdict == "valid"
    assert found.measured == pytest.approx(100 * share)
    assert text(found.reason).startswith("Server-bound") is bound
