"""What the monitors observed of a row: its parts by what they are, and their figures."""

from collections.abc import Iterator, Mapping

from loadstone import registry
from loadstone.analyse.model import Analysis, Row
from loadstone.record.facts import AvgMax
from loadstone.record.parts.part_kinds import declared
from loadstone.software.metric import STORES

Figures = Mapping[str, AvgMax]


def kinds_in(*kinds: str) -> tuple[str, ...]:
    """These kinds of parts, with every kind of store in the place of `STORES`."""
    stores = tuple(kind.name for kind in registry.PART_KINDS.values() if kind.store)
    return tuple(one for kind in kinds for one in (stores if kind == STORES else (kind,)))


def parts(row: Row, *kinds: str) -> Iterator[tuple[str, Figures]]:
    """The row's parts of these kinds, by name, in the order of the row."""
    required = kinds_in(*kinds)
    return ((part, figures) for part, figures in row.seen.items() if row.kinds.get(part) in required)


def has_application(analysis: Analysis) -> bool:
    """Whether an application, or a server whose machine matters, was under test: the machine is part of the answer."""
    rows = (row for table in analysis.tables for row in table.rows)
    return bool(analysis.environment.get("subjects")) or any(
        declared(kind).shows_machine for row in rows for kind in row.kinds.values()
    )


def average(row: Row, kind: str, metric: str) -> float | None:
    """The average of all parts of this kind added up; None where none was observed."""
    found = [figures[metric].avg for _, figures in parts(row, kind) if metric in figures]
    return sum(found) if found else None


def mean(row: Row, kind: str, metric: str) -> float | None:
    """The average over time and over the parts of this kind; None where none was observed."""
    found = [figures[metric].avg for _, figures in parts(row, kind) if metric in figures]
    return sum(found) / len(found) if found else None


def highest(row: Row, kind: str, metric: str, own: int = 0) -> float | None:
    """The maxima of all parts of this kind added up, each without `own`; None where none was observed."""
    found = [max(0.0, figures[metric].max - own) for _, figures in parts(row, kind) if metric in figures]
    return sum(found) if found else None
