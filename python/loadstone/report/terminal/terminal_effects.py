"""Effects on a terminal: the question, a line an effect, and every combination."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.analyse.factorial.effects_answer import EffectsAnswer
from loadstone.report import effect_lines
from loadstone.report import format as fmt
from loadstone.report.terminal.terminal_families import VERDICT_STYLES

_INDENT = 2


def effects_on_terminal(found: list[EffectsAnswer]) -> Iterator[RenderableType]:
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
