"""The outcome for a terminal: the end in at most 25 lines, or all tables, conclusions and what failed."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from loadstone.judge.analysis.analysis import Analysis, ResultTable, Row
from loadstone.report import figure_format as fmt
from loadstone.report import summary
from loadstone.report.figure_quality import bound_lines, trust_text
from loadstone.report.sections.effects import effects_section
from loadstone.report.sections.of_analysis import findings_of, sections_of
from loadstone.report.sections.verdicts import verdicts_section
from loadstone.report.summary import example_lines, failure_lines, stall_lines
from loadstone.report.tables import observed
from loadstone.report.tables.column import Column, columns_that_fit, headers
from loadstone.report.tables.columns import MARKS, columns_for, full_load_line
from loadstone.report.terminal.ending import print_ending
from loadstone.report.terminal.sections import ROW_STYLES, findings, sections
from loadstone.safety.console import remarks
from loadstone.text.language import _

_LABEL_MAX = 40
ROWS_MAX = 36
"""A longer table is shortened on a terminal."""
ROWS_KEPT = 24


def show(
    analysis: Analysis,
    report: Path | None = None,
    console: Console | None = None,
    *,
    folder: Path | None = None,
    verbose: bool = False,
) -> None:
    """Print the outcome of a run: the end, or with `verbose` everything that the report has for a terminal.

    `report` is the page that was written, `folder` the run's, for the command that resumes it.
    """
    console = console or remarks()
    if not verbose:
        print_ending(console, analysis, report, folder)
        return
    for part in _parts(analysis, report, console.width):
        console.print(part)


def _parts(analysis: Analysis, report: Path | None, width: int) -> Iterator[RenderableType]:
    yield Text()
    yield Text(fmt.plain(analysis.question), style="bold")
    yield Text(fmt.sentence(analysis.answer), style="bold cyan")
    if scaled := summary.scaled(analysis):
        yield Text(scaled, style="yellow")
    badges = [fmt.plain(badge) for badge, _ in summary.status_marks(analysis)]
    yield Text("; ".join([trust_text(analysis), summary.trials(analysis), *badges]), style="dim")
    yield from sections([section for section in sections_of(analysis) if section.leads], width)
    yield from sections(filter(None, [effects_section(analysis)]), width)
    yield from findings(findings_of(analysis))
    yield from sections(filter(None, [verdicts_section(analysis)]), width)
    for table in analysis.tables:
        yield Text()
        yield Text(fmt.plain(table.title), style="bold")
        shown = shortened(table.rows)
        yield results_table(table, shown, width)
        if left := len(table.rows) - len(shown):
            yield Text(_("… {left} more rows in the report", left=left), style="dim")
        yield from (Text(line, style="yellow") for line in (*failure_lines(shown), *example_lines(shown)))
        for line in filter(None, (*summary.latency_lines(table), full_load_line(table.rows))):
            yield Text(line, style="dim")
    yield from (Text(line) for line in (*bound_lines(analysis), *stall_lines(analysis)))
    if observed.has_application(analysis):
        yield Text(_("vmstat's columns, and CPU, memory and connections of each part: in the report."), style="dim")
    rows = [row for table in analysis.tables for row in table.rows]
    if analysis.published_source and any(row.published or row.published_columns for row in rows):
        yield Text(
            _("Published: {sentence}; context, not a target.", sentence=fmt.sentence(analysis.published_source)),
            style="dim",
        )
    yield from sections([section for section in sections_of(analysis) if not section.leads], width)
    for note in analysis.notes:
        yield Text(fmt.sentence(note), style="dim")
    yield Text()
    if used := summary.time_used(analysis):
        yield Text(used)
    if report is not None:
        yield Text.assemble(("Report: ", "bold"), fmt.plain(str(report)))


def shortened(rows: list[Row]) -> list[Row]:
    """All rows of a table that fits a screen, else some of every part of it, evenly spread."""
    if len(rows) <= ROWS_MAX:
        return rows
    step = len(rows) / ROWS_KEPT
    regular = {int(place * step) for place in range(ROWS_KEPT)}
    return [row for place, row in enumerate(rows) if place in regular]


def results_table(table: ResultTable, rows: list[Row], width: int) -> Table:
    """These rows in the columns for which there is room; a line between levels of the first factor.

    A long label is cut, unless several rows would then be called the same.
    """
    longest = max((cell_len(fmt.plain(row.label)) for row in rows), default=0)
    label = max(cell_len(_("condition")), min(_LABEL_MAX, longest, max(8, width // 3)))
    room = width - len("✓ ") - label
    every = columns_for(table)
    gap, columns = 2, columns_that_fit(every, table.rows, room, 2)
    if columns != every:
        gap, columns = 1, columns_that_fit(every, table.rows, room, 1)
    grid = Table(box=SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    labels = _distinct([fmt.plain(row.label) for row in rows], label)
    first, *others = headers(f"  {_('condition')}", columns)
    grid.add_column(first, no_wrap=True, overflow="ellipsis", width=len("✓ ") + label)
    for header in others:
        grid.add_column(header, justify="right", no_wrap=True)
    for row, shown_label, following in zip(rows, labels, [*rows[1:], None], strict=True):
        cells = [Text(column.cell(row), style=_style(row, column)) for column in columns]
        label_style = "dim" if row.verdict == "missing" else ""
        name = Text.assemble((f"{MARKS[row.verdict]} ", ROW_STYLES[row.verdict]), (shown_label, label_style))
        grid.add_row(name, *cells, end_section=following is not None and _parts_groups(table, row, following))
    return grid


def _distinct(labels: list[str], width: int) -> list[str]:
    """The labels; on several lines where they are too long, and cut would be called the same."""
    cut = {label[: width - 1] for label in labels}
    if len(cut) == len(labels) or max(map(cell_len, labels), default=0) <= width:
        return labels
    return ["\n  ".join(textwrap.wrap(label, width)) for label in labels]


def _parts_groups(table: ResultTable, row: Row, following: Row) -> bool:
    """Whether the first factor that the table varies changes here, and has several rows a level."""
    first = next((name for name, levels in table.vary.items() if len(levels) > 1), "")
    has_groups = len(table.rows) > len(table.vary.get(first, table.rows))
    return has_groups and row.condition.get(first) != following.condition.get(first)


def _style(row: Row, column: Column) -> str:
    if column.context:
        return "dim"
    if column.is_struck(row):
        return "red strike"
    return "bold" if column.ranks and row.verdict == "valid" else ""
