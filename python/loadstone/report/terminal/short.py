"""What a command that was typed for one figure prints: the answer, the table, and what is to be doubted most.

The rest stands in the report, and with `--verbose` on the terminal (`report.terminal.outcome`).
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from rich.console import Console, RenderableType
from rich.text import Text

from loadstone.judge.analysis.analysis import Analysis, ResultTable, Row
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
from loadstone.text.language import _

ROWS_MAX = 20
"""Rows of a table on a terminal; a pipe takes all of them."""
COMPARED_MAX = 20
"""Comparisons on a terminal."""
BESIDE_MAX = 3
"""Lines on a terminal of what is to be known beside comparisons."""
FAILED_MAX = 3
"""Rows whose errors are named; and replies that are shown."""


def print_short(console: Console, analysis: Analysis) -> None:
    """Print it."""
    for part in _parts(analysis, console.width, cuts=console.is_terminal):
        console.print(part)


def _parts(analysis: Analysis, width: int, *, cuts: bool) -> Iterator[RenderableType]:
    """`cuts`: a terminal has room for so many rows and comparisons."""
    yield Text(fmt.sentence(analysis.headline) or fmt.sentence(analysis.answer), style="bold cyan")
    yield from (Text(fmt.sentence(meaning), style="yellow") for meaning in analysis.meanings)
    if scaled := summary.scaled(analysis):
        yield Text(scaled, style="yellow")
    yield from _compared(analysis, width, COMPARED_MAX if cuts else None)
    for table in analysis.tables:
        yield from _table(table, width, len(analysis.tables) > 1, ROWS_MAX if cuts else len(table.rows))
    yield from _doubts(analysis)
    said = [f"{trust_text(analysis)}.", summary.time_used(analysis), _("All of it: --verbose.")]
    yield Text(" ".join([*([] if analysis.complete else [f"{_('incomplete')}."]), *said]))


def _compared(analysis: Analysis, width: int, most: int | None) -> Iterator[RenderableType]:
    """A line a comparison, what is decided first, with what is to be known of it."""
    judged = sorted(verdicts.all_comparisons(analysis), key=says_little)
    for one in judged[:most]:
        yield verdict_line(one, width)
    if left := len(judged[most:] if most is not None else ()):
        yield Text(_("… {left} more comparisons in the report", left=left), style="dim")
    beside = len(judged) if most is None else BESIDE_MAX
    warnings = list(dict.fromkeys(fmt.sentence(warning) for one in judged for warning in one.warnings))
    yield from (Text(f"  {warning}", style="yellow") for warning in warnings[:beside])
    floors = [*filter(None, map(verdicts.noise_floor, analysis.families))]
    yield from (Text(f"  {floor}", style="dim") for floor in floors[:beside])


def _table(table: ResultTable, width: int, is_titled: bool, most: int) -> Iterator[RenderableType]:
    if is_titled:
        yield Text(fmt.plain(table.title), style="bold")
    shown = _shown(table.rows, most)
    columns = columns_for(table)
    yield grid_of(figure_table(columns, shown, vary=table.vary), width)
    if left := len(table.rows) - len(shown):
        yield Text(_("… {left} more rows in the report", left=left), style="dim")
    known = [*fixed_rate_lines(table), *told_apart_lines(shown, columns), *suspect_lines(shown, columns)]
    yield from (Text(line, style="dim") for line in known[:1])
    failed = (*failure_lines(table.rows, FAILED_MAX), *islice(example_lines(table.rows), FAILED_MAX))
    yield from (Text(line, style="yellow") for line in failed)


def _shown(rows: Sequence[Row], most: int) -> list[Row]:
    """Return so many rows in their order; those that are not valid are never left out for others."""
    first = sorted(range(len(rows)), key=lambda place: rows[place].verdict == "valid")[:most]
    return [rows[place] for place in sorted(first)]


def _doubts(analysis: Analysis) -> Iterator[RenderableType]:
    """Every check for which something is invalid; else the first of a bound, a stall, and what is suspect."""
    failed = [check for check in summary.failing_first(analysis.checks) if check.invalid or check.suspect]
    if invalid := [check for check in failed if check.invalid]:
        yield from (bullet(check_line(check)) for check in invalid)
        return
    lines = [*bound_lines(analysis), *stall_lines(analysis, most=1)]
    if lines:
        yield Text(lines[0], style="yellow")
    elif failed:
        yield bullet(check_line(failed[0]))
