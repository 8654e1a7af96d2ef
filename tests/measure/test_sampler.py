"""The sampler's schedule and its patience with monitors."""

import threading
from collections.abc import Iterable

import pytest

from loadstone.measure.sampler import Sampler
from loadstone.monitors.metric import Metric, by_name
from loadstone.monitors.monitor import Sample


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Counting:
    """A monitor that counts how often it is queried."""

    METRICS = by_name([Metric("asked", "part", "counter", "times", "how often it was called", "nowhere")])

    def __init__(self) -> None:
        self.requested = 0

    def sample(self, unix_s: float) -> Iterable[Sample]:
        self.requested += 1
        return [Sample(unix_s, "part", "asked", self.requested)]


class Failing(Counting):
    def sample(self, unix_s: float) -> Iterable[Sample]:
        super().sample(unix_s)
        raise RuntimeError("no such thing")


def test_all_monitors_are_queried_at_the_same_moments_and_once_more_at_the_end() -> None:
    clock, moments = Clock(), list[list[Sample]]()
    with Sampler([Counting(), Counting()], moments.append, 1.0, clock) as sampler:
        for now_s in (100.4, 101.0, 101.9, 102.1, 103.05):
            clock.now_s = now_s
            sampler.rest()
    assert len(moments) == 4
    for number, samples in enumerate(moments, 1):
        assert [sample.value for sample in samples] == [number, number]
        assert len({sample.unix_s for sample in samples}) == 1
    assert sampler.missed == 0


def test_where_something_begins_its_moments_begin_anew() -> None:
    clock, moments = Clock(), list[list[Sample]]()
    with Sampler([Counting()], moments.append, 1.0, clock) as sampler:
        for now_s, anew in ((100.7, True), (101.1, False), (101.6, False), (101.8, False)):
            clock.now_s = now_s
            sampler.begin_anew() if anew else sampler.rest()
        assert len(moments) == 2, "at 100.7, and a second later"


def test_it_has_no_thread_of_its_own() -> None:
    """A thread would run beside what is measured."""
    before = set(threading.enumerate())
    with Sampler([Counting()], lambda _: None) as sampler:
        sampler.now()
        assert set(threading.enumerate()) == before


def test_a_monitor_that_raises_is_noted_once_and_stops_no_one() -> None:
    moments, failing = list[list[Sample]](), Failing()
    with Sampler([failing, Counting()], moments.append) as sampler:
        sampler.now()
        sampler.now()
    assert sampler.problems == ["Failing: RuntimeError: no such thing"]
    assert failing.requested == len(moments) == 3
    assert all(len(samples) == 1 for samples in moments)


def test_it_may_be_queried_between_two_moments() -> None:
    clock, moments = Clock(), list[list[Sample]]()
    with Sampler([Counting()], moments.append, 1.0, clock) as sampler:
        clock.now_s = 100.5
        sampler.now()
        sampler.now()
        clock.now_s = 101.2
        sampler.rest()
        assert (len(moments), sampler.missed) == (3, 0)


def test_moments_without_a_rest_are_left_out_and_counted() -> None:
    clock, moments = Clock(), list[list[Sample]]()
    with Sampler([Counting()], moments.append, 1.0, clock) as sampler:
        for now_s in (101.5, 105.2, 105.9, 106.0):
            clock.now_s = now_s
            sampler.rest()
        assert (len(moments), sampler.missed) == (3, 3)


def test_what_the_receiver_raises_comes_out_and_the_monitors_end_all_the_same() -> None:
    def full(_: list[Sample]) -> None:
        raise OSError("no space left on device")

    counting = Counting()
    sampler = Sampler([counting], full)
    with pytest.raises(OSError, match="no space left"):
        sampler.stop()
    sampler.stop()
    assert counting.requested == 1


def test_its_own_cpu_time_is_reported() -> None:
    with Sampler([Counting()], lambda _: None) as sampler:
        sampler.now()
    assert sampler.cpu_s > 0
