"""Averages and maxima of the studies' tables."""

from types import ModuleType

import pytest

from loadstone.observe.sample import Sample
from loadstone.record.avg_max import JVM, MARIADB, PROCESS, REDIS, SEEN, VMSTAT_COLUMNS, avg_max, seen_of, vmstat_table
from loadstone.record.facts import AvgMax
from loadstone.record.window import Window
from loadstone.software.host import monitor as host
from loadstone.software.host import processes
from loadstone.software.host.monitor import HostMonitor
from loadstone.software.jvm import monitor as jvm
from loadstone.software.mariadb import monitor as mariadb
from loadstone.software.redis import monitor as redis_monitor


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


@pytest.mark.parametrize(
    ("monitor", "metrics"),
    [(processes, PROCESS), (redis_monitor, REDIS), (mariadb, MARIADB), (jvm, JVM), (host, VMSTAT_COLUMNS)],
)
def test_every_metric_that_is_kept_is_one_of_its_monitor(monitor: ModuleType, metrics: tuple[str, ...]) -> None:
    assert [metric for metric in metrics if metric not in monitor.UNITS] == []
    assert [metric for metric in metrics if "since" in monitor.UNITS[metric]] == [], "what grows has no average"


def test_no_metric_means_two_things() -> None:
    assert len(set(SEEN)) == len(SEEN)


def test_everything_that_was_seen_of_every_part_is_kept_to_six_digits() -> None:
    seen = [
        *samples("cs", [1, 100, 300]),
        *samples("cpu_share", [0, 1 / 3, 2 / 3], part="app-1"),
        *samples("cpu_s", [0, 1, 2], part="app-1"),
        *samples("huge_pages_always", [1, 1, 1], part="kernel"),
        *samples("hikari_pending", [0, 1234567.8, 1234567.8], part="app-1"),
    ]
    assert seen_of(Window(seen, 100.0, 102.0)) == {
        "app-1": {"cpu_share": AvgMax(avg=0.5, max=0.666667), "hikari_pending": AvgMax(avg=1234570, max=1234570)},
        "host": {"cs": AvgMax(avg=200, max=300)},
    }
    assert seen_of(Window([], 100.0, 102.0)) == {}
