"""When operations are intended, on which keys, and in which phase they count."""

from collections import Counter
from dataclasses import replace
from itertools import islice, takewhile
from random import Random
from typing import Any

import pytest

from driver.keys import key_picker
from driver.plan import Closed, Keys, Open, Phases, RampUp, RateStep
from driver.schedule import DRAIN, MEASURE, RAMP_UP, WARM_UP, S, Timeline, arrivals, ns, think_ns, user_start_ns

PHASES = Phases(ramp_up_s=0.0, warm_up_s=0.0, measure_s=10.0, measure_operations=None, measure_max_s=None, drain_s=1.0)
OPEN = Open(rate_per_s=1000.0, arrivals="constant", backlog_max=10, schedule=())
CLOSED = Closed(users=20, think_time_ms=0.0, think_time="constant", operations_per_user=None, ramp_up=None)


def until(end_s: float, open_: Open, phases: Phases = PHASES) -> list[int]:
    return list(takewhile(lambda time_ns: time_ns < end_s * S, arrivals(open_, phases, Random(1))))


def test_constant_arrivals_are_evenly_spaced() -> None:
    assert until(2.0, OPEN) == [number * 1_000_000 for number in range(2000)]


def test_poisson_arrivals_have_their_rate_and_variance() -> None:
    times = until(20.0, replace(OPEN, arrivals="poisson"))
    assert 19_500 < len(times) < 20_500
    in_each_100_ms = Counter(time_ns // ns(0.1) for time_ns in times).values()
    mean = sum(in_each_100_ms) / len(in_each_100_ms)
    variance = sum((count - mean) ** 2 for count in in_each_100_ms) / len(in_each_100_ms)
    assert 0.7 < variance / mean < 1.4


def test_the_rate_rises_over_the_ramp_up() -> None:
    times = until(2.0, OPEN, replace(PHASES, ramp_up_s=2.0))
    assert len(times) == 1000
    assert sum(time_ns < S for time_ns in times) == 250


def test_steps_begin_with_the_measure_phase_and_the_last_one_lasts() -> None:
    open_ = replace(OPEN, schedule=(RateStep(500.0, 1.0), RateStep(2000.0, 1.0)))
    times = until(4.0, open_, replace(PHASES, warm_up_s=1.0))
    assert Counter(time_ns // S for time_ns in times) == {0: 1000, 1: 500, 2: 2000, 3: 2000}


@pytest.mark.parametrize(
    ("ramp_up", "seconds"),
    [(None, [0.0, 5.0, 9.5]), (RampUp(initial_users=3, step_users=2, step_every_s=1.0), [0.0, 4.0, 9.0])],
)
def test_users_start_over_the_ramp_up_or_in_steps(ramp_up: RampUp | None, seconds: list[float]) -> None:
    phases = replace(PHASES, ramp_up_s=10.0)
    assert [user_start_ns(replace(CLOSED, ramp_up=ramp_up), phases, user) / S for user in (0, 10, 19)] == seconds


def test_think_times_are_constant_or_have_their_mean() -> None:
    thinking = replace(CLOSED, think_time_ms=2.5)
    assert think_ns(thinking, Random(1)) == 2_500_000
    assert think_ns(CLOSED, Random(1)) == 0
    random, exponential = Random(1), replace(thinking, think_time="exponential")
    assert sum(think_ns(exponential, random) for _ in range(20_000)) / 20_000 == pytest.approx(2_500_000, rel=0.05)


def test_an_operation_belongs_to_the_phase_of_its_intended_time() -> None:
    timeline = Timeline(replace(PHASES, ramp_up_s=1.0, warm_up_s=2.0))
    times = [0.0, 0.9, 1.0, 2.9, 3.0, 12.9, 13.0]
    assert [timeline.phase_of(ns(time)) for time in times] == [
        *(RAMP_UP, RAMP_UP),
        *(WARM_UP, WARM_UP),
        *(MEASURE, MEASURE),
        DRAIN,
    ]
    timeline.enough_measured(ns(5.0))
    assert timeline.drain_ns == ns(13.0), "the shortest measure phase is over by then alone"
    timeline.end_measure(ns(2.0))
    assert [timeline.phase_of(ns(time)) for time in (1.9, 2.0)] == [WARM_UP, DRAIN]


def keys(distribution: str, count: int = 50, **changed: Any) -> Keys:
    plain = Keys("", count, distribution, zipf_exponent=0.99, gaussian_sd=0.15, loaded=False)
    return replace(plain, **changed)


def drawn(keys_: Keys, number: int) -> list[int | None]:
    draw = key_picker(keys_, Random(1))
    return [draw() for _ in range(number)]


def test_keys_are_walked_in_order_around_or_once() -> None:
    assert drawn(keys("sequential", 3), 7) == [0, 1, 2, 0, 1, 2, 0]
    assert drawn(keys("exactly_once", 3), 5) == [0, 1, 2, None, None]


@pytest.mark.parametrize("exponent", [0.3, 0.99, 1.0, 2.5])
def test_zipf_follows_its_power_law(exponent: float) -> None:
    weights = [(key + 1) ** -exponent for key in range(50)]
    counted = Counter(drawn(keys("zipf", zipf_exponent=exponent), 50_000))
    expected = [weight / sum(weights) * 50_000 for weight in weights]
    deviation = sum((counted[key] - mean) ** 2 / mean for key, mean in enumerate(expected)) / 49
    assert 0.4 < deviation < 1.8


@pytest.mark.parametrize("deviation", [0.1, 0.5])
def test_gaussian_is_a_bell_around_the_middle(deviation: float) -> None:
    counted = Counter(drawn(keys("gaussian", gaussian_sd=deviation), 50_000))
    assert counted[25] > counted[40] > counted[48]
    assert set(counted) <= set(range(50))


def test_uniform_reaches_every_key_about_equally_often() -> None:
    counted = Counter(drawn(keys("uniform"), 50_000))
    assert all(800 < counted[key] < 1200 for key in range(50))


def test_the_first_arrivals_are_enough_to_be_compared() -> None:
    """The same seed gives the same arrivals."""
    streams = [list(islice(arrivals(replace(OPEN, arrivals="poisson"), PHASES, Random(7)), 5)) for _ in range(2)]
    assert streams[0] == streams[1]
