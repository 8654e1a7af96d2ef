"""What is said of a figure over runs: its name, its interval, and where it changed."""

import math

from loadstone.analyse.changes import Hint
from loadstone.analyse.over_runs import AT_RATE, RATIO, Point
from loadstone.language import _
from loadstone.percents import decimal, decimals_of, ratio_text
from loadstone.report import format as fmt
from loadstone.report.text.english.figures import metric_text


def figure_name(metric: str) -> str:
    """What a metric is called, `ratio` too."""
    if metric == RATIO:
        return _("ratio, compared against reference")
    name = metric_text(metric)
    return _("{figure}, at the rate that was held", figure=name) if metric.startswith(AT_RATE) else name


def figure_text(metric: str, value: float | None) -> str:
    """A figure of a metric for people."""
    if value is None:
        return fmt.NONE
    if metric == RATIO:
        return f"{value:.3g}"
    return fmt.duration(value) if "_ns" in metric else fmt.rate(value)


def interval_text(metric: str, point: Point) -> str:
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
    if hint.ratio >= 1:
        return _("{ratio} higher", ratio=ratio_text(*map(math.log, (hint.ratio, hint.low, hint.high))))
    less = [100 * (1 - one) for one in (hint.ratio, hint.high, hint.low)]
    digits = decimals_of(less[1:])
    value, low, high = (decimal(one, digits) for one in less)
    return _("{ratio} lower", ratio=f"{value} % [{low}, {high}]")
