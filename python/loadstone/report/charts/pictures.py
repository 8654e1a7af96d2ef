"""The pictures of a report: what `chart_list` makes, or none where `loadstone[charts]` is not installed."""

from typing import TYPE_CHECKING

from loadstone.machine.extras import MEGABYTES, lacks
from loadstone.text.language import _

if TYPE_CHECKING:  # it takes time to load, and what draws may be missing
    from collections.abc import Sequence

    from loadstone.judge.analysis.analysis import Analysis
    from loadstone.report.charts.chart import Chart
    from loadstone.report.document import Picture

NOT_DRAWN = "This picture could not be drawn."


def pictures_of(analysis: "Analysis") -> "list[Chart]":
    """See `chart_list.charts_of`; empty where what draws is not installed."""
    if lacks("charts"):
        return []
    from loadstone.report.charts.chart_list import charts_of

    return charts_of(analysis)


def chart_of(charts: "Sequence[Chart]", picture: "Picture") -> "Chart | None":
    """The chart that a block of the report shows; None where there are no data for it."""
    return next(
        (one for one in charts if one.kind == picture.kind and picture.of in ("", one.table or one.family)), None
    )


def without_pictures() -> str:
    """For the reader of a report: why it has no pictures, and what helps; empty where what draws is installed."""
    if not lacks("charts"):
        return ""
    return _(
        "This report has no charts. They need {megabytes} MB more: {command}, and then: {again}",
        megabytes=MEGABYTES["charts"],
        command="pip install 'loadstone[charts]'",
        again="loadstone report RUN",
    )
