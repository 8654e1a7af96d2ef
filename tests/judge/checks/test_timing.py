"""Clock, schedule, and the round trip that any answer takes."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from loadstone.run_folder.facts import Ceiling
from loadstone.text.sentences import render_message

ResultOf = Callable[..., Any]


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.024, "valid"), (0.026, "suspect"), (0.049, "suspect"), (1.0, "invalid")]
)
def test_the_clocks_step_against_the_p50(
    result_of: ResultOf, injectors: ModuleType, share: float, verdict: str
) -> None:
    assert result_of("clock", injectors.of_p50("facts.drive.clock_quantum_ns", share)).verdict == verdict


def test_a_clock_of_a_millisecond_is_found_in_the_original_study(result_of: ResultOf, injectors: ModuleType) -> None:
    """The study's own mistake: P50 exactly 1 ms, because the clock ticked once a millisecond."""
    latency = dict.fromkeys(("min", "mean", "p50", "p90", "p95", "p99", "p999", "max"), 1_000_000)
    found = result_of(
        "clock",
        injectors.setting("response_ns", latency),
        injectors.setting("service_ns", latency),
        injectors.setting("facts.drive.clock_quantum_ns", 1_000_000),
    )
    assert found.verdict == "invalid"
    assert "between 0 µs and 2 ms" in render_message(found.reason)


def test_of_too_few_operations_the_mean_is_taken(result_of: ResultOf, injectors: ModuleType) -> None:
    few = {"min": 1, "mean": 1_000_000.0, "p50": None, "p90": None, "p95": None, "p99": None, "p999": None, "max": 2}
    changes = [injectors.setting(kind, few) for kind in ("response_ns", "service_ns")]
    assert result_of("clock", *changes, injectors.setting("facts.drive.clock_quantum_ns", 60_000)).verdict == "invalid"
    nothing = dict.fromkeys(few)
    changes = [injectors.setting(kind, nothing) for kind in ("response_ns", "service_ns")]
    assert result_of("clock", *changes).verdict == "unknown"


@pytest.mark.parametrize(("share", "verdict"), [(0.0, "valid"), (0.009, "valid"), (0.011, "invalid")])
def test_the_schedule_must_be_sent(result_of: ResultOf, injectors: ModuleType, share: float, verdict: str) -> None:
    assert result_of("schedule_sent", injectors.opened(injectors.never_sent(share))).verdict == verdict


@pytest.mark.parametrize(
    ("p50", "p99", "verdict"),
    [(0.01, 0.09, "valid"), (0.01, 0.11, "suspect"), (0.4, 5.0, "suspect"), (0.51, 0.6, "suspect")],
)
def test_lateness_doubts_latencies_and_refuses_none(
    result_of: ResultOf, injectors: ModuleType, p50: float, p99: float, verdict: str
) -> None:
    found = result_of("schedule_lag", injectors.opened(injectors.late(p50, p99)))
    assert found.verdict == verdict


@pytest.mark.parametrize(("share", "verdict"), [(0.0, "valid"), (0.09, "valid"), (0.11, "suspect"), (0.98, "suspect")])
def test_what_may_be_the_drivers_own_bounds_a_latency(
    result_of: ResultOf, injectors: ModuleType, share: float, verdict: str
) -> None:
    found = result_of("schedule_lag", injectors.opened(injectors.own_time(share)))
    assert (found.verdict, found.measured) == (verdict, pytest.approx(100 * share, abs=0.1))


PROGRAM = {"name": "lettuce", "library": "lettuce", "version": "7", "runtime": "java", "reports_pool_wait": True}


@pytest.mark.parametrize(
    ("lag_s", "answered", "verdict", "says"),
    [
        (0.0001, 1.0, "valid", ""),
        (
            0.0119,
            1.0,
            "suspect",
            "lettuce itself sends late: half of the operations 11.9 ms or more after",
        ),
        (
            0.0119,
            0.97,
            "invalid",
            "lettuce cannot keep this rate: it sends half of the operations 11.9 ms",
        ),
        (1.72, 1.0, "invalid", "lettuce cannot keep this rate"),
        (0.0001, 0.97, "valid", ""),
    ],
)
def test_what_a_library_sends_late_is_its_own_until_it_cannot_keep_the_rate(
    result_of: ResultOf, injectors: ModuleType, lag_s: float, answered: float, verdict: str, says: str
) -> None:
    def of_library(line: dict[str, Any]) -> None:
        line["facts"]["drive"]["program"] = PROGRAM
        p50_ns = round(1e9 * lag_s) + 200_000
        line["response_ns"] = {**line["response_ns"], "p50": p50_ns, "p90": p50_ns, "p95": p50_ns, "p99": 2 * p50_ns}
        line["facts"]["drive"]["schedule_lag_ns"] |= {"count": 1000, "p50": round(1e9 * lag_s), "p99": 2 * p50_ns}
        line["throughput_per_s"] = answered * line["counts"]["offered"] / line["duration_s"]

    found = result_of("schedule_lag", injectors.opened(of_library))
    assert found.verdict == verdict
    assert ("" if found.reason is None else render_message(found.reason)).startswith(says)


def test_what_others_took_at_a_rate_that_was_kept_doubts_its_latencies_alone(
    result_of: ResultOf, injectors: ModuleType
) -> None:
    inject, verdict = injectors.TWICE["taken"]
    assert verdict == "suspect" or verdict == "invalid"
    found = result_of("taken", injectors.opened(inject))
    assert found.verdict == "suspect"
    assert "the rate was kept" in render_message(found.reason)


def test_one_dropped_arrival_spoils_the_quantiles(result_of: ResultOf, injectors: ModuleType) -> None:
    dropped = injectors.opened(injectors.setting("counts.dropped", 1))
    assert result_of("dropped_arrivals", dropped).verdict == "invalid"


@pytest.mark.parametrize("name", ["schedule_sent", "schedule_lag", "dropped_arrivals"])
def test_a_closed_model_has_no_schedule(result_of: ResultOf, name: str) -> None:
    assert result_of(name) is None


ResultOf = Callable[..., object]


def test_capacity_is_that_of_a_fully_busy_thread() -> None:
    """Against a null server that was itself the limit, the driver used half of its core: it can do twice that."""
    assert Ceiling(throughput_per_s=1e5, users=64, hottest_thread_share=0.5).capacity_per_s == pytest.approx(2e5)
    assert Ceiling(throughput_per_s=1e5, users=64, hottest_thread_share=1.01).capacity_per_s == 1e5


@pytest.mark.parametrize(("share", "verdict"), [(0.09, "valid"), (0.11, "unknown"), (0.95, "unknown")])
def test_the_empty_round_trip_is_named_and_not_held_against_a_trial(
    result_of: ResultOf, injectors: ModuleType, share: float, verdict: str
) -> None:
    found = result_of("round_trip", injectors.of_p50("facts.ceiling.floor_p50_ns", share))
    assert found.verdict == verdict
    if verdict == "unknown":
        assert "a server that does nothing" in render_message(found.reason)
        assert found.measured == pytest.approx(100 * share, rel=0.01)
