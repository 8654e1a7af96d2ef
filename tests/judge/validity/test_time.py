"""Clock and schedule."""

from collections.abc import Callable
from types import ModuleType

import pytest

from loadstone.report.text.sentences import text

ResultOf = Callable[..., object]


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
    assert "between 0 us and 2 ms" in text(found.reason)


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
    [(0.01, 0.04, "valid"), (0.01, 0.06, "suspect"), (0.4, 5.0, "suspect"), (0.51, 0.6, "invalid")],
)
def test_the_drivers_own_lateness(
    result_of: ResultOf, injectors: ModuleType, p50: float, p99: float, verdict: str
) -> None:
    found = result_of("schedule_lag", injectors.opened(injectors.late(p50, p99)))
    assert found.verdict == verdict


def test_one_dropped_arrival_spoils_the_quantiles(result_of: ResultOf, injectors: ModuleType) -> None:
    dropped = injectors.opened(injectors.setting("counts.dropped", 1))
    assert result_of("dropped_arrivals", dropped).verdict == "invalid"


@pytest.mark.parametrize("name", ["schedule_sent", "schedule_lag", "dropped_arrivals"])
def test_a_closed_model_has_no_schedule(result_of: ResultOf, name: str) -> None:
    assert result_of(name) is None
