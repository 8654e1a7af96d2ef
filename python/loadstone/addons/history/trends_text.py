"""What is said of a figure over runs: its name, its interval, and where it changed."""

import math

from loadstone.addons.history.changes import Hint
from loadstone.addons.history.trends import AT_RATE, RATIO, TrendPoint, is_answered
from loadstone.report import figure_format as fmt
from loadstone.text.english.figures import metric_text
from loadstone.text.figures import is_times, size_text, times_text
from loadstone.text.language import _
from loadstone.text.message import Message
from loadstone.text.sentences import render_message


def figure_name(metric: str) -> str:
    """What a metric is called, `ratio` too."""
    if metric == RATIO:
        return _("ratio, compared against reference")
    if is_answered(metric):
        return render_message(Message(metric))
    name = metric_text(metric)
    return _("{figure}, at the rate that was held", figure=name) if metric.startswith(AT_RATE) else name


def figure_text(metric: str, value: float | None) -> str:
    """A figure of a metric for people."""
    if value is None:
        return fmt.NONE
    if metric == RATIO or is_answered(metric):
        return f"{value:#.3g}".rstrip(".")
    return fmt.duration(value) if "_ns" in metric else fmt.rate(value)


def interval_text(metric: str, point: TrendPoint) -> str:
    """`41,200 [40,800, 41,600]`."""
    figure = point.figure
    value = figure_text(metric, figure.value)
    if figure.low is None:
        return value
    high = "∞" if figure.high is None else figure_text(metric, figure.high)
    return f"{value} [{figure_text(metric, figure.low)}, {high}]"


def hint_text(hint: Hint) -> str:
    """`changed between run 41 and 42: 6 % lower [4, 8]`, and how sure the place is."""
    said = _(
        "changed between run {before} and {after}: {change}",
        before=hint.before.number,
        after=hint.after.number,
        change=_change(hint),
    )
    if hint.earliest == hint.latest:
        return said
    return _(
        "{said}; the first changed run is one of {earliest} to {latest}",
        said=said,
        earliest=hint.earliest,
        latest=hint.latest,
    )


def differs_text(hint: Hint) -> str:
    """What of the servers differs between both runs; empty if nothing that is recorded does."""
    return "; ".join(map(fmt.sentence, hint.differs))


def _change(hint: Hint) -> str:
    """The change in per cent of the figure before: `6 % [4, 8] lower`; beyond a half `2.5 times [2.3, 2.8]`."""
    ratio, low, high = map(math.log, (hint.ratio, hint.low, hint.high))
    if is_times(ratio):
        return times_text(ratio, low, high)
    size = size_text(ratio, low, high)
    return _("{ratio} higher", ratio=size) if ratio >= 0 else _("{ratio} lower", ratio=size)
