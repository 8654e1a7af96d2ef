"""Sections of the Markdown report that only some studies have: the machine, lost writes, lessons."""

from collections.abc import Iterator

from loadstone.analyse.model import Analysis, CrashTable
from loadstone.report import crashes, lessons
from loadstone.report.anchors import Anchors
from loadstone.report.markdown.markdown_text import link, sentence, text
from loadstone.report.tables.observed_tables import HEADING, READING, ObservedTable, observed_in


def observed_lines(analysis: Analysis, anchors: Anchors) -> Iterator[str]:
    """What the monitors observed, table by table."""
    found = [(table.title, observed_in(analysis, table)) for table in analysis.tables]
    if not any(tables for _, tables in found):
        return
    yield from (f"## {HEADING}", "", READING, "")
    for title, tables in found:
        if tables:
            yield from (f"### {text(title)}", "")
        for table in tables:
            yield from _observed(table, anchors)


def _observed(table: ObservedTable, anchors: Anchors) -> Iterator[str]:
    part = ["part"] if table.of_parts else []
    yield from (f"#### {text(table.title)}", "")
    yield f"| {' | '.join(['condition', *part, *(text(column.header) for column in table.columns)])} |"
    yield f"|{'---|' * (1 + len(part))}{'---:|' * len(table.columns)}"
    for line in table.lines:
        names = [link(anchors.condition(line.row.trials), line.row.label), *([text(line.part)] if part else [])]
        yield f"| {' | '.join([*names, *(text(str(cell)) for cell in line.cells)])} |"
    yield ""


def crash_lines(tables: list[CrashTable]) -> Iterator[str]:
    """What was lost when a server was killed."""
    if not tables:
        return
    yield from (f"## {crashes.heading()}", "")
    yield from (line for alarm in crashes.alarms(tables) for line in (f"**{text(alarm)}**", ""))
    for table in tables:
        yield from (f"### {text(table.title)}", "")
        if table.note:
            yield from (text(table.note), "")
        yield f"| {' | '.join(crashes.headers())} |"
        yield f"|---|{'---:|' * (len(crashes.headers()) - 1)}"
        for row in table.rows:
            yield f"| {' | '.join(map(text, (row.label, *crashes.cells(row))))} |"
        yield ""
        problems = [f"- {text(row.label)}: {sentence(said)}" for row in table.rows for said in row.problems]
        yield from (*problems, "") if problems else ()
    yield from (crashes.reading(), "")


def lesson_lines(analysis: Analysis) -> Iterator[str]:
    """What went wrong then, what shows here, and whether it was caught."""
    if not analysis.lessons:
        return
    yield from (f"## {lessons.heading()}", "", "| then | now | verdict |", "|---|---|---|")
    for lesson in analysis.lessons:
        yield f"| {text(lesson.then)} | {sentence(lesson.now)} | **{lessons.lesson_verdict(lesson.verdict)}** |"
    yield ""
