"""What of a latency is the round trip that any answer takes."""

from collections.abc import Callable
from types import ModuleType

import pytest

from loadstone.record.facts import Ceiling
from loadstone.report.text.sentences import text

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
        assert "a server that does nothing" in text(found.reason)
        assert found.measured == pytest.approx(100 * share, rel=0.01)
