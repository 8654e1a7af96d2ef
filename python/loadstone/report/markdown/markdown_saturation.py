"""Saturations in the Markdown report."""

from collections.abc import Iterator, Sequence

from loadstone.analyse.model import Analysis
from loadstone.analyse.saturation.saturation_answer import SaturationAnswer
from loadstone.report import saturation_view as view
from loadstone.report.charts.chart import Chart
from loadstone.report.markdown.markdown_text import picture, text


def saturation_lines(analysis: Analysis, charts: Sequence[Chart]) -> Iterator[str]:
    """For each condition the answer, its picture, and the levels that it rests on."""
    if analysis.saturations:
        yield from (f"## {view.heading()}", "")
    for answer in analysis.saturations:
        yield from _answer(answer, {chart.kind: chart for chart in charts if chart.condition == answer.label})


def _answer(answer: SaturationAnswer, charts: dict[str, Chart]) -> Iterator[str]:
    yield from (f"### {text(view.title(answer))}", "", f"**{text(view.verdict(answer))}**", "")
    yield from (f"- {text(name)}: {text(said)}" for name, said in view.facts(answer))
    yield ""
    yield from picture(charts.get("saturation"))
    if answer.ramp is not None:
        yield from picture(charts.get("ramp"))
        yield from (" ".join(map(text, view.ramp_lines(answer))), "")
    if shares := view.share_rows(answer):
        yield from _table(view.share_headers(), shares)
    yield from _table(view.point_headers(answer), [view.point_cells(answer, point) for point in answer.points])
    if search := view.search_line(answer):
        yield from (text(search), "")


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield f"| {' | '.join(map(text, headers))} |"
    yield f"|{'---:|' * len(headers)}"
    yield from (f"| {' | '.join(map(text, row))} |" for row in rows)
    yield ""
