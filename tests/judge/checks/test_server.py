"""How the server and its kernel were set up."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]
Line = dict[str, Any]


def test_a_client_that_began_to_listen_within_the_drive_is_observed(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("monitor_clients", injectors.setting("facts.servers.redis.after.calls.monitor", 1))
    assert found.verdict == "suspect"
    assert render_message(found.reason).startswith("1 client(s)")


def unlisted(line: Line) -> None:
    for side in ("before", "after"):
        line["facts"]["servers"]["redis"][side]["monitor_clients"] = None


def test_a_server_that_lists_no_clients_may_still_count_them(result_of: ResultOf, injectors: ModuleType) -> None:
    assert result_of("monitor_clients", unlisted).verdict == "unknown"
    counted = injectors.setting("facts.servers.redis.after.calls.monitor", 1)
    assert result_of("monitor_clients", unlisted, counted).verdict == "suspect"


@pytest.mark.parametrize(
    ("threshold_us", "verdict"),
    [("10000", "valid"), ("1000", "valid"), ("999", "suspect"), ("0", "suspect"), ("-1", "valid")],
)
def test_the_slow_log_is_for_slow_commands(
    result_of: ResultOf, injectors: ModuleType, threshold_us: str, verdict: str
) -> None:
    assert result_of("slow_log", injectors.configured("slowlog-log-slower-than", threshold_us)).verdict == verdict


def test_a_slow_log_that_grew_is_a_result_and_no_fault(result_of: ResultOf, injectors: ModuleType) -> None:
    grown = injectors.setting("facts.servers.redis.after.slow_log_entries", 128)
    assert result_of("slow_log", grown).verdict == "valid"

    def refused(line: Line) -> None:
        for side in ("before", "after"):
            line["facts"]["servers"]["redis"][side]["settings"] = {}

    found = result_of("slow_log", grown, refused)
    assert found.verdict == "unknown"
    assert "grew by 128 commands" in render_message(found.reason)
    assert result_of("log_level", refused).verdict == "unknown"


@pytest.mark.parametrize(
    ("level", "verdict"), [("debug", "suspect"), ("verbose", "valid"), ("notice", "valid"), ("warning", "valid")]
)
def test_the_level_of_the_log(result_of: ResultOf, injectors: ModuleType, level: str, verdict: str) -> None:
    assert result_of("log_level", injectors.configured("loglevel", level)).verdict == verdict


@pytest.mark.parametrize(
    ("always", "disabled", "forks", "verdict"),
    [(True, "no", 1.0, "suspect"), (True, "yes", 1.0, "valid"), (True, "no", 0.0, "valid"), (False, "no", 1.0, "valid"),
     (None, "no", 1.0, "unknown")],
)  # fmt: skip
def test_huge_pages_matter_to_a_server_that_forks_and_takes_them(
    result_of: ResultOf, injectors: ModuleType, always: bool | None, disabled: str, forks: float, verdict: str
) -> None:
    found = result_of(
        "huge_pages",
        injectors.setting("facts.host.huge_pages_always", always),
        injectors.configured("disable-thp", disabled),
        injectors.setting("facts.servers.redis.after.counters.total_forks", forks),
    )
    assert found.verdict == verdict


def test_the_kernel_of_a_server_elsewhere_is_not_ours_to_judge(result_of: ResultOf, injectors: ModuleType) -> None:
    theirs = injectors.setting("facts.placement", None)
    assert result_of("huge_pages", theirs).verdict == "unknown"
    assert result_of("overcommit", theirs).verdict == "unknown"


@pytest.mark.parametrize(("setting", "worth_a_word"), [(1, False), (0, True), (2, True)])
def test_overcommit_is_information(
    result_of: ResultOf, injectors: ModuleType, setting: int, worth_a_word: bool
) -> None:
    found = result_of("overcommit", injectors.setting("facts.host.overcommit_memory", setting))
    assert found.verdict == "valid"
    assert bool(found.reason) is worth_a_word


def test_a_fork_says_for_how_long_it_stopped_the_server(result_of: ResultOf, injectors: ModuleType) -> None:
    counters = "facts.servers.redis.after.counters"
    forked = injectors.setting(f"{counters}.total_forks", 1.0)
    found = result_of("background", forked, injectors.setting(f"{counters}.latest_fork_usec", 12_300.0))
    assert "stopped it for 12.3 ms" in render_message(found.reason)
