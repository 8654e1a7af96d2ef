"""A log axis of lengths of time, with round ticks in the units that people read."""

from collections.abc import Sequence
from math import floor, log10
from typing import Any

import altair as alt

_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms' : "
    "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' µs' : format(datum.value, '~g') + ' ns'"
)


def ticks(lengths_ns: Sequence[float]) -> list[float]:
    """Round lengths in ns around all of `lengths_ns`: 1, 2 and 5 times powers of ten, or the powers alone."""
    low, high = min(lengths_ns), max(lengths_ns)
    steps = (1, 2, 5) if high / low < 200 else (1,)
    exponents = range(floor(log10(low)), floor(log10(high)) + 2)
    found = [float(step * 10**exponent) for exponent in exponents for step in steps]
    first = max((tick for tick in found if tick <= low), default=found[0])
    last = min((tick for tick in found if tick >= high), default=found[-1])
    return [tick for tick in found if first <= tick <= last]


def duration_scale(lengths_ns: Sequence[float]) -> alt.Scale:
    """A log scale from the tick below the shortest length to the tick above the longest."""
    round_lengths = ticks(lengths_ns)
    ends = [round_lengths[0], round_lengths[-1]]
    return alt.Scale(type="log", nice=False, domain=ends if ends[0] < ends[1] else [ends[0] / 2, ends[0] * 2])


def duration_axis(title: str, lengths_ns: Sequence[float], **more: Any) -> alt.Axis:
    """The axis of `duration_scale`; the title says that it is a log scale."""
    return alt.Axis(title=f"{title} (log scale)", labelExpr=_LABEL, values=ticks(lengths_ns), labelOverlap=True, **more)
