"""The report for a repository or a wiki: tables as text, pictures as SVG beside it."""

from collections.abc import Iterator

from loadstone.analyse.model import Analysis, CheckSummary, Family, ResultTable, Row
from loadstone.report import format as fmt
from loadstone.report import summary, verdicts
from loadstone.report.anchors import Anchors
from loadstone.report.answers import answer_verdict
from loadstone.report.charts.chart import Chart
from loadstone.report.charts.chart_list import charts_of, drawn
from loadstone.report.markdown.markdown_effects import effect_tables
from loadstone.report.markdown.markdown_families import (
    family_lines,
    glossary_lines,
    trial_lines,
)
from loadstone.report.markdown.markdown_saturation import saturation_lines
from loadstone.report.markdown.markdown_sections import (
    crash_lines,
    lesson_lines,
    observed_lines,
)
from loadstone.report.markdown.markdown_text import link, picture, sentence, text
from loadstone.report.tables.column import Column
from loadstone.report.tables.columns import MARKS, columns_for, full_load_columns
from loadstone.report.tables.failures import example_lines
from loadstone.report.tables.fixed_rate_columns import FULL_LOAD, FULL_LOAD_READING
from loadstone.report.trust import trust_text


def render(analysis: Analysis) -> dict[str, bytes]:
    """`report.md`, and `charts/<name>.svg` which it shows."""
    charts = charts_of(analysis)
    whole = "\n".join(_lines(analysis, charts)).rstrip() + "\n"
    return {"report.md": whole.encode(), **{f"charts/{chart.name}.svg": chart.svg() for chart in drawn(charts)}}


def _lines(analysis: Analysis, charts: list[Chart]) -> Iterator[str]:
    anchors = Anchors(analysis)
    yield from (f"# {text(analysis.question)}", "", f"**{sentence(analysis.answer)}**", "")
    if scaled := summary.scaled(analysis):
        yield from (f"*{scaled}*", "")
    badges = [badge for badge, _ in summary.badges(analysis)]
    yield from (f"{text(trust_text(analysis))}. {summary.trials(analysis)}.", "")
    yield from (f"{text(', '.join(badges))}. {summary.time_used(analysis)}".strip(), "")
    for note in analysis.notes:
        yield from (sentence(note), "")
    yield from saturation_lines(analysis, charts)
    if analysis.families:
        yield from ("## Verdicts", "")
    for answer in analysis.effects:
        yield from effect_tables(answer)
        yield from (line for chart in charts if _is_of_effects(chart, answer.name) for line in picture(chart))
    for family in analysis.families:
        yield from _family(
            family, [chart for chart in charts if chart.family == family.name and chart.kind != "effects"], anchors
        )
    yield from ("## Results", "")
    if analysis.published_source:
        yield from (f"Published figures: {sentence(analysis.published_source)}. They are context, not a target.", "")
    for table in analysis.tables:
        yield from _table(table, [chart for chart in charts if chart.table == table.name], anchors)
    yield from crash_lines(analysis.crashes)
    yield from _conclusions(analysis)
    yield from lesson_lines(analysis)
    yield from observed_lines(analysis, anchors)
    for chart in charts:
        if chart.kind == "timeline":
            yield from ("## Time line", "", *picture(chart))
    yield from _checks(analysis, anchors)
    yield from (line for chart in charts if chart.kind == "checks" for line in picture(chart))
    yield from trial_lines(analysis, anchors)
    yield from glossary_lines(analysis)
    yield from ("## How to reproduce", "", "```sh", *summary.reproduce(analysis), "```", "")


def _is_of_effects(chart: Chart, name: str) -> bool:
    return chart.kind == "effects" and chart.family == name


def _family(family: Family, charts: list[Chart], anchors: Anchors) -> Iterator[str]:
    yield from (f"### {text(family.question)}", "", sentence(family.answer), "")
    yield from (text(f"{verdicts.margin_text(family)} {family.note}"), "")
    for chart in charts:
        if chart.kind == "forest":
            yield from picture(chart)
    yield from family_lines(family, anchors)
    for chart in charts:
        if chart.kind == "blocks":
            yield from picture(chart)


def _table(table: ResultTable, charts: list[Chart], anchors: Anchors) -> Iterator[str]:
    yield from (f"### {text(table.title)}", "")
    if table.note:
        yield from (text(table.note), "")
    for chart in charts:
        if chart.kind == "rps":
            yield from picture(chart)
    yield from _rows(columns_for(table), table.rows, anchors)
    trouble = [row for row in table.rows if row.reasons and row.verdict != "valid"]
    for row in trouble:
        yield f"- {MARKS[row.verdict]} {text(row.label)}: {row.verdict}. {' '.join(map(sentence, row.reasons))}"
    answers = [f"- {text(line)}" for line in example_lines(table.rows)]
    latency = [f"- {text(line)}" for line in summary.latency_lines(table)]
    yield from (*answers, *latency)
    if trouble or answers or latency:
        yield ""
    for chart in charts:
        if chart.kind == "latency":
            yield from picture(chart)
    if full_load := full_load_columns(table):
        yield from (f"#### {FULL_LOAD}", "", FULL_LOAD_READING, "")
        yield from _rows(full_load, [row for row in table.rows if row.response_ns], anchors)


def _rows(columns: list[Column], rows: list[Row], anchors: Anchors) -> Iterator[str]:
    yield f"| | condition | {' | '.join(column.header for column in columns)} |"
    yield f"|---|---|{'---:|' * len(columns)}"
    for row in rows:
        cells = [_figure(column, row) for column in columns]
        yield f"| {MARKS[row.verdict]} | {link(anchors.condition(row.trials), row.label)} | {' | '.join(cells)} |"
    yield ""


def _figure(column: Column, row: Row) -> str:
    """A figure, struck out where it was refused."""
    figure = column.cell(row)
    return f"~~{text(figure)}~~" if column.is_struck(row) and figure != fmt.NONE else text(figure)


def _conclusions(analysis: Analysis) -> Iterator[str]:
    if not analysis.answers:
        return
    yield from ("## The author's conclusions, tested", "")
    for number, answer in enumerate(analysis.answers, 1):
        yield f"{number}. {text(answer.claim)} **{answer_verdict(answer.verdict)}**: {sentence(answer.answer)}"
        yield from (f"   - {sentence(line)}" for line in answer.evidence)
    yield ""


def _checks(analysis: Analysis, anchors: Anchors) -> Iterator[str]:
    yield from ("## Checks", "")
    if not analysis.checks:
        yield from ("No check was made.", "")
        return
    yield "| check | what it looks for | valid | suspect | invalid | unknown | worst figure |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for check in summary.failing_first(analysis.checks):
        worst = _worst(check, anchors)
        counts = " | ".join(fmt.count(n) for n in (check.valid, check.suspect, check.invalid, check.unknown))
        yield f"| {text(summary.check_title(check.name))} | {sentence(check.explanation)} | {counts} | {worst} |"
    yield ""


def _worst(check: CheckSummary, anchors: Anchors) -> str:
    """The worst figure, and the trial that has it."""
    if check.worst is None:
        return fmt.NONE
    trial = link(anchors.trial(check.worst_trial), check.worst_trial) if check.worst_trial else ""
    return f"{text(summary.figure(check.worst))} {trial}".rstrip()
