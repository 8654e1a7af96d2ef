"""Saturations on a terminal: the verdict, and below it what was asked with its answers."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.analyse.saturation.saturation_answer import PointKind, SaturationAnswer
from loadstone.report import saturation_view as view

_STYLES: dict[PointKind, str] = {
    "plateau": "bold green",
    "peak": "bold green",
    "limit": "bold green",
    "at_least": "yellow",
    "none": "yellow",
}
_WITH_LIMIT_MAX = 3
"""Of more conditions than that each has one line."""
_INDENT = 2


def saturations(answers: Sequence[SaturationAnswer], *, short: bool = False) -> Iterator[RenderableType]:
    """Every condition; `short`, and of several: a line a condition, and the limit; of many: that line alone."""
    if not answers:
        return
    yield Text()
    brief = short and len(answers) > 1
    for answer in answers:
        style = _STYLES[answer.kind]
        name = Text(f"{view.title(answer)}  ") if answer.label and (brief or not short) else Text()
        yield Text.assemble((f"{view.MARKS[answer.kind]} ", style), name, (view.verdict(answer), style))
        if brief and len(answers) > _WITH_LIMIT_MAX:
            continue
        if brief:
            yield Padding(Text(view.limit_line(answer), style="dim"), (0, 0, 0, _INDENT))
        else:
            yield from _facts(answer)
            yield from (Padding(Text(line), (0, 0, 0, _INDENT)) for line in view.ramp_lines(answer))
        if not short:
            yield _levels(answer)
            yield Text(view.search_line(answer), style="dim")


def _facts(answer: SaturationAnswer) -> Iterator[RenderableType]:
    """A part of its own for each, so that those that say least are left out where there is no room."""
    facts = view.facts(answer)
    width = max(len(name) for name, _ in facts)
    for name, said in facts:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", width=width)
        grid.add_column()
        grid.add_row(Text(name), Text(said))
        yield Padding(grid, (0, 0, 0, _INDENT))


def _levels(answer: SaturationAnswer) -> Table:
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="dim")
    for header in view.point_headers(answer):
        grid.add_column(header, justify="right", no_wrap=True)
    for point in answer.points:
        grid.add_row(*map(Text, view.point_cells(answer, point)))
    return grid
