"""Axes and scales of the pictures, with the ticks of `theme`."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from loadstone.report.charts.theme import duration_ticks, ticks
from loadstone.text.figures import log_percent
from loadstone.text.language import _

_DURATION_LABEL = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : "
    "datum.value >= 1e6 ? format(datum.value / 1e6, '~g') + ' ms' : "
    "datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' µs' : format(datum.value, '~g') + ' ns'"
)


def colour_scale(palette: Mapping[str, str], texts: Sequence[str]) -> alt.Scale:
    """The colours that these levels, as text, have in the whole report."""
    return alt.Scale(domain=list(texts), range=[palette[text] for text in texts])


def percent_axis(title: str | list[str] | None, low: float, high: float, most: int, **more: Any) -> alt.Axis:
    """The axis between two log ratios; its labels are `-20 %`, `0`, `+50 %`."""
    values = ticks(low, high, most)
    cases = "".join(f"abs(datum.value - {tick!r}) < 1e-9 ? {json.dumps(_label(tick))} : " for tick in values)
    return alt.Axis(title=title, values=values, labelExpr=f"{cases}''", labelOverlap=True, **more)


def _label(tick: float) -> str:
    value = log_percent(tick)
    return f"{value:+,.4g} %" if abs(value) > 1e-9 else "0 %"


def duration_scale(lengths_ns: Sequence[float]) -> alt.Scale:
    """A log scale from the tick below the shortest length to the tick above the longest."""
    round_lengths = duration_ticks(lengths_ns)
    ends = [round_lengths[0], round_lengths[-1]]
    return alt.Scale(type="log", nice=False, domain=ends if ends[0] < ends[1] else [ends[0] / 2, ends[0] * 2])


def duration_axis(title: str, lengths_ns: Sequence[float], **more: Any) -> alt.Axis:
    """The axis of `duration_scale`; the title says that it is a log scale."""
    return alt.Axis(
        title=title + _(" (log scale)"),
        labelExpr=_DURATION_LABEL,
        values=duration_ticks(lengths_ns),
        labelOverlap=True,
        **more,
    )


def length_axis(title: str, count: int) -> alt.Axis:
    """A linear axis of nanoseconds from 0, about `count` ticks."""
    label = f"datum.value === 0 ? '0' : {_DURATION_LABEL}"
    return alt.Axis(title=title, labelExpr=label, tickCount=count, labelOverlap=True)
