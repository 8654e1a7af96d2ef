"""The declared comparisons on a terminal: the question, its answer, a line a pair."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.analyse.model import Comparison, Family
from loadstone.judge.verdict import VerdictKind
from loadstone.report import format as fmt
from loadstone.report import verdicts
from loadstone.report.glossary import brackets

VERDICT_STYLES: dict[VerdictKind, str] = {
    "faster": "bold green",
    "equivalent": "cyan",
    "mixed": "yellow",
    "undecided": "yellow",
    "not_decidable": "yellow",
    "invalid": "red",
}
_INDENT = 2


def families(found: list[Family], width: int) -> Iterator[RenderableType]:
    """Everything that a terminal of `width` columns says of the comparisons; nothing without one."""
    for family in found:
        yield Text()
        yield Text(fmt.plain(family.question), style="bold")
        yield Padding(Text(fmt.sentence(family.answer), style="cyan"), (0, 0, 0, _INDENT))
        yield Padding(_pairs(family.comparisons, width - _INDENT), (0, 0, 0, _INDENT))
        for line in verdicts.together(family.comparisons):
            yield Padding(Text(f"! {line}", style="yellow"), (0, 0, 0, _INDENT))
    if any(verdicts.interval(one.primary) for family in found for one in family.comparisons):
        yield Text(brackets(), style="dim")


def _pairs(comparisons: list[Comparison], width: int) -> Table:
    """A line a pair where there is room for pair and verdict, else the verdict on the line below."""
    longest = max((cell_len(verdicts.title(one)) for one in comparisons), default=0)
    longest_verdict = max((cell_len(verdicts.verdict_text(one.primary)) for one in comparisons), default=0)
    beside = longest + longest_verdict + 4 <= width
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column()
    if beside:
        grid.add_column()
    for one in comparisons:
        style = VERDICT_STYLES[one.primary.kind]
        name = Text.assemble((f"{verdicts.MARKS[one.primary.kind]} ", style), verdicts.title(one))
        said = Text(verdicts.verdict_text(one.primary), style=style)
        if beside:
            grid.add_row(name, said)
        else:
            grid.add_row(name)
            grid.add_row(Padding(said, (0, 0, 0, 4)))
    return grid
