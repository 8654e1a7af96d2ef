"""Parts of the page: a picture as it embeds it, text with links to trials, and what stands beside a fold."""

import re
from collections import Counter
from typing import Any

from markupsafe import Markup

from loadstone.analyse.model import Analysis
from loadstone.report import format as fmt
from loadstone.report import summary, verdicts
from loadstone.report.anchors import Anchors
from loadstone.report.answers import answer_verdict
from loadstone.report.charts.chart import NOT_DRAWN, Chart
from loadstone.report.trust import different_rows


def figure(chart: Chart) -> dict[str, Any]:
    """What the page prints of a picture: its text, and the drawing as a part of the page."""
    return {
        "name": chart.name,
        "title": chart.heading,
        "caption": chart.caption,
        "two": chart.narrow is not None,
        "drawing": Markup(chart.inline()) if chart.is_drawn() else NOT_DRAWN,
    }


def linked(text: str, anchors: Anchors) -> Markup:
    """`text` with every trial's name in it as a link to the trial."""
    link = Markup('<a href="#{}">{}</a>')
    pieces = ((word, anchors.trial(word)) for word in re.split(r"([\w-]+)", fmt.plain(text)))
    return Markup("").join(link.format(anchor, word) if anchor else word for word, anchor in pieces)


def hints(analysis: Analysis) -> dict[str, str]:
    """What is in each folded part, in a few words beside its heading."""
    pairs, rows = len(list(verdicts.all_comparisons(analysis))), len(different_rows(analysis))
    answers = Counter(answer_verdict(answer.verdict) for answer in analysis.answers).most_common()
    failed = sum(bool(check.invalid or check.suspect) for check in analysis.checks)
    return {
        "comparisons": f"{_counted(pairs, 'pair')}: both sides, blocks, checks",
        "results": f"{_counted(rows, 'condition')}: rates, response times, usage",
        "conclusions": ", ".join(f"{number} {verdict}" for verdict, number in answers),
        "checks": f"{_counted(len(analysis.checks), 'check')}, {failed} of them not passed by every trial",
        "trials": f"{summary.trials(analysis)}, each with its checks",
    }


def _counted(number: int, what: str) -> str:
    return f"{fmt.count(number)} {what if number == 1 else f'{what}s'}"
