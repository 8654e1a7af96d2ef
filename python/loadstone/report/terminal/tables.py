"""A table on a terminal: the columns and rows for which there is room."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from loadstone.judge.verdict import VerdictKind
from loadstone.report import written
from loadstone.report.document import SectionCell, SectionColumn, SectionTable, TableRow
from loadstone.report.tables.columns import MARKS
from loadstone.report.written import words
from loadstone.text.language import _

ROW_STYLES: Mapping[str, str] = {
    "valid": "green", "suspect": "yellow", "invalid": "red", "missing": "dim", "unknown": "dim"
}  # fmt: skip
VERDICT_STYLES: dict[VerdictKind, str] = {
    "faster": "bold green",
    "equivalent": "cyan",
    "mixed": "yellow",
    "undecided": "yellow",
    "not_decidable": "yellow",
    "invalid": "red",
}
ROWS_MAX = 36
"""A longer table is shortened."""
ROWS_KEPT = 24
_PROBLEMS_MAX = 4
"""Lines on what is wrong with rows; the report has all of them."""
_LABEL_MAX = 40
_HEAD_BROKEN_MIN = 8
"""A shorter heading is not broken into lines."""


@dataclass(frozen=True)
class _FittedColumn:
    """A column with the texts of its cells."""

    of: SectionColumn
    head: list[str]
    cells: list[Text]

    @property
    def width(self) -> int:
        return max([*map(cell_len, self.head), *(one.cell_len for one in self.cells)])

    def broken(self) -> "_FittedColumn":
        """With a long head in two lines, no wider than its cells as far as its words allow."""
        (line, *more) = self.head
        if more or cell_len(line) < _HEAD_BROKEN_MIN:
            return self
        least = max((one.cell_len for one in self.cells), default=0)
        broken = (textwrap.wrap(line, most) for most in range(max(1, least), len(line) + 1))
        fits = (parts for parts in broken if len(parts) < 3 and " ".join(parts) == line)
        return replace(self, head=next(fits, [line]))


def table_parts(table: SectionTable, width: int) -> Iterator[RenderableType]:
    """The table under its title, with what is wrong with its rows below it."""
    if table.title:
        yield Text(words(table.title))
    lines = shortened(table.lines)
    yield grid_of(replace(table, lines=tuple(lines)), width)
    if left := len(table.lines) - len(lines):
        yield Text(_("… {left} more rows in the report", left=left), style="dim")
    problems = [f"  ! {words(row.label)}: {words(said)}" for row in lines for said in row.problems]
    yield from (Text(one, style="yellow") for one in problems[:_PROBLEMS_MAX])
    if (left := len(problems) - _PROBLEMS_MAX) > 0:
        yield Text(_("… {left} more of these in the report", left=left), style="dim")


def shortened(rows: Sequence[TableRow]) -> Sequence[TableRow]:
    """All rows of a table that fits a screen, else some of every part of it, evenly spread."""
    if len(rows) <= ROWS_MAX:
        return rows
    step = len(rows) / ROWS_KEPT
    regular = {int(place * step) for place in range(ROWS_KEPT)}
    return [row for place, row in enumerate(rows) if place in regular]


def grid_of(table: SectionTable, width: int, *, cuts: bool = False) -> Table:
    """Sentences are broken into lines; where no column has any, columns are left out for want of room.

    A long label is cut, unless several rows would then be called the same. `cuts`: a row takes one line, whatever is
    left out of it.
    """
    marked = 2 if any(row.verdict for row in table.lines) else 0
    labels = [words(row.label) for row in table.lines]
    first = words(table.columns[0].head)
    longest = max(map(cell_len, labels), default=0)
    label = max(cell_len(first), min(_LABEL_MAX, longest, max(8, width // (2 if cuts else 3))))
    wraps = any(column.kind == "words" for column in table.columns)
    gap, columns = 2, _columns(table)
    if not wraps:
        whole, room = columns, width - marked - label
        columns = _fitting(table, room, gap)
        if columns != whole and not cuts:
            gap, columns = 1, _fitting(table, room, 1)
        labels = labels if cuts else _distinct(labels, label)
    grid = Table(box=SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    most = max((len(one.head) for one in columns), default=1)
    head = Text("\n" * (most - 1) + " " * marked + first)
    if wraps:
        grid.add_column(head, overflow="fold")
    else:
        grid.add_column(head, no_wrap=True, overflow="ellipsis", width=marked + label)
    for one in columns:
        justify: Literal["left", "right"] = "right" if one.of.kind == "figures" else "left"
        head = Text("\n".join([""] * (most - len(one.head)) + one.head))
        grid.add_column(head, justify=justify, no_wrap=one.of.kind != "words", overflow="fold")
    for number, (row, text) in enumerate(zip(table.lines, labels, strict=True)):
        mark = (f"{MARKS[row.verdict]} ", ROW_STYLES[row.verdict]) if row.verdict else " " * marked
        name = Text.assemble(mark, (text, "dim" if row.verdict == "missing" else ""))
        ends = number + 1 < len(labels) and table.lines[number + 1].group != row.group
        grid.add_row(name, *(one.cells[number] for one in columns), end_section=ends)
    return grid


def _columns(table: SectionTable, *, narrow: bool = False) -> list[_FittedColumn]:
    return [
        _FittedColumn(of, _head(words(of.head)), [_cell(row, place, of, narrow=narrow) for row in table.lines])
        for place, of in enumerate(table.columns[1:])
    ]


def _head(text: str) -> list[str]:
    """In as many lines as a terminal gives it: `P50 at` and `half rate`."""
    return text.replace(" at ", " at\n").replace(" (절반", "\n(절반").split("\n")


def _fitting(table: SectionTable, room: int, gap: int) -> list[_FittedColumn]:
    """The columns that fit into `room`, each after `gap` spaces. As far as that is needed, heads are broken into lines,
    then cells take their short form, and last columns are left out, those that say least first.
    """

    def fits() -> bool:
        return sum(one.width + gap for one in kept.values()) <= room

    kept = dict(enumerate(_columns(table)))
    places = sorted(kept, key=lambda place: (-kept[place].of.drop, place if kept[place].of.drop else -place))
    if not fits():
        kept = {place: column.broken() for place, column in kept.items()}
    short = [] if fits() else [column.broken() for column in _columns(table, narrow=True)]
    for place in reversed(places):
        if short and not fits():
            kept[place] = short[place]
    for place in places:
        if len(kept) > 1 and not fits():
            del kept[place]
    return list(kept.values())


def _distinct(labels: list[str], width: int) -> list[str]:
    """The labels; on several lines where they are too long, and cut would be called the same."""
    cut = {label[: width - 1] for label in labels}
    if len(cut) == len(labels) or max(map(cell_len, labels), default=0) <= width:
        return labels
    return ["\n  ".join(textwrap.wrap(label, width)) for label in labels]


def _cell(row: TableRow, place: int, column: SectionColumn, *, narrow: bool) -> Text:
    cell = row.cells[place] if row.cells else SectionCell(None, said="")
    said = words(cell.narrow) if narrow and cell.narrow is not None else written.cell(cell)
    aside = f"({words(cell.aside)})" if cell.aside else ""
    link = "" if cell.link is None else words(cell.link.text)
    text = " ".join(filter(None, (said, aside, link)))
    return Text(f"{text}: {words(cell.reason)}" if cell.reason else text, _style(row, cell, column))


def _style(row: TableRow, cell: SectionCell, column: SectionColumn) -> str:
    if column.role == "context":
        return "dim"
    if cell.struck:
        return "red strike"
    if cell.verdict is not None:
        return VERDICT_STYLES[cell.verdict]
    return "bold" if column.role == "ranks" and row.verdict == "valid" else ""
