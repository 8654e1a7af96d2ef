"""What was observed within slices: CPU by the driver's clocks, all else as the monitors have it."""

import pytest

from loadstone.drive.outcome import CpuTimes, PartSlice, Slice
from loadstone.observe.sample import Sample
from loadstone.record.sliced_window import SlicedWindow

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


def test_its_length_is_that_of_the_slices() -> None:
    assert window().length_s == pytest.approx(1.0)
    assert (window().start_s, window().end_s) == (100.0, pytest.approx(109.1))


def test_cpu_of_a_part_is_that_of_its_slices_whatever_the_monitors_saw() -> None:
    found = window(Sample(100, "redis", "cpu_s", 0.0), Sample(110, "redis", "cpu_s", 9.0))
    assert found.increase("redis", "cpu_s") == pytest.approx(0.8)
    assert found.main_thread_s("redis") == pytest.approx(0.7)
    assert found.increase("redis", "main_thread_wait_s") == pytest.approx(0.1)
    assert found.parts("cpu_s") == ["redis"]


def test_where_the_driver_read_nothing_the_monitors_stand() -> None:
    gone = (SLICES[0].model_copy(update={"parts": {"redis": PartSlice(cpu_s=None)}}), *SLICES[1:])
    found = window(Sample(100, "redis", "cpu_s", 0.0), Sample(110, "redis", "cpu_s", 5.0), slices=gone)
    assert found.increase("redis", "cpu_s") == pytest.approx(0.5), "half of a core, over one second"
    assert found.main_thread_s("redis") is None
    assert found.increase("redis", "keys") is None


def test_cpus_are_what_they_did_in_the_slices() -> None:
    assert window().mean("cpu0", "busy") == pytest.approx(80)
    assert window().mean("cpu0", "stolen") == pytest.approx(20)
    assert window().highest("cpu0", "busy") == pytest.approx(80)
    assert window().mean("cpu1", "busy") is None
