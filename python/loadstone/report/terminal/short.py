"""What a command that was typed for one figure prints: the answer, the table, and the one thing to doubt.

The rest stands in the report, and with `--verbose` on the terminal (`report.terminal.outcome`).
"""

from rich.console import Console, RenderableType
from rich.text import Text

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import figure_format as fmt
from loadstone.report import summary, verdicts
from loadstone.report.figure_quality import bound_lines, trust_text
from loadstone.report.terminal.ending import compared_lines, failed_lines, figures
from loadstone.text.language import _

ROWS_MAX = 20
"""Of a table on a terminal; a pipe takes all of them."""
COMPARED_MAX = 20
FAILED_MAX = 3
"""Lines of errors and of what was answered."""
_ROOM = 10_000
"""Lines, of what need not fit into a screen."""


def print_short(console: Console, analysis: Analysis) -> None:
    """Print it."""
    for part in _parts(console, analysis):
        console.print(part)


def _parts(console: Console, analysis: Analysis) -> list[RenderableType]:
    rows_max = ROWS_MAX if console.is_terminal else _ROOM
    answer = Text(fmt.sentence(analysis.headline) or fmt.sentence(analysis.answer), style="bold cyan")
    compared = compared_lines(list(verdicts.all_comparisons(analysis)), console, COMPARED_MAX, COMPARED_MAX + 6)
    table = figures(analysis, console.width, _ROOM, rows_max)
    failed = failed_lines(analysis, console, FAILED_MAX)
    doubt = "" if failed else _doubt(analysis)
    ending = " ".join([f"{trust_text(analysis)}.", summary.time_used(analysis), _("All of it: --verbose.")])
    return [answer, *compared, *table, *failed, *([Text(doubt, style="yellow")] if doubt else []), Text(ending)]


def _doubt(analysis: Analysis) -> str:
    """What is to be doubted most: a bound, what stood still, or a check that failed; empty if there is none."""
    lines = [*bound_lines(analysis), *summary.stall_lines(analysis, most=1)]
    failed = (check for check in summary.failing_first(analysis.checks) if check.invalid or check.suspect)
    checks = (f"{summary.check_title(check.name)}: {fmt.sentence(check.explanation)}" for check in failed)
    return next(iter([*lines, *checks]), "")
