"""Whether the driver kept out of its own measurement."""

from collections.abc import Callable
from types import ModuleType

import pytest

from loadstone.record.facts import Ceiling

ResultOf = Callable[..., object]


def cpu(injectors: ModuleType, share: float):
    return injectors.setting("facts.drive.threads.0.cpu_s", share * 6.0)


@pytest.mark.parametrize(
    ("users", "share", "verdict"),
    [
        (32, 0.69, "valid"),
        (32, 0.71, "suspect"),
        (32, 0.84, "suspect"),
        (32, 0.86, "invalid"),
        (16, 0.69, "valid"),
        (15, 0.59, "valid"),
        (15, 0.61, "suspect"),
        (1, 0.86, "invalid"),
    ],
)
def test_cpu_of_the_hottest_thread(
    result_of: ResultOf, injectors: ModuleType, users: int, share: float, verdict: str
) -> None:
    with_users = injectors.setting("facts.plan.model.users", users)
    assert result_of("generator_cpu", with_users, cpu(injectors, share)).verdict == verdict


def test_the_hottest_of_several_threads_counts(result_of: ResultOf, injectors: ModuleType) -> None:
    threads = [{"cpu": n, "cpu_s": s, "wall_s": 6.0} for n, s in enumerate([0.5, 5.4, 0.5])]
    found = result_of("generator_cpu", injectors.setting("facts.drive.threads", threads))
    assert (found.verdict, found.measured, found.limit, found.unit) == ("invalid", 90.0, 85, "%")


def test_a_throttled_driver_is_invalid_at_any_cpu(result_of: ResultOf, injectors: ModuleType) -> None:
    found = result_of("generator_cpu", injectors.setting("facts.host.throttled_s", 0.3))
    assert found.verdict == "invalid"
    assert "held it back for 0.30 s" in found.reason


def test_a_spinning_drivers_cpu_tells_nothing(result_of: ResultOf, injectors: ModuleType) -> None:
    spinning = injectors.setting("facts.plan.model", {"kind": "open", "rate_per_s": 100.0, "spin_us": 30.0})
    assert result_of("generator_cpu", spinning, cpu(injectors, 1.0)).verdict == "unknown"


@pytest.mark.parametrize(("share", "verdict"), [(0.69, "valid"), (0.71, "suspect"), (0.86, "invalid")])
def test_throughput_against_the_drivers_capacity(
    result_of: ResultOf, injectors: ModuleType, share: float, verdict: str
) -> None:
    assert result_of("generator_ceiling", injectors.ceiling_at(share)).verdict == verdict


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
        assert "a server that does nothing" in found.reason
        assert found.measured == pytest.approx(100 * share, rel=0.01)


@pytest.mark.parametrize(("share", "verdict"), [(0.005, "valid"), (0.06, "suspect"), (0.4, "invalid")])
def test_a_hot_loop_on_the_drivers_core_is_found(
    result_of: ResultOf, injectors: ModuleType, share: float, verdict: str
) -> None:
    """A driver that is kept waiting uses little CPU: its CPU alone would call that valid."""
    starved = [injectors.setting("facts.parts.generator.wait_share", share), cpu(injectors, 0.15)]
    assert result_of("generator_cpu", *starved).verdict == "valid"
    assert result_of("generator_wait", *starved).verdict == verdict
