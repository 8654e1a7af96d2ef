"""Counters and rates of the monitors within the measure phase."""

from dataclasses import replace

import pytest

from loadstone.drivers.outcome import CpuTimes
from loadstone.drivers.slices import PartSlice, Slice
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.window import SlicedWindow, Window


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


SLICES = tuple(
    Slice(
        round=number, position=0, begin_s=number, end_s=number + 0.1, drained_s=number + 0.11, offered=1, completed=1,
        ok=1, failed=0, cpu_s=0.05, parts={"redis": PartSlice(cpu_s=0.08, main_s=0.07, main_wait_s=0.01)},
    )
    for number in range(10)
)  # fmt: skip
CPUS = {"0": CpuTimes(busy_s=0.6, idle_s=0.2, steal_s=0.2)}


def window(*samples: Sample, slices: tuple[Slice, ...] = SLICES) -> SlicedWindow:
    return SlicedWindow(samples, 100.0, slices, CPUS)


def test_time_in_the_kernel_is_that_of_the_slices_or_not_known() -> None:
    """What the monitors saw is of all conditions that took turns."""
    seen = [Sample(100, "redis", "system_s", 0.0), Sample(110, "redis", "system_s", 9.0)]
    assert window(*seen).increase("redis", "system_s") is None
    read = tuple(replace(one, parts={"redis": PartSlice(cpu_s=0.08, system_s=0.05)}) for one in SLICES)
    assert window(*seen, slices=read).increase("redis", "system_s") == pytest.approx(0.5)


def test_its_length_is_that_of_the_slices() -> None:
    assert window().length_s == pytest.approx(1.0)
    assert (window().start_s, window().end_s) == (100.0, pytest.approx(109.1))


def test_cpu_of_a_part_is_that_of_its_slices_whatever_the_monitors_saw() -> None:
    found = window(Sample(100, "redis", "cpu_s", 0.0), Sample(110, "redis", "cpu_s", 9.0))
    assert found.increase("redis", "cpu_s") == pytest.approx(0.8)
    assert found.main_thread_s("redis") == pytest.approx(0.7)
    assert found.increase("redis", "main_thread_wait_s") == pytest.approx(0.1)
    assert found.parts("cpu_s") == ["redis"]


def test_the_share_of_a_part_is_of_its_slices_and_not_of_the_time_in_which_it_stood_still() -> None:
    seen = [Sample(100 + at, "redis", "cpu_share", 0.08) for at in range(11)]
    busy = replace(SLICES[3], end_s=4.2, parts={"redis": PartSlice(cpu_s=1.14, main_s=1.0)})
    found = window(*seen, slices=(*SLICES[:3], busy, *SLICES[4:]))
    assert found.mean("redis", "cpu_share") == pytest.approx((9 * 0.08 + 1.14) / 2.1)
    assert found.mean("redis", "main_thread_share") == pytest.approx((9 * 0.07 + 1.0) / 2.1)
    assert found.highest("redis", "cpu_share") == pytest.approx((3 * 0.08 + 1.14) / 1.5), "of the busiest second"


def test_rates_of_a_part_are_not_known_where_it_stood_still_and_gauges_are() -> None:
    seen = [
        sample
        for at in range(11)
        for sample in (
            Sample(100 + at, "redis", "instantaneous_ops_per_sec", 50.0),
            Sample(100 + at, "redis", "voluntary_per_s", 50.0),
            Sample(100 + at, "host", "cs", 50.0),
            Sample(100 + at, "nest", "cache_hit_share", 0.8),
        )
    ]
    apart = window(*seen)
    assert [apart.mean("redis", "voluntary_per_s"), apart.highest("redis", "voluntary_per_s")] == [None, None]
    assert (apart.mean("host", "cs"), apart.highest("host", "cs")) == (50.0, 50.0)
    assert apart.mean("nest", "cache_hit_share") == pytest.approx(0.8), "of its reads, and it reads in its slices alone"
    alone = window(*seen, slices=tuple(replace(one, end_s=one.begin_s + 0.95) for one in SLICES))
    assert alone.mean("redis", "voluntary_per_s") == 50.0


def test_where_the_driver_read_nothing_the_monitors_stand() -> None:
    gone = (replace(SLICES[0], parts={"redis": PartSlice(cpu_s=None)}), *SLICES[1:])
    found = window(Sample(100, "redis", "cpu_s", 0.0), Sample(110, "redis", "cpu_s", 5.0), slices=gone)
    assert found.increase("redis", "cpu_s") == pytest.approx(0.5), "half of a core, over one second"
    assert found.main_thread_s("redis") is None
    assert found.increase("redis", "keys") is None


def test_cpus_are_what_they_did_in_the_slices() -> None:
    assert window().mean("cpu0", "busy") == pytest.approx(80)
    assert window().mean("cpu0", "stolen") == pytest.approx(20)
    assert window().highest("cpu0", "busy") == pytest.approx(80)
    assert window().mean("cpu1", "busy") is None


def test_waiting_is_of_the_slices_where_a_part_has_no_load_between_them() -> None:
    """A tenth of the time was measured: a lock that was waited for in .08 of the time was so in .8 of the slices."""
    seen = [
        sample
        for at in range(11)
        for sample in (Sample(100 + at, "app", "lock_wait_share", 0.08), Sample(100 + at, "app", "lock_waiters", 0.4))
    ]

    def slices(paused_cpu_s: float | None) -> tuple[Slice, ...]:
        parts = {"app": PartSlice(cpu_s=0.01, paused_cpu_s=paused_cpu_s)}
        return tuple(replace(one, parts=parts) for one in SLICES)

    found = window(*seen, slices=slices(0.001))
    assert found.mean("app", "lock_wait_share") == pytest.approx(0.08 * 9.1)
    assert found.mean("app", "lock_waiters") == pytest.approx(0.4 * 9.1)
    assert window(*seen, slices=slices(None)).mean("app", "lock_waiters") is None, "other drives use it, too"
