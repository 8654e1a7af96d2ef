"""What servers did beside the load, and what they had left."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.checks.checks import judge_trial
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

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
    assert render_message(found.reason).startswith("Server-bound") is bound


@pytest.mark.parametrize(("bytes_per_s", "verdict"), [(0.0, "valid"), (1.0, "suspect"), (5e9, "suspect")])
def test_temporary_files(clean: dict[str, Any], injectors: ModuleType, bytes_per_s: float, verdict: str) -> None:
    line = injectors.injected(clean, injectors.spills(bytes_per_s))
    trial = judge_trial(TrialRecord.model_validate(line))
    found = next(check for check in trial.checks if check.name == "temporary_files")
    assert (found.verdict, found.measured) == (verdict, bytes_per_s)
    assert verdict == "valid" or render_message(found.reason).startswith("db wrote ")


def test_temporary_files_are_not_asked_for_where_no_store_reports_them(clean: dict[str, Any]) -> None:
    trial = judge_trial(TrialRecord.model_validate(clean))
    assert "temporary_files" not in [check.name for check in trial.checks]


@pytest.mark.parametrize(
    ("thirds", "verdict"),
    [
        ((0, 0, 0), "valid"),
        ((0, 2, 4), "valid"),
        ((0, 10, 20), "suspect"),
        ((0, 20, 20), "valid"),  # a pool that filled, and then stood
        ((20, 0, 20), "valid"),
        ((20, 10, 0), "valid"),
        ((0, 20, 31), "suspect"),
    ],
)
def test_connections_that_rise_all_the_time(
    result_of: ResultOf, injectors: ModuleType, thirds: tuple[float, ...], verdict: str
) -> None:
    found = result_of("connection_leak", injectors.becomes_http, injectors.opens_connections(*thirds))
    assert found.verdict == verdict


def test_connections_of_the_load_itself_are_no_leak(result_of: ResultOf, injectors: ModuleType) -> None:
    def opens_more(line: dict[str, Any]) -> None:
        for number, point in enumerate(line["facts"]["series"]):
            point["connections"] += number // 2 * 10

    rises = injectors.opens_connections(0, 10, 20)
    assert result_of("connection_leak", rises).verdict == "suspect"
    assert result_of("connection_leak", rises, opens_more).verdict == "valid"
    assert result_of("connection_leak", rises, opens_more, injectors.becomes_http).verdict == "suspect"


def test_connections_of_other_loads_on_the_server_are_no_leak(result_of: ResultOf, injectors: ModuleType) -> None:
    """Those of an application are: what it opens is not theirs."""
    company = {"drives": 1, "commands": {}, "bytes_sent": 0, "keys": None, "loaded": True}
    rises, others = injectors.opens_connections(0, 30, 60), injectors.setting("facts.company", company)
    assert result_of("connection_leak", rises).verdict == "suspect"
    assert result_of("connection_leak", rises, others).verdict == "valid"
    assert result_of("connection_leak", rises, others, injectors.becomes_http).verdict == "suspect"


def test_connections_that_could_not_be_followed_are_unknown(result_of: ResultOf, injectors: ModuleType) -> None:
    unseen = injectors.setting("facts.server_connections", {})
    assert result_of("connection_leak", unseen).verdict == "unknown"
    nobody = injectors.setting("facts.servers", {}), injectors.setting("facts.kinds", {})
    assert result_of("connection_leak", injectors.becomes_http, unseen, *nobody) is None


def test_connections_that_the_load_gave_up_are_no_leak(result_of: ResultOf, injectors: ModuleType) -> None:
    """After timeouts each is made again, and a server that stands still counts the old ones, too."""
    rises = injectors.opens_connections(0, 30, 60)
    assert result_of("connection_leak", rises).verdict == "suspect"
    assert result_of("connection_leak", rises, injectors.setting("facts.drive.connections.lost", 60)).verdict == "valid"
    gave_up = injectors.setting("facts.drive.connections.lost", 10)
    assert result_of("connection_leak", rises, gave_up).verdict == "suspect", "more than those"


@pytest.mark.parametrize("place", [1, -1])
@pytest.mark.parametrize("start_s", [-1e9, 0.1])
def test_times_that_no_load_has_end_nothing(
    result_of: ResultOf, injectors: ModuleType, place: int, start_s: float
) -> None:
    """A run's folder may hold any numbers."""

    def changed(line: dict[str, Any]) -> None:
        series = line["facts"]["series"]
        series[place] |= {"start_s": start_s if start_s < 0 else series[0]["start_s"], "duration_s": 0.0}

    rises = injectors.opens_connections(0, 10, 20)
    assert result_of("connection_leak", rises, changed).verdict in ("valid", "suspect")
