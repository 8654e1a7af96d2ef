"""The sampler's schedule and its patience with monitors."""

import threading
import time
from collections.abc import Callable, Iterable

import pytest

from loadstone.observe.sample import Sample
from loadstone.observe.sampler import Sampler
from loadstone.software.metric import Metric, by_name


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


class SlowOnce(Counting):
    def sample(self, unix_s: float) -> Iterable[Sample]:
        if self.requested == 0:
            time.sleep(0.2)
        return super().sample(unix_s)


class Moments:
    """Where samples go; `enough` is set after a number of them."""

    def __init__(self, required: int) -> None:
        self.all: list[list[Sample]] = []
        self.required = required
        self.enough = threading.Event()

    def __call__(self, samples: list[Sample]) -> None:
        self.all.append(samples)
        if len(self.all) >= self.required:
            self.enough.set()


def wait_until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.005)


def test_all_monitors_are_queried_at_the_same_moments_and_once_more_at_the_end() -> None:
    moments = Moments(3)
    with Sampler([Counting(), Counting()], moments, interval_s=0.02):
        assert moments.enough.wait(20)
    assert len(moments.all) >= 4
    for number, samples in enumerate(moments.all, 1):
        assert [sample.value for sample in samples] == [number, number]
        assert len({sample.unix_s for sample in samples}) == 1


def test_a_monitor_that_raises_is_noted_once_and_stops_no_one() -> None:
    moments, failing = Moments(3), Failing()
    with Sampler([failing, Counting()], moments, interval_s=0.02) as sampler:
        assert moments.enough.wait(20)
    assert sampler.problems == ["Failing: RuntimeError: no such thing"]
    assert failing.requested == len(moments.all)
    assert all(len(samples) == 1 for samples in moments.all)


def test_it_may_be_queried_between_two_moments() -> None:
    moments = Moments(2)
    with Sampler([Counting()], moments, interval_s=600) as sampler:
        sampler.now()
        wait_until(lambda: len(moments.all) == 1)
        sampler.now()
        assert moments.enough.wait(20)
        assert sampler.missed == 0
    assert len(moments.all) == 3


def test_moments_that_a_slow_monitor_took_are_left_out_and_counted() -> None:
    moments = Moments(3)
    with Sampler([SlowOnce()], moments, interval_s=0.05) as sampler:
        assert moments.enough.wait(20)
    assert sampler.missed >= 3
    first, second = moments.all[0][0].unix_s, moments.all[1][0].unix_s
    assert second - first >= 0.2


def test_what_the_receiver_raises_comes_out_at_the_end() -> None:
    def full(_: list[Sample]) -> None:
        raise OSError("no space left on device")

    sampler = Sampler([Counting()], full, interval_s=0.02)
    sampler.start()
    with pytest.raises(OSError, match="no space left"):
        sampler.stop()
    sampler.stop()


def test_stopping_before_starting_is_harmless() -> None:
    Sampler([], lambda _: None).stop()


def test_its_own_cpu_time_is_reported() -> None:
    moments = Moments(2)
    with Sampler([Counting()], moments, interval_s=0.02) as sampler:
        assert moments.enough.wait(20)
    assert sampler.cpu_s > 0
