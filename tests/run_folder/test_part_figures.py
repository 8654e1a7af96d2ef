"""Averages and maxima of the studies' tables."""

from types import ModuleType

import pytest

from loadstone.drivers.outcome import DriveRecord, Stall
from loadstone.monitors import catalogue
from loadstone.monitors.host.monitor import HostMonitor
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.facts import AvgMax
from loadstone.run_folder.part_figures import KEPT, averages_of, avg_max, stalls_of
from loadstone.run_folder.window import Window


def samples(metric: str, values: list[float], part: str = "host") -> list[Sample]:
    return [Sample(100.0 + second, part, metric, value) for second, value in enumerate(values)]


def test_the_columns_are_those_of_the_host_monitor() -> None:
    columns = [metric.name for metric in catalogue.METRICS.values() if metric.part == "host" and metric.kept]
    assert set(columns) <= set(HostMonitor.METRICS)
    header = "r b swpd free buff cache si so bi bo in cs us sy id wa st"
    assert " ".join(columns) == header


def test_average_and_maximum_are_of_the_stretch_alone() -> None:
    observed = [*samples("cs", [9000, 100, 300, 500, 8000]), *samples("us", [0, 10, 20, 60, 99])]
    table = averages_of(Window(observed, 100.0, 103.0))["host"]
    assert table == {"cs": AvgMax(avg=300, max=500), "us": AvgMax(avg=30, max=60)}
    assert list(table) == ["cs", "us"]


def test_a_column_that_was_hardly_observed_is_left_out() -> None:
    assert averages_of(Window(samples("cs", [1, 2]), 100.0, 110.0)) == {}
    assert averages_of(Window([], 100.0, 110.0)) == {}


def test_any_part_may_be_requested() -> None:
    window = Window(samples("cpu_share", [0.0, 0.5, 0.7], part="redis"), 100.0, 102.0)
    found = avg_max(window, "redis", ("cpu_share", "sockets"))
    assert found == {"cpu_share": AvgMax(avg=0.6, max=0.7)}


def test_what_is_kept_has_an_average() -> None:
    assert [metric for metric in KEPT if catalogue.METRICS[metric].kind == "counter"] == [], "what grows has no average"
    assert {"cpu_share", "connected_clients", "threads_connected", "heap_used_bytes", "cs", "others"} <= set(KEPT)


def test_no_metric_means_two_things() -> None:
    assert len(set(KEPT)) == len(KEPT)


def test_everything_that_was_observed_of_every_part_is_kept_to_six_digits() -> None:
    observed = [
        *samples("cs", [1, 100, 300]),
        *samples("cpu_share", [0, 1 / 3, 2 / 3], part="app-1"),
        *samples("cpu_s", [0, 1, 2], part="app-1"),
        *samples("huge_pages_always", [1, 1, 1], part="kernel"),
        *samples("hikari_pending", [0, 1234567.8, 1234567.8], part="app-1"),
    ]
    assert averages_of(Window(observed, 100.0, 102.0)) == {
        "app-1": {"cpu_share": AvgMax(avg=0.5, max=0.666667), "hikari_pending": AvgMax(avg=1234570, max=1234570)},
        "host": {"cs": AvgMax(avg=200, max=300)},
    }
    assert averages_of(Window([], 100.0, 102.0)) == {}


BEGIN_S = 1000.0
KINDS = {"redis": "redis", "app": "subject"}


@pytest.fixture
def drive(synthetic: ModuleType) -> DriveRecord:
    """Nothing came from 2 s to 5 s; and the driver stood still, which is none of a server's."""
    stalls = (Stall(of="server", begin_s=2.0, end_s=5.0, waiting=9), Stall(of="driver", begin_s=6, end_s=7, waiting=9))
    trial = synthetic.make_trial()
    found: DriveRecord = trial.facts.drive
    return found.model_copy(update={"stalls": stalls, "started_unix_ns": int(BEGIN_S * 1e9)})


def _samples(part: str, share: float, stopped: bool = False) -> list[Sample]:
    """Each second: CPU at a share of one core from 2 s to 5 s, and all of it at other times."""
    cpu_s, found = 0.0, []
    for second in range(9):
        unix_s = BEGIN_S + second
        found.append(Sample(unix_s, part, "cpu_s", cpu_s))
        found.append(Sample(unix_s, part, "stopped", float(stopped and 2 < second < 5)))
        cpu_s += share if 2 <= second < 5 else 1.0
    return found


@pytest.mark.parametrize(
    ("share", "stopped", "state"),
    [(0.0, True, "stopped"), (0.0, False, "idle"), (0.98, False, "busy"), (0.5, False, None)],
)
def test_the_state_of_the_process_is_what_it_did_in_that_time(
    drive: DriveRecord, share: float, stopped: bool, state: str | None
) -> None:
    (found,) = stalls_of(drive, _samples("redis", share, stopped), {"redis": "redis"}, "redis")
    assert (found.begin_s, found.length_s, found.waiting) == (2.0, 3.0, 9)
    assert found.state == state
    assert found.part == (None if state is None else "redis")


@pytest.mark.parametrize(("share", "ready", "state"), [(0.1, 0.8, "no_cpu"), (0.1, 0.1, "idle"), (0.9, 0.1, "busy")])
def test_what_was_ready_to_run_and_got_no_cpu_did_not_wait_for_its_disk(
    drive: DriveRecord, share: float, ready: float, state: str
) -> None:
    waits = [Sample(BEGIN_S + n, "redis", "main_thread_wait_s", ready * max(0, min(n, 5) - 2)) for n in range(9)]
    (found,) = stalls_of(drive, [*_samples("redis", share), *waits], {"redis": "redis"}, "redis")
    assert (found.part, found.state) == ("redis", state)


def test_behind_an_application_the_one_that_was_stopped_is_named(drive: DriveRecord) -> None:
    samples = [*_samples("app", 0.0), *_samples("redis", 0.0, stopped=True)]
    (found,) = stalls_of(drive, samples, KINDS, "app")
    assert (found.part, found.state) == ("redis", "stopped")
    (found,) = stalls_of(drive, [*_samples("app", 0.0), *_samples("redis", 0.0)], KINDS, "app")
    assert (found.part, found.state) == ("app", "idle"), "both waited: the one that was asked"
    (found,) = stalls_of(drive, [], KINDS, "app")
    assert (found.part, found.state) == (None, None)
