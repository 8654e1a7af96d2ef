"""Sections of the terminal's report: what goals found, claims, effects, verdicts of comparisons, findings."""

from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.judge.analysis.analysis import Comparison, EffectsAnswer, Family
from loadstone.judge.verdict import VerdictKind
from loadstone.report import effects as effect_lines
from loadstone.report import figure_format as fmt
from loadstone.report import verdicts
from loadstone.report.document import Claim, Finding, Grid, Section, SectionTable
from loadstone.report.glossary import brackets

_LABEL_MAX = 40
_LABEL_SHARE = 3
_TONES = {"good": "green", "open": "yellow", "bad": "red"}
VERDICT_STYLES: dict[VerdictKind, str] = {
    "faster": "bold green",
    "equivalent": "cyan",
    "mixed": "yellow",
    "undecided": "yellow",
    "not_decidable": "yellow",
    "invalid": "red",
}
_INDENT = 2
_WITH_FACT_MAX = 3
"""Most findings that have a line with a fact below them; of more each has one line."""


def sections(found: Sequence[Section], width: int, *, short: bool = False) -> Iterator[RenderableType]:
    """What goals have to say under a heading of their own; `short`: a line a condition."""
    for section in found:
        if short and not section.in_outcome:
            continue
        yield Text()
        yield Text(fmt.sentence(section.brief_heading or section.heading), style="bold")
        yield from (Text(fmt.sentence(alarm), style="bold red") for alarm in section.alarms)
        for table in section.tables:
            if short:
                yield from (Text(f"  {fmt.plain(line.label)}: {fmt.sentence(line.short)}") for line in table.lines)
                continue
            if table.title:
                yield Text(fmt.plain(table.title))
            yield _section_table(table, width)
            for line in table.lines:
                yield from (
                    Text(f"  ! {fmt.plain(line.label)}: {fmt.sentence(said)}", style="yellow") for said in line.problems
                )
        if not short:
            yield from map(_claim, section.claims)
        if not short and section.reading is not None:
            yield Text(fmt.sentence(section.reading), style="dim")


def _claim(claim: Claim) -> RenderableType:
    """What was said, and below it what shows here."""
    answer = Text.assemble((fmt.sentence(claim.verdict), _TONES[claim.tone]), ": ", fmt.sentence(claim.answer))
    return Padding(Group(Text(fmt.plain(claim.text)), Padding(answer, (0, 0, 0, 2))), (0, 0, 0, 2))


