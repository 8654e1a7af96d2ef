"""An axis of log ratios that is labelled in per cent: as far to double as to half."""

import json
from collections.abc import Iterable
from math import ceil, floor, isfinite, log1p, log10
from statistics import median
from typing import Any

import altair as alt

from loadstone.percents import log_percent

_WIDE = (
    -99, -98, -95, -90, -80, -75, -67, -50, -33, -20, -10, -5, -2, 0, 2, 5, 10, 20, 50, 100, 200, 300, 500, 1000, 2000,
    5000, 10_000, 20_000, 50_000, 100_000,
)  # fmt: skip
"""Round ticks in per cent for a range too wide for equal steps."""
_EVEN_UP_TO = 0.7
"""A range of log ratios up to which ticks stand in equal steps of per cent."""
_OUTSIZE = 5.0
"""An interval's end so many times as far off as the usual one is cut, so that it does not flatten the others."""


def reach(lengths: Iterable[float], least: float) -> float:
    """How far an axis must go to show all `lengths` (log ratios) but the outsize ones; `least` at least."""
    finite = sorted(length for length in lengths if isfinite(length))
    if not finite:
        return least
    usual = max(median(finite), least)
    return max([least, *(length for length in finite if length <= _OUTSIZE * usual)])


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most about `most` log ratios between `low` and `high` that are round in per cent; 0 first of all."""
    if high - low > _EVEN_UP_TO:
        inside = [log1p(value / 100) for value in _WIDE if low <= log1p(value / 100) <= high]
        kept: list[float] = []
        for tick in sorted(inside, key=lambda tick: (abs(tick) > 1e-9, -_roundness(tick))):
            if all(abs(tick - other) >= (high - low) / most for other in kept):
                kept.append(tick)
        return sorted(kept)
    first, last = log_percent(low), log_percent(high)
    rough = (last - first) / most
    size: float = 10 ** floor(log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough)
    return [log1p(number * step / 100) for number in range(ceil(first / step), floor(last / step) + 1)]


def _roundness(tick: float) -> int:
    """How gladly a reader meets a number: hundreds before fifties before tens."""
    value = round(abs(log_percent(tick)))
    return sum(value % step == 0 for step in (10, 50, 100, 1000))


def percent_axis(title: str | list[str] | None, low: float, high: float, most: int, **more: Any) -> alt.Axis:
    """The axis between two log ratios; its labels are `-20 %`, `0`, `+50 %`."""
    values = ticks(low, high, most)
    cases = "".join(f"abs(datum.value - {tick!r}) < 1e-9 ? {json.dumps(_label(tick))} : " for tick in values)
    return alt.Axis(title=title, values=values, labelExpr=f"{cases}''", labelOverlap=True, **more)


def _label(tick: float) -> str:
    value = log_percent(tick)
    return f"{value:+,.4g} %" if abs(value) > 1e-9 else "0 %"
