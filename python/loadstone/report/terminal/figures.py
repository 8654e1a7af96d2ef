"""A table of results on a terminal."""

import textwrap

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from loadstone.judge.analysis.analysis import Row
from loadstone.report.document import Figures
from loadstone.report.tables.column import Column, columns_that_fit, headers
from loadstone.report.tables.columns import MARKS
from loadstone.report.written import words
from loadstone.text.language import _

ROW_STYLES = {"valid": "green", "suspect": "yellow", "invalid": "red", "missing": "dim", "unknown": "dim"}
_LABEL_MAX = 40


def figures_table(found: Figures, width: int, *, cuts: bool = False) -> Table:
    """Rows in the columns for which there is room; a line between levels of the first factor.

    A long label is cut, unless several rows would then be called the same. `cuts`: a row takes one line, whatever is
    left out of it.
    """
    rows = [one.row for one in found.rows]
    longest = max((cell_len(words(row.label)) for row in rows), default=0)
    label = max(cell_len(_("condition")), min(_LABEL_MAX, longest, max(8, width // (2 if cuts else 3))))
    room = width - len("✓ ") - label
    every = list(found.columns)
    gap, columns = 2, columns_that_fit(every, found.every, room, 2)
    if columns != every and not cuts:
        gap, columns = 1, columns_that_fit(every, found.every, room, 1)
    grid = Table(box=SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    labels = [words(row.label) for row in rows]
    labels = labels if cuts else _distinct(labels, label)
    first, *others = headers(f"  {_('condition')}", columns)
    grid.add_column(Text(first), no_wrap=True, overflow="ellipsis", width=len("✓ ") + label)
    for header in others:
        grid.add_column(Text(header), justify="right", no_wrap=True)
    for row, shown_label, following in zip(rows, labels, [*rows[1:], None], strict=True):
        cells = [Text(column.cell(row), style=_style(row, column)) for column in columns]
        label_style = "dim" if row.verdict == "missing" else ""
        name = Text.assemble((f"{MARKS[row.verdict]} ", ROW_STYLES[row.verdict]), (shown_label, label_style))
        grid.add_row(name, *cells, end_section=following is not None and _parts_groups(found, row, following))
    return grid


def _distinct(labels: list[str], width: int) -> list[str]:
    """The labels; on several lines where they are too long, and cut would be called the same."""
    cut = {label[: width - 1] for label in labels}
    if len(cut) == len(labels) or max(map(cell_len, labels), default=0) <= width:
        return labels
    return ["\n  ".join(textwrap.wrap(label, width)) for label in labels]


def _parts_groups(found: Figures, row: Row, following: Row) -> bool:
    """Whether the first factor that the table varies changes here, and has several rows a level."""
    first = next((name for name, levels in found.vary.items() if len(levels) > 1), "")
    has_groups = len(found.every) > len(found.vary.get(first, found.every))
    return has_groups and row.condition.get(first) != following.condition.get(first)


def _style(row: Row, column: Column) -> str:
    if column.context:
        return "dim"
    if column.is_struck(row):
        return "red strike"
    return "bold" if column.ranks and row.verdict == "valid" else ""
