"""When the monitors look at a whole trial: where a phase begins, and at the measured one a little before."""

from types import SimpleNamespace

import pytest

from loadstone.drivers.held_intervals import EARLY_S, LEAST_BEFORE_S, held_from_s
from loadstone.measure.drive_watch import Beginnings
from loadstone.monitors.monitor import SHORTEST_S


def looks_s(*phases: tuple[str, int], interval_s: float, before_s: float) -> list[float]:
    """At the end of which intervals the monitors look, each in the order of the phases."""
    names = [phase for phase, times in phases for _ in range(times)]
    beginnings = Beginnings()
    intervals = [
        SimpleNamespace(phase=phase, start_s=number * interval_s, duration_s=interval_s)
        for number, phase in enumerate(names)
    ]
    return [
        round(one.start_s + interval_s, 3)
        for one in intervals
        if beginnings.begins(one, before_s)  # type: ignore[arg-type]
    ]


def test_the_measured_phase_is_told_while_it_warms_up() -> None:
    (first, early, drained) = looks_s(("warm_up", 10), ("measure", 20), ("drain", 1), interval_s=0.05, before_s=0.5)
    assert (first, drained) == (0.05, 1.55)
    assert 0.5 - EARLY_S <= early < 0.5


def test_what_ramps_up_before_is_counted() -> None:
    looks = looks_s(("ramp_up", 10), ("warm_up", 10), ("measure", 20), interval_s=0.1, before_s=2.0)
    assert looks == [0.1, 1.1, pytest.approx(1.9)]


@pytest.mark.parametrize(
    ("phases", "interval_s", "before_s", "looks"),
    [
        ([("measure", 5)], 0.1, 0.0, [0.1]),
        ([("warm_up", 1), ("measure", 5)], 0.3, 0.3, [0.3]),
        ([("warm_up", 2), ("measure", 5)], 0.1, 0.2, [0.1, 0.3]),
        ([("warm_up", 6), ("measure", 5)], 0.05, 0.3, [0.05, 0.2]),
        ([("ramp_up", 3), ("measure", 5)], 0.1, 0.3, [0.1, 0.2]),
        ([("ramp_up", 3), ("warm_up", 1), ("measure", 5)], 0.1, 0.4, [0.1, 0.3, 0.4]),
    ],
)
def test_with_few_intervals_before_the_last_of_them_tells_it(
    phases: list[tuple[str, int]], interval_s: float, before_s: float, looks: list[float]
) -> None:
    assert looks_s(*phases, interval_s=interval_s, before_s=before_s) == looks


def test_rates_are_reported_over_what_is_left_before() -> None:
    assert pytest.approx(SHORTEST_S + EARLY_S) == LEAST_BEFORE_S


@pytest.mark.parametrize(
    ("interval_s", "before_s", "at_once_s"),
    [
        (0.1, 0.3, [0.1, 0.2]),
        (0.05, 0.5, [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4]),
        (1.0, 3.0, [1.0, 2.0, 3.0]),
        (0.1, 0.2, [0.1, 0.2, 0.3]),
        (0.1, 0.0, [0.1]),
    ],
)
def test_what_tells_the_measured_phase_is_the_last_that_is_handed_out_at_once(
    interval_s: float, before_s: float, at_once_s: list[float]
) -> None:
    before = round(before_s / interval_s)
    ends = [round((number + 1) * interval_s, 6) for number in range(before + 5)]
    assert [end for end in ends if end <= held_from_s(before_s, interval_s) + 1e-6] == at_once_s
    looks = looks_s(("warm_up", before), ("measure", 5), interval_s=interval_s, before_s=before_s)
    assert looks[-1] == at_once_s[-1]
