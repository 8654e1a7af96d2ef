"""The run second by second: rate and P99 above, CPU of each part below, on one time axis."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import groupby
from math import ceil
from statistics import fmean
from typing import Any

import altair as alt

from loadstone.analyse.model import Analysis, TimelinePoint
from loadstone.report import format as fmt
from loadstone.report.charts import theme
from loadstone.report.charts.chart import Chart, make
from loadstone.report.charts.latency import DURATION_LABEL

Values = list[dict[str, Any]]

_POINTS_MAX = 900
"""More seconds than this are averaged, so that a long run still makes a picture of one screen."""
_WIDTH = 780


def timeline_chart(analysis: Analysis) -> Chart | None:
    """The time line of the whole run; None without samples."""
    if not analysis.timeline:
        return None
    step = ceil(len(analysis.timeline) / _POINTS_MAX)
    start = analysis.timeline[0].unix_s
    seconds = [_merged(points, start) for points in _stretches(analysis.timeline, step)]
    data = alt.InlineData(values=seconds)
    trials = alt.InlineData(values=_trials(analysis, start))
    panels = [_rates(data, trials), _latencies(data, trials)]
    cpu = [
        {"min": point["min"], "trial": point["trial"], "phase": point["phase"], "part": fmt.plain(part), "share": share}
        for point in seconds
        for part, share in point["cpu"].items()
    ]
    if cpu:
        panels.append(_cpu(cpu, trials))
    panels[-1].encoding.x.axis = alt.Axis(title="minutes since the start", tickCount=10)
    return make(
        "timeline",
        "The run, second by second",
        _caption(step, bool(cpu)),
        f"Requests a second, P99 and CPU of each part over {fmt.seconds(analysis.timeline[-1].unix_s - start)} "
        f"and {len(_trials(analysis, start))} trials.",
        alt.vconcat(*panels, spacing=18).resolve_scale(x="shared", color="independent"),
    )
