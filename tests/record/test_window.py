"""Counters and rates of the monitors within the measure phase."""

import pytest

from loadstone.observe.sample import Sample
from loadstone.record.window import Window


def counter(*points: tuple[float, float]) -> list[Sample]:
    return [Sample(t, "redis", "cpu_s", value) for t, value in points]


def test_a_counter_grows_evenly_between_samples() -> None:
    window = Window(counter((0, 10), (1, 11), (2, 12.5), (3, 13)), 0.5, 2.5)
    assert window.increase("redis", "cpu_s") == pytest.approx(0.5 + 1.5 + 0.25)


def test_samples_may_come_in_any_order() -> None:
    window = Window(counter((2, 12), (0, 10), (1, 11)), 0, 2)
    assert window.increase("redis", "cpu_s") == pytest.approx(2)


def test_a_counter_that_begins_again_counts_from_nothing() -> None:
    window = Window(counter((0, 10), (1, 11), (2, 0.5), (3, 1.0)), 0, 3)
    assert window.increase("redis", "cpu_s") == pytest.approx(1 + 0.5 + 0.5)


@pytest.mark.parametrize("points", [[], [(1, 5)], [(0, 1), (1, 2)], [(20, 1), (21, 2)]])
def test_what_was_not_observed_is_not_made_up(points: list[tuple[float, float]]) -> None:
    assert Window(counter(*points), 0, 10).increase("redis", "cpu_s") is None


def test_a_little_missing_at_the_edge_is_filled_evenly() -> None:
    window = Window(counter((1, 1), (2, 2), (3, 3), (4, 4)), 0, 4)
    assert window.increase("redis", "cpu_s") == pytest.approx(4)


def test_a_rate_speaks_for_the_time_before_its_sample() -> None:
    samples = [Sample(t, "host", "st", value) for t, value in [(0, 99.0), (1, 10.0), (2, 20.0), (3, 99.0)]]
    assert Window(samples, 0, 2).mean("host", "st") == pytest.approx(15)
    assert Window(samples, 0.5, 2).mean("host", "st") == pytest.approx((0.5 * 10 + 20) / 1.5)
    assert Window(samples, 0, 2).highest("host", "st") == 20


def test_parts_are_those_with_the_metric() -> None:
    window = Window([*counter((0, 1)), Sample(0, "app", "cpu_s", 1), Sample(0, "host", "st", 0)], 0, 1)
    assert window.parts("cpu_s") == ["app", "redis"]
    assert window.mean("nobody", "st") is None
    assert window.highest("nobody", "st") is None


def test_a_stretch_without_length_has_no_figures() -> None:
    window = Window(counter((0, 1), (1, 2)), 0.5, 0.5)
    assert window.increase("redis", "cpu_s") is None
    assert window.mean("redis", "cpu_s") is None
