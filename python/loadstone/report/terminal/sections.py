"""Sections of the terminal's report: what goals found, claims, effects, verdicts of comparisons, findings."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, assert_never

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.judge.verdict import VerdictKind
from loadstone.report import written
from loadstone.report.document import (
    Block,
    Bullet,
    Bullets,
    Claim,
    Claims,
    Code,
    FactsBlock,
    Figures,
    Finding,
    Fold,
    Only,
    Paragraph,
    Part,
    Phrase,
    Picture,
    Pictures,
    Section,
    SectionCell,
    SectionTable,
    Shares,
    Trials,
    Words,
)
from loadstone.report.tables.columns import MARKS
from loadstone.report.terminal.figures import ROW_STYLES, figures_table
from loadstone.report.written import phrase_text, words
from loadstone.text.language import translated

_LABEL_MAX = 40
_LABEL_SHARE = 3
_TONES = {"plain": "", "note": "dim", "doubt": "yellow", "good": "green", "open": "yellow", "bad": "red"}
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


def sections(found: Iterable[Section], width: int, *, short: bool = False) -> Iterator[RenderableType]:
    """What stands under a heading of its own; `short`: a line a condition."""
    for section in found:
        if "terminal" not in section.layouts or (short and not section.in_outcome):
            continue
        if section.findings:
            if short:
                continue
            yield Text()
        elif not section.is_part:
            yield Text()
            yield line(section.brief_heading or section.heading, "bold")
        yield from (line(alarm, "bold red") for alarm in section.alarms)
        yield from _short_lines(section.blocks) if short else blocks(section.blocks, width)


def _short_lines(found: Iterable[Block]) -> Iterator[RenderableType]:
    for block in found:
        if isinstance(block, SectionTable):
            yield from (Text(f"  {words(row.label)}: {words(row.short)}") for row in block.lines)


def line(said: Words | None, style: str = "") -> Text:
    """A text without markup. Everything that is not ours passes here or through `words`."""
    return Text(words(said), style=style)


def blocks(found: Iterable[Block], width: int) -> Iterator[RenderableType]:
    """Everything that a terminal of `width` columns says of blocks; what has no room there stands in the report."""
    for block in found:
        match block:
            case Only():
                if "terminal" in block.layouts:
                    yield from blocks(block.blocks, width)
            case Part() | Fold():
                yield Text()
                yield line(block.heading, "bold")
                if isinstance(block, Fold):
                    yield line(block.reading, "dim")
                yield from blocks(block.blocks, width)
            case Figures():
                yield figures_table(block, width)
            case SectionTable():
                yield from _table(block, width)
            case Claims():
                yield from map(_claim, block.claims)
            case Paragraph():
                yield line(block.text, _TONES[block.tone])
            case Phrase():
                yield line(phrase_text(block), "dim" if block.tone == "note" else "")
            case Bullets():
                yield from map(bullet, block.items)
            case Finding():
                yield from _finding(block, width)
            case FactsBlock():
                yield line(block.title, "bold")
                yield from (line(f"  {words(name)}: {words(value)}") for name, value in block.facts)
            case Code():
                yield from (line(f"  {words(one)}") for one in block.lines)
            case Shares():
                yield line(", ".join(f"{number} {translated(kind)}" for kind, number in block.shares))
            case Picture() | Pictures() | Trials():
                pass
            case _:
                assert_never(block)


def print_blocks(console: Console, heading: Words, found: Iterable[Block], style: str = "bold") -> None:
    """Print what a command found, under its heading."""
    for part in (line(heading, style), *blocks(found, console.width)):
        console.print(part)


def bullet(one: Bullet) -> Padding:
    """`✕ gain: 2 invalid. The generator must leave ...`."""
    said = Text()
    if one.verdict:
        said.append(f"{MARKS[one.verdict]} ", ROW_STYLES[one.verdict])
    if one.name:
        said.append(words(one.name), "bold").append(": ")
    said.append(words(one.text))
    if one.aside:
        said.append(" ").append(words(one.aside), "dim")
    return Padding(said, (0, 0, 0, _INDENT))


def _claim(claim: Claim) -> RenderableType:
    """What was said, and below it what shows here."""
    answer = Text.assemble((words(claim.verdict), _TONES[claim.tone]), ": ", words(claim.answer))
    return Padding(Group(line(claim.text), Padding(answer, (0, 0, 0, 2))), (0, 0, 0, 2))


def _table(table: SectionTable, width: int) -> Iterator[RenderableType]:
    """A line a condition; on a narrow terminal without the columns at the end."""
    if table.title:
        yield line(table.title)
    yield _grid_of(table, width)
    for row in table.lines:
        yield from (Text(f"  ! {words(row.label)}: {words(said)}", style="yellow") for said in row.problems)


def _grid_of(table: SectionTable, width: int) -> Table:
    """Sentences are broken into lines; where no column has any, those at the end are left out for want of room."""
    first, *heads = [words(column.head) for column in table.columns]
    longest = max((cell_len(words(row.label)) for row in table.lines), default=0)
    label = max(cell_len(first), min(_LABEL_MAX, longest, width // _LABEL_SHARE))
    columns = [[Text(head), *(_cell(row.cells[place]) for row in table.lines)] for place, head in enumerate(heads)]
    widths = [max(part.cell_len for part in column) for column in columns]
    wraps = any(column.kind == "words" for column in table.columns)
    gap = 2 if wraps or label + sum(widths) + 2 * len(widths) <= width else 1
    while not wraps and len(columns) > 1 and label + sum(widths) + gap * len(widths) > width:
        columns.pop()
        widths.pop()
    grid = Table(box=SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    if wraps:
        grid.add_column(Text(first), overflow="fold")
    else:
        grid.add_column(Text(first), no_wrap=True, overflow="ellipsis", width=label)
    for column, of in zip(columns, table.columns[1:], strict=False):
        justify: Literal["left", "right"] = "right" if of.kind == "figures" else "left"
        grid.add_column(column[0], justify=justify, no_wrap=of.kind != "words", overflow="fold")
    for number, row in enumerate(table.lines, 1):
        grid.add_row(line(row.label), *(column[number] for column in columns))
    return grid


def _cell(cell: SectionCell) -> Text:
    link = "" if cell.link is None else words(cell.link.text)
    aside = f"({words(cell.aside)})" if cell.aside else ""
    said = " ".join(filter(None, (written.cell(cell), aside, link)))
    style = "" if cell.verdict is None else VERDICT_STYLES[cell.verdict]
    return Text(f"{said}: {words(cell.reason)}" if cell.reason else said, style)


def findings(found: Sequence[Section]) -> Iterator[RenderableType]:
    """In few lines: of several conditions a line each, and a fact; of many that line alone."""
    for section in filter(lambda section: section.findings, found):
        yield Text()
        brief = len(section.findings) > 1
        for one in section.findings:
            if not brief:
                yield from _finding(one)
                continue
            yield _found(one, is_named=True)
            if len(section.findings) <= _WITH_FACT_MAX:
                yield Padding(line(one.brief, "dim"), (0, 0, 0, _INDENT))


def _found(one: Finding, *, is_named: bool) -> Text:
    style = "bold green" if one.tone == "good" else _TONES[one.tone]
    name = f"{words(one.title)}  " if one.condition and is_named else ""
    return Text.assemble((f"{words(one.mark)} ", style), name, (words(one.verdict), style))


def _finding(one: Finding, width: int | None = None) -> Iterator[RenderableType]:
    """In few lines, or with a width: with what it rests on."""
    yield _found(one, is_named=width is not None)
    yield from _facts(one)
    remarks = (remark for shown in one.shown for remark in shown.remarks)
    yield from (Padding(line(remark), (0, 0, 0, _INDENT)) for remark in remarks)
    if width is not None:
        yield from blocks(one.rests_on, width)
        yield line(one.note, "dim")


def _facts(found: Finding) -> Iterator[RenderableType]:
    """A part of its own for each, so that those that say least are left out where there is no room."""
    facts = [(words(name), words(said)) for name, said in found.facts]
    width = max(len(name) for name, _ in facts)
    for name, said in facts:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", width=width)
        grid.add_column()
        grid.add_row(Text(name), Text(said))
        yield Padding(grid, (0, 0, 0, _INDENT))
