"""Figures of a row with their intervals and bounds, in words."""

from loadstone.analyse.model import Row
from loadstone.judge.metrics import figure_words, is_rate
from loadstone.judge.verdict import UNBOUNDED
from loadstone.percents import up_to


def interval(row: Row, metric: str) -> tuple[float, float] | None:
    """The 95 % interval of a row's figure, where it has one: of goodput and throughput."""
    known = {"goodput_per_s": row.goodput_interval, "throughput_per_s": row.throughput_interval}
    return known.get(metric)


def range_words(row: Row, metric: str) -> str:
    """That interval as it stands behind the figure: ` [17,900, 18,900]`; nothing where there is none."""
    known = interval(row, metric)
    return "" if known is None else f" [{figure_words(known[0], metric)}, {figure_words(known[1], metric)}]"


def bound_words(row: Row, metric: str) -> str:
    """How much higher a rate may be at most, behind it: ` (up to +4 %)`; nothing where it is small or not known."""
    if not is_rate(metric) or row.bound is None or row.bound.round_trip:
        return ""
    said = up_to(row.bound.total)
    return " (no upper bound)" if row.bound.total >= UNBOUNDED else f" (up to {said})" if said else ""
