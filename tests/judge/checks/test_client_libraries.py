"""What is checked of a trial whose load a client library's program made."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.judge.checks.generator_bounds import bound_of
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]
PROGRAM = {"name": "go-redis", "library": "go-redis", "version": "9.23.0", "runtime": "go", "reports_pool_wait": True}


@pytest.fixture
def by_program(injectors: ModuleType) -> Callable[[dict[str, Any]], Any]:
    return injectors.setting("facts.drive.program", PROGRAM)  # type: ignore[no-any-return]


@pytest.fixture
def observed(clean: dict[str, Any]) -> Callable[[int], Callable[[dict[str, Any]], Any]]:
    """The most connections that the server counted in the measure phase; one of loadstone's own was open before."""
    planned = clean["facts"]["plan"]["pool"]["connections"]

    def most(beyond: int) -> Callable[[dict[str, Any]], Any]:
        def change(line: dict[str, Any]) -> None:
            for one in line["facts"]["servers"].values():
                one["before"]["counters"]["connected_clients"] = 1.0
            figure = {"avg": float(planned), "max": float(planned + 1 + beyond)}
            line["facts"].setdefault("seen", {}).setdefault("redis", {})["connected_clients"] = figure

        return change

    return most


def test_what_a_client_that_costs_nothing_would_bring_is_not_held_against_it(
    result_of: ResultOf, by_program: Callable[[dict[str, Any]], Any]
) -> None:
    found = result_of("gain", by_program)
    assert found.verdict == "unknown"
    assert render_message(found.reason).startswith("go-redis used ")
    assert "no bound" in render_message(found.reason)


def test_the_engine_beside_client_libraries_is_one_of_them(
    result_of: ResultOf, injectors: ModuleType, clean: dict[str, Any]
) -> None:
    """With one connection neither it nor the server is busy, and without its cost the rate would be far higher."""
    compared = injectors.setting("facts.studied", ["driver", "pool"])

    def costly(line: dict[str, Any]) -> None:
        drive = line["facts"]["drive"]
        drive["threads"] = [{**one, "cpu_s": 0.6 * one["wall_s"], "waited_s": 0.0} for one in drive["threads"]]
        injectors.put(line, "facts.parts.redis.main_thread_share", 0.3)
        injectors.put(line, "facts.parts.redis.mean_share", 0.3)

    assert result_of("gain", costly).verdict == "suspect", "it hides what the server can do"
    found = result_of("gain", compared, costly)
    assert found.verdict == "unknown"
    assert render_message(found.reason).startswith("native used ")
    assert "no bound" in render_message(found.reason)
    for change, gain in (([costly], False), ([costly, compared], True)):
        line = clean
        for inject in change:
            line = injectors.injected(line, inject)
        bound = bound_of(TrialRecord.model_validate(line))
        assert bound is not None
        assert (bound.generator == 0.0) is gain


def test_a_wait_that_the_library_does_not_report_is_not_known(
    result_of: ResultOf, injectors: ModuleType, by_program: Callable[[dict[str, Any]], Any]
) -> None:
    silent = injectors.setting("facts.drive.program", {**PROGRAM, "reports_pool_wait": False})
    found = result_of("pool_wait", silent)
    assert found.verdict == "unknown"
    assert render_message(found.reason) == "go-redis does not report how long an operation waits for its connection."
    assert result_of("pool_wait", by_program).verdict == "valid"


def test_more_connections_than_its_pool_are_found(
    result_of: ResultOf,
    by_program: Callable[[dict[str, Any]], Any],
    observed: Callable[[int], Callable[[dict[str, Any]], Any]],
) -> None:
    assert result_of("connections", by_program, observed(0)).verdict == "valid"
    assert result_of("connections", by_program, observed(1)).verdict == "valid", (
        "the monitor's came after the first count"
    )
    found = result_of("connections", by_program, observed(3))
    assert (found.verdict, found.measured) == ("invalid", 2)
    assert "it drove another load than planned" in render_message(found.reason)
    assert result_of("connections", observed(2)).verdict == "valid", "the engine's own connections are known"


def test_a_server_may_still_count_what_a_pool_closed(
    result_of: ResultOf,
    injectors: ModuleType,
    by_program: Callable[[dict[str, Any]], Any],
    observed: Callable[[int], Callable[[dict[str, Any]], Any]],
    clean: dict[str, Any],
) -> None:
    planned = clean["facts"]["plan"]["pool"]["connections"]
    opens_and_closes = injectors.setting("facts.plan.pool.max_idle", planned // 2)
    few, many = planned // 10, planned // 10 + 1
    assert few >= 1
    assert result_of("connections", by_program, opens_and_closes, observed(1 + few)).verdict == "suspect"
    assert result_of("connections", by_program, opens_and_closes, observed(1 + many)).verdict == "invalid"
