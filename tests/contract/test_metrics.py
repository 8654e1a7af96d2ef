"""Every metric is declared once, in the file of its software, and a monitor reports it."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from tests.scripts import checked

from loadstone.monitors import catalogue
from loadstone.monitors.host.generator import GeneratorMonitor
from loadstone.monitors.host.monitor import HostMonitor
from loadstone.monitors.host.others import InterferenceMonitor
from loadstone.monitors.host.processes import ProcessMonitor
from loadstone.monitors.jvm import JvmMonitor
from loadstone.monitors.metric import Metric, Series, by_name
from loadstone.monitors.monitor import Monitor
from loadstone.monitors.node import NodeMonitor
from loadstone.servers.mariadb.monitor import MariaDbMonitor
from loadstone.servers.memcached.monitor import MemcachedMonitor
from loadstone.servers.postgresql.monitor import PostgresqlMonitor
from loadstone.servers.redis.monitor import RedisMonitor

ROOT = Path(__file__).parents[2]
DECLARED = sorted((ROOT / "python" / "loadstone" / "monitors" / "metrics").glob("[a-z]*.py"))


class OnOtherMachines(ProcessMonitor):
    """What a source of load on other machines tells of processes there, beside what is told of those here."""

    METRICS = by_name(map(catalogue.METRICS.__getitem__, ("machine_number", "machine_cpus")))


MONITORS: tuple[type[Monitor], ...] = (
    *(HostMonitor, InterferenceMonitor, ProcessMonitor, OnOtherMachines, GeneratorMonitor),
    *(MariaDbMonitor, PostgresqlMonitor, RedisMonitor, MemcachedMonitor, JvmMonitor, NodeMonitor),
)
METRICS = list(catalogue.METRICS.values())
REPORTED = {name: metric for monitor in MONITORS for name, metric in monitor.METRICS.items()}
"""By all monitors. That each reports just these is shown by its own test, on the real thing."""
ALL_KINDS = set(catalogue.PART_KINDS)


def test_what_monitors_report_is_declared_and_what_is_declared_is_reported() -> None:
    assert dict(catalogue.METRICS) == REPORTED


def test_everything_with_a_monitor_is_among_them() -> None:
    assert {path.stem for path in DECLARED} == {
        one.__module__.split(".")[2] for one in MONITORS if one is not OnOtherMachines
    }


def test_one_name_is_declared_once() -> None:
    rooms = [import_module(f"loadstone.monitors.metrics.{path.stem}") for path in DECLARED]
    for room in rooms:
        names = [metric.name for metric in room.METRICS]
        assert len(names) == len(set(names))
        assert all(catalogue.METRICS[metric.name] is metric for metric in room.METRICS)


@pytest.mark.parametrize("path", DECLARED, ids=lambda path: path.stem)
def test_declarations_are_data_alone(path: Path) -> None:
    imported = set(re.findall(r"^(?:from|import) ([\w.]+)", path.read_text(), re.M))
    assert imported <= {"loadstone.monitors.metric", "loadstone.monitors.part_kind"}


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_declaration_is_complete(metric: Metric) -> None:
    assert metric.unit
    assert metric.help
    assert isinstance(metric.prometheus, Series) or metric.prometheus
    if metric.column is not None:
        assert metric.kept
        assert metric.column.help.endswith(".")
        assert metric.kind != "counter", "what grows has no average"


def test_the_columns_of_a_table_have_places_of_their_own() -> None:
    columns = {metric.column for metric in METRICS if metric.column is not None}
    assert len({(column.table, column.place) for column in columns}) == len(columns)
    assert len({(column.table, column.title) for column in columns}) == len(columns)


def test_what_kinds_and_columns_of_studies_refer_to_is_declared() -> None:
    named = {column.metric for column in catalogue.STUDY_COLUMNS}
    for kind in catalogue.PART_KINDS.values():
        named |= {*kind.cpu_counters, *kind.main_thread_counters, *kind.disk_rates}
        named |= {name for name in (kind.connections, kind.fsyncs, kind.disk_file) if name is not None}
    for pool in catalogue.POOLS.values():
        named |= {pool.active, pool.idle, pool.pending}
    assert named <= set(catalogue.METRICS)
    assert {column.kind for column in catalogue.STUDY_COLUMNS} <= ALL_KINDS
    tables = {metric.column.table for metric in METRICS if metric.column is not None}
    assert {kind for table in tables for kind in table.kinds} <= {*ALL_KINDS, "stores"}


def test_the_page_of_the_metrics_is_current() -> None:
    assert checked("metrics") == (0, "")