def _section_table(table: SectionTable, width: int) -> Table:
    """A line a condition; on a narrow terminal without the columns at the end."""
    first, *heads = [fmt.sentence(column.head) for column in table.columns]
    longest = max((cell_len(fmt.plain(line.label)) for line in table.lines), default=0)
    label = max(len(first), min(_LABEL_MAX, longest, width // _LABEL_SHARE))
    columns = [[head, *(fmt.cell(line.cells[place]) for line in table.lines)] for place, head in enumerate(heads)]
    while len(columns) > 1 and label + sum(2 + max(map(cell_len, column)) for column in columns) > width:
        columns.pop()
    grid = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    grid.add_column(first, no_wrap=True, overflow="ellipsis", width=label)
    for column in columns:
        grid.add_column(column[0], justify="right", no_wrap=True)
    for number, line in enumerate(table.lines, 1):
        grid.add_row(Text(fmt.plain(line.label)), *(column[number] for column in columns))
    return grid


def effects(found: Sequence[EffectsAnswer]) -> Iterator[RenderableType]:
    """Everything that a terminal says of effects; nothing without any."""
    for answer in found:
        yield Text()
        yield Text(fmt.plain(answer.question), style="bold")
        for term, line in zip(answer.terms, effect_lines.lines(answer), strict=True):
            style = VERDICT_STYLES[term.verdict.kind]
            yield Padding(Text.assemble((f"{line.mark} ", style), (line.said, style)), (0, 0, 0, _INDENT))
        grid = Table.grid(padding=(0, 2, 0, 0))
        for cell in answer.cells:
            grid.add_row(fmt.plain(cell.label), effect_lines.cell_text(answer, cell))
        yield Padding(grid, (0, 0, 0, _INDENT))
        yield Text(effect_lines.basis(answer), style="dim")


def families(found: list[Family], width: int) -> Iterator[RenderableType]:
    """Everything that a terminal of `width` columns says of the comparisons; nothing without one."""
    for family in found:
        yield Text()
        yield Text(fmt.plain(family.question), style="bold")
        yield Padding(Text(fmt.sentence(family.answer), style="cyan"), (0, 0, 0, _INDENT))
        yield Padding(_pairs(family.comparisons, width - _INDENT), (0, 0, 0, _INDENT))
        for line in verdicts.together(family.comparisons):
            yield Padding(Text(f"! {line}", style="yellow"), (0, 0, 0, _INDENT))
        if floor := verdicts.noise_floor(family):
            yield Padding(Text(floor), (0, 0, 0, _INDENT))
    if any(verdicts.interval(comparison.primary) for family in found for comparison in family.comparisons):
        yield Text(brackets(), style="dim")


def _pairs(comparisons: list[Comparison], width: int) -> Table:
    """A line a pair where there is room for pair and verdict, else the verdict on the line below."""
    longest = max((cell_len(verdicts.title(comparison)) for comparison in comparisons), default=0)
    said_of_all = [
        line
        for comparison in comparisons
        for line in (_said(comparison), *(said for _, said in verdicts.cost_lines(comparison)))
    ]
    longest_verdict = max(map(cell_len, said_of_all), default=0)
    beside = longest + longest_verdict + 4 <= width
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column()
    if beside:
        grid.add_column()
    for one in comparisons:
        style = VERDICT_STYLES[one.primary.kind]
        name = Text.assemble((f"{verdicts.MARKS[one.primary.kind]} ", style), verdicts.title(one))
        said = Text(_said(one), style=style)
        costs = [Text(said_of, style=VERDICT_STYLES[cost.kind]) for cost, said_of in verdicts.cost_lines(one)]
        if beside:
            grid.add_row(name, Group(said, *costs))
        else:
            grid.add_row(name)
            grid.add_row(Padding(Group(said, *costs), (0, 0, 0, 4)))
    return grid


def _said(comparison: Comparison) -> str:
    return verdicts.by_latency(comparison.primary) + verdicts.verdict_text(comparison.primary)


def findings(found: Sequence[Section], *, short: bool = False) -> Iterator[RenderableType]:
    """Every condition; `short`, and of several: a line a condition, and a fact; of many: that line alone."""
    for section in found:
        yield Text()
        brief = short and len(section.findings) > 1
        for one in section.findings:
            style = "bold green" if one.tone == "good" else _TONES[one.tone]
            name = Text(f"{fmt.plain(one.title)}  ") if one.condition and (brief or not short) else Text()
            yield Text.assemble((f"{one.mark} ", style), name, (fmt.sentence(one.verdict), style))
            if brief and len(section.findings) > _WITH_FACT_MAX:
                continue
            if brief:
                yield Padding(Text(fmt.sentence(one.brief), style="dim"), (0, 0, 0, _INDENT))
            else:
                yield from _facts(one)
                remarks = (remark for shown in one.shown for remark in shown.remarks)
                yield from (Padding(Text(fmt.sentence(remark)), (0, 0, 0, _INDENT)) for remark in remarks)
            if not short:
                yield from (_grid(grid) for grid in one.grids if grid.on_terminal)
                yield Text(fmt.sentence(one.note), style="dim")


def _facts(found: Finding) -> Iterator[RenderableType]:
    """A part of its own for each, so that those that say least are left out where there is no room."""
    facts = [(fmt.sentence(name), fmt.sentence(said)) for name, said in found.facts]
    width = max(len(name) for name, _ in facts)
    for name, said in facts:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", width=width)
        grid.add_column()
        grid.add_row(Text(name), Text(said))
        yield Padding(grid, (0, 0, 0, _INDENT))


def _grid(found: Grid) -> Table:
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    for header in found.heads:
        grid.add_column(header, justify="right", no_wrap=True)
    for row in found.rows:
        grid.add_row(*map(Text, row.cells))
    return grid
