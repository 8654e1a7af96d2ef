"""Averages and maxima of the studies' tables."""

from loadstone.observe.host import HostMonitor
from loadstone.observe.sample import Sample
from loadstone.record.avg_max import VMSTAT_COLUMNS, AvgMax, avg_max, vmstat_table
from loadstone.record.window import Window


def samples(metric: str, values: list[float], part: str = "host") -> list[Sample]:
    return [Sample(100.0 + second, part, metric, value) for second, value in enumerate(values)]


def test_the_columns_are_those_of_the_host_monitor() -> None:
    assert set(VMSTAT_COLUMNS) <= set(HostMonitor.UNITS)
    header = "r b swpd free buff cache si so bi bo in cs us sy id wa st"
    assert " ".join(VMSTAT_COLUMNS) == header


def test_average_and_maximum_are_of_the_stretch_alone() -> None:
    seen = [*samples("cs", [9000, 100, 300, 500, 8000]), *samples("us", [0, 10, 20, 60, 99])]
    table = vmstat_table(Window(seen, 100.0, 103.0))
    assert table == {"cs": AvgMax(avg=300, max=500), "us": AvgMax(avg=30, max=60)}
    assert list(table) == ["cs", "us"]


def test_a_column_that_was_hardly_seen_is_left_out() -> None:
    assert vmstat_table(Window(samples("cs", [1, 2]), 100.0, 110.0)) == {}
    assert vmstat_table(Window([], 100.0, 110.0)) == {}


def test_any_part_may_be_asked_for() -> None:
    window = Window(samples("cpu_share", [0.0, 0.5, 0.7], part="redis"), 100.0, 102.0)
    found = avg_max(window, "redis", ("cpu_share", "sockets"))
    assert found == {"cpu_share": AvgMax(avg=0.6, max=0.7)}
