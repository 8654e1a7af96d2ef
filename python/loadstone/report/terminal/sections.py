"""Sections of the terminal's report: what goals found, claims, effects, verdicts of comparisons, findings."""

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.report.document import (
    Block,
    Bullet,
    Bullets,
    Code,
    FactsBlock,
    Finding,
    Fold,
    Only,
    Paragraph,
    Part,
    Phrase,
    Picture,
    Pictures,
    Section,
    SectionTable,
    Shares,
    Words,
)
from loadstone.report.tables.columns import MARKS
from loadstone.report.terminal.tables import ROW_STYLES, table_parts
from loadstone.report.written import phrase_text, words
from loadstone.text.language import translated

_TONES = {
    "plain": "", "note": "dim", "doubt": "yellow", "good": "green", "open": "yellow", "bad": "red",
    "answer": "bold cyan", "banner": "bold yellow",
}  # fmt: skip
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
            case SectionTable():
                yield from table_parts(block, width)
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
            case Picture() | Pictures():
                pass
            case _:
                assert_never(block)


def print_blocks(console: Console, heading: Words, found: Iterable[Block], style: str = "bold") -> None:
    """Print what a command found, under its heading."""
    for part in (line(heading, style), *blocks(found, console.width)):
        console.print(part)


def bullet(one: Bullet) -> RenderableType:
    """`✕ gain: 2 invalid. The generator must leave ...`; below what somebody said, what this run says of it."""
    said = Text()
    if one.verdict:
        said.append(f"{MARKS[one.verdict]} ", ROW_STYLES[one.verdict])
    if one.name:
        said.append(words(one.name), "bold").append(": ")
    said.append(words(one.text))
    if one.aside:
        said.append(" ").append(words(one.aside), "dim")
    if one.answer is None:
        return Padding(said, (0, 0, 0, _INDENT))
    answer = Text.assemble((words(one.answer.verdict), _TONES[one.answer.tone]), ": ", words(one.answer.text))
    return Padding(Group(said, Padding(answer, (0, 0, 0, _INDENT))), (0, 0, 0, _INDENT))


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
