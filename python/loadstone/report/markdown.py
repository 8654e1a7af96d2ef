"""The report for a repository or a wiki: tables as text, pictures as SVG beside it."""

import re
from collections.abc import Iterator

from loadstone.analyse.model import Analysis, ResultTable, Row
from loadstone.report import format as fmt
from loadstone.report import summary
from loadstone.report.charts.catalogue import charts_of
from loadstone.report.charts.chart import Chart
from loadstone.report.columns import MARKS, columns_for

_MARKUP = re.compile(r"([\\`*_{}\[\]|~#])")


def render(analysis: Analysis) -> dict[str, bytes]:
    """`report.md`, and `charts/<name>.svg` which it shows."""
    charts = charts_of(analysis)
    text = "\n".join(_lines(analysis, charts)).rstrip() + "\n"
    return {"report.md": text.encode(), **{f"charts/{chart.name}.svg": chart.svg() for chart in charts}}


def _text(text: str) -> str:
    """`text` as plain words: no markup, no HTML."""
    escaped = _MARKUP.sub(r"\\\1", fmt.plain(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _lines(analysis: Analysis, charts: list[Chart]) -> Iterator[str]:
    yield from (f"# {_text(analysis.question)}", "", f"**{_text(analysis.answer)}**", "")
    badges = [badge for badge, _ in summary.badges(analysis)]
    yield from (f"{summary.headline(analysis)}. {_text(', '.join(badges))}.", "")
    for note in analysis.notes:
        yield from (_text(note), "")
    yield from ("## Results", "")
    if analysis.published_source:
        yield from (f"Published figures: {_text(analysis.published_source)}. They are context, not a target.", "")
    for table in analysis.tables:
        yield from _table(table, [chart for chart in charts if chart.table == table.name])
    yield from _conclusions(analysis)
    for chart in charts:
        if chart.kind == "timeline":
            yield from ("## Time line", "", *_picture(chart))
    yield from _checks(analysis)
    yield from (line for chart in charts if chart.kind == "checks" for line in _picture(chart))
    yield from ("## How to reproduce", "", "```sh", *summary.reproduce(analysis), "```", "")


def _picture(chart: Chart) -> Iterator[str]:
    yield from (f"![{_text(chart.alt_text)}](charts/{chart.name}.svg)", "", _text(chart.caption), "")


def _table(table: ResultTable, charts: list[Chart]) -> Iterator[str]:
    yield from (f"### {_text(table.title)}", "")
    if table.note:
        yield from (_text(table.note), "")
    for chart in charts:
        if chart.kind == "rps":
            yield from _picture(chart)
    columns = columns_for(table)
    yield f"| | condition | {' | '.join(column.header for column in columns)} |"
    yield f"|---|---|{'---:|' * len(columns)}"
    for row in table.rows:
        cells = [_figure(column.cell(row), row, column.key) for column in columns]
        yield f"| {MARKS[row.verdict]} | {_text(row.label)} | {' | '.join(cells)} |"
    yield ""
    trouble = [row for row in table.rows if row.reasons and row.verdict != "valid"]
    for row in trouble:
        yield f"- {MARKS[row.verdict]} {_text(row.label)}: {row.verdict}. {_text(' '.join(row.reasons))}"
    untold = [f"- {_text(line)}" for line in summary.untold(table)]
    yield from untold
    if trouble or untold:
        yield ""
    for chart in charts:
        if chart.kind == "latency":
            yield from _picture(chart)


def _figure(text: str, row: Row, key: str) -> str:
    """A figure, struck out where the row is invalid; the published one stays."""
    return f"~~{text}~~" if row.verdict == "invalid" and key != "published" and text != fmt.NONE else text


def _conclusions(analysis: Analysis) -> Iterator[str]:
    if not analysis.answers:
        return
    yield from ("## The author's conclusions, tested", "")
    for number, answer in enumerate(analysis.answers, 1):
        yield f"{number}. {_text(answer.claim)} **{answer.verdict}**: {_text(answer.answer)}"
        yield from (f"   - {_text(line)}" for line in answer.evidence)
    yield ""


def _checks(analysis: Analysis) -> Iterator[str]:
    yield from ("## Checks", "")
    if not analysis.checks:
        yield from ("No check was made.", "")
        return
    yield "| check | what it looks for | valid | suspect | invalid | unknown | worst figure |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for check in summary.failing_first(analysis.checks):
        worst = f"{summary.figure(check.worst)} {check.worst_trial or ''}".strip() if check.worst else fmt.NONE
        counts = " | ".join(fmt.count(n) for n in (check.valid, check.suspect, check.invalid, check.unknown))
        yield f"| {_text(summary.check_title(check.name))} | {_text(check.explanation)} | {counts} | {_text(worst)} |"
    yield ""
