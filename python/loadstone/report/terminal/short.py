"""What a command that was typed for one figure prints: the answer, the table, and what is to be doubted most.

The rest stands in the report, and with `--verbose` on the terminal (`report.terminal.outcome`).
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from rich.console import Console, RenderableType
from rich.text import Text

from loadstone.judge.analysis.analysis import Analysis, Comparison, ResultTable, Row
from loadstone.report import figure_format as fmt
from loadstone.report import summary, verdicts
from loadstone.report.figure_quality import bound_lines, trust_text
from loadstone.report.sections.checks import check_line
from loadstone.report.summary import example_lines, failure_lines, stall_lines
from loadstone.report.tables.columns import columns_for, fixed_rate_lines, suspect_lines, told_apart_lines
from loadstone.report.tables.figure_table import figure_table
from loadstone.report.terminal.ending import says_little, verdict_line
from loadstone.report.terminal.sections import bullet
from loadstone.report.terminal.tables import grid_of
from loadstone.text.language import _, plural

ROWS_MAX = 20
"""Rows of a table on a terminal; a pipe takes all of them."""
COMPARED_MAX = 20
"""Comparisons on a terminal."""
FAILED_MAX = 2
"""Rows whose errors are named."""


def print_short(console: Console, analysis: Analysis) -> None:
    """Print it."""
    for part in _parts(analysis, console.width, cuts=console.is_terminal):
        console.print(part)


def _parts(analysis: Analysis, width: int, *, cuts: bool) -> Iterator[RenderableType]:
    """`cuts`: a terminal has room for so many rows and comparisons."""
    yield Text(fmt.sentence(analysis.headline) or fmt.sentence(analysis.answer), style="bold cyan")
    if scaled := summary.scaled(analysis):
        yield Text(scaled, style="yellow")
    compared = sorted(verdicts.all_comparisons(analysis), key=says_little)
    yield from _compared(compared, width, COMPARED_MAX if cuts else len(compared))
    doubts: list[RenderableType] = []
    for table in analysis.tables:
        shown = _shown(table.rows, ROWS_MAX if cuts else len(table.rows))
        yield from _table(table, shown, width, is_titled=len(analysis.tables) > 1)
        columns = columns_for(table)
        known = [*fixed_rate_lines(table), *told_apart_lines(shown, columns), *suspect_lines(shown, columns)]
        doubts += (Text(line, style="dim") for line in known)
    doubts = [*_doubts(analysis, compared), *doubts]
    yield from doubts[:1]
    said = [f"{trust_text(analysis)}.", summary.time_used(analysis), _left(len(doubts) - 1)]
    yield Text(" ".join([*([] if analysis.complete else [f"{_('incomplete')}."]), *said]))


def _left(doubts: int) -> str:
    if doubts < 1:
        return _("All of it: --verbose.")
    return plural(doubts, "{n} more doubt, and all of it: --verbose.", "{n} more doubts, and all of it: --verbose.")


def _compared(judged: Sequence[Comparison], width: int, most: int) -> Iterator[RenderableType]:
    """A line a comparison, what is decided first."""
    for one in judged[:most]:
        yield verdict_line(one, width)
    if left := len(judged[most:]):
        yield Text(_("… {left} more comparisons in the report", left=left), style="dim")


def _table(table: ResultTable, shown: Sequence[Row], width: int, *, is_titled: bool) -> Iterator[RenderableType]:
    """The rows, and what failed in them: an error by its kind with an example is no doubt, but what was found."""
    if is_titled:
        yield Text(fmt.plain(table.title), style="bold")
    yield grid_of(figure_table(columns_for(table), shown, vary=table.vary), width)
    if left := len(table.rows) - len(shown):
        yield Text(_("… {left} more rows in the report", left=left), style="dim")
    failed = (*failure_lines(table.rows, FAILED_MAX), *islice(example_lines(table.rows), 1))
    yield from (Text(line, style="yellow") for line in failed)


def _shown(rows: Sequence[Row], most: int) -> list[Row]:
    """Return so many rows in their order; those that are not valid are never left out for others."""
    first = sorted(range(len(rows)), key=lambda place: rows[place].verdict == "valid")[:most]
    return [rows[place] for place in sorted(first)]


def _doubts(analysis: Analysis, judged: Sequence[Comparison]) -> Iterator[RenderableType]:
    """What is to be doubted, the gravest first: what is invalid, what figures do not mean, comparisons that say less
    than they seem to, bounds, stalls, what is suspect where no bound says it, and how finely it can be told here."""
    failing = [check for check in summary.failing_first(analysis.checks) if check.invalid or check.suspect]
    yield from (bullet(check_line(check)) for check in failing if check.invalid)
    yield from (Text(fmt.sentence(meaning), style="yellow") for meaning in analysis.meanings)
    warnings = dict.fromkeys(fmt.sentence(warning) for one in judged for warning in one.warnings)
    yield from (Text(f"  {warning}", style="yellow") for warning in warnings)
    bounded = [*bound_lines(analysis), *stall_lines(analysis)]
    yield from (Text(line, style="yellow") for line in bounded)
    if not bounded:
        yield from (bullet(check_line(check)) for check in failing if not check.invalid)
    yield from (Text(f"  {floor}", style="dim") for floor in filter(None, map(verdicts.noise_floor, analysis.families)))
