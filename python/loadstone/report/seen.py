"""What the monitors saw of a row: which part is a store, which the subject, and their figures."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from loadstone.analyse.model import Analysis, Row
from loadstone.record.facts import DRIVER, OWN, AvgMax

Figures = Mapping[str, AvgMax]
Kind = Literal["host", "driver", "redis", "mariadb", "subject"]
STORES: tuple[Kind, ...] = ("redis", "mariadb")

HOST = "host"
_OF_REDIS = frozenset({"connected_clients", "used_memory", "total_commands_processed"})
_OF_MARIADB = frozenset({"threads_connected", "buffer_pool_data_bytes", "rows_read_per_s"})
_OF_A_SUBJECT = frozenset({"cpu_share", "heap_used_bytes"})
_REST = re.compile(rf"{OWN}|kernel|cpu\d+")
"""Parts that are not worth a line: settings of the kernel, single CPUs."""


def kind_of(part: str, figures: Figures) -> Kind | None:
    """What a part is, by what its monitors tell; None where it is nothing of its own."""
    if part == HOST:
        return "host"
    if part == DRIVER:
        return "driver"
    if figures.keys() & _OF_REDIS:
        return "redis"
    if figures.keys() & _OF_MARIADB:
        return "mariadb"
    if _REST.fullmatch(part) or not figures.keys() & _OF_A_SUBJECT:
        return None
    return "subject"


def parts(row: Row, *kinds: Kind) -> Iterator[tuple[str, Figures]]:
    """The row's parts of these kinds, by name."""
    return ((part, figures) for part, figures in row.seen.items() if kind_of(part, figures) in kinds)


def has_application(analysis: Analysis) -> bool:
    """Whether an application or a MariaDB was under test: then the machine is part of the answer."""
    rows = (row for table in analysis.tables for row in table.rows)
    return bool(analysis.environment.get("subjects")) or any(
        True for row in rows for _ in parts(row, "subject", "mariadb")
    )


def average(row: Row, kind: Kind, metric: str) -> float | None:
    """The average of all parts of this kind added up; None where none was observed."""
    seen = [figures[metric].avg for _, figures in parts(row, kind) if metric in figures]
    return sum(seen) if seen else None


def highest(row: Row, kind: Kind, metric: str) -> float | None:
    """The maxima of all parts of this kind added up; None where none was observed."""
    seen = [figures[metric].max for _, figures in parts(row, kind) if metric in figures]
    return sum(seen) if seen else None
