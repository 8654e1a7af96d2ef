"""What the rate of a table is called: RPS are correct replies, TPS all completions, as the studies have them."""

from collections.abc import Callable
from dataclasses import dataclass

from loadstone.analyse.model import Analysis, ResultTable, Row, TimelinePoint
from loadstone.report.tables.study_columns import RATES


@dataclass(frozen=True)
class Rate:
    """A rate, and how it is read off a row, an interval and the original's figures."""

    unit: str
    title: str
    of_row: Callable[[Row], float | None]
    of_point: Callable[[TimelinePoint], float]
    of_original: Callable[[Row], float | None]
    of_interval: Callable[[Row], tuple[float, float] | None]


def _published_tps(row: Row) -> float | None:
    figures = row.published_columns
    return next((figures[key] for key in RATES if key in figures), row.published)


RPS = Rate(
    "RPS", "Requests a second", lambda row: row.goodput_per_s, lambda point: point.goodput_per_s,
    lambda row: row.published, lambda row: row.goodput_interval,
)  # fmt: skip
TPS = Rate(
    "TPS", "Transactions a second", lambda row: row.throughput_per_s, lambda point: point.throughput_per_s,
    _published_tps, lambda row: row.throughput_interval,
)  # fmt: skip


def rate_of(table: ResultTable) -> Rate:
    """The rate that the table's rows are ranked by."""
    return TPS if set(RATES) & set(table.columns) else RPS


def rate_of_run(analysis: Analysis) -> Rate:
    """The rate of the run as a whole: TPS as soon as one of its tables prints it."""
    return TPS if any(rate_of(table) is TPS for table in analysis.tables) else RPS


def goodput_name(analysis: Analysis) -> str:
    """What the correct replies of a second are called beside the run's own rate."""
    return "goodput" if rate_of_run(analysis) is TPS else RPS.unit
