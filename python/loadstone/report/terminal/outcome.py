"""The outcome for a terminal: the end in at most 25 lines, or all tables, conclusions and what failed."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console, RenderableType
from rich.text import Text

from loadstone.judge.analysis.analysis import Analysis
from loadstone.report import figure_format as fmt
from loadstone.report import summary
from loadstone.report.sections.of_analysis import document_of
from loadstone.report.sections.opening import opening_blocks
from loadstone.report.terminal.ending import print_ending
from loadstone.report.terminal.sections import blocks, sections
from loadstone.safety.console import remarks


def show(
    analysis: Analysis,
    report: Path | None = None,
    console: Console | None = None,
    *,
    folder: Path | None = None,
    verbose: bool = False,
    typed: bool = False,
) -> None:
    """Print the outcome of a run: the end, or with `verbose` everything that the report has for a terminal.

    `report` is the page that was written, `folder` the run's, for the command that resumes it.
    `typed`: all that was asked stands in the command.
    """
    console = console or remarks()
    if not verbose:
        print_ending(console, analysis, report, folder, typed=typed)
        return
    for part in _parts(analysis, report, console.width):
        console.print(part)


def _parts(analysis: Analysis, report: Path | None, width: int) -> Iterator[RenderableType]:
    yield Text()
    yield Text(fmt.plain(analysis.question), style="bold")
    yield from blocks(opening_blocks(analysis), width)
    badges = [fmt.plain(badge) for badge, _ in summary.status_marks(analysis)]
    yield Text("; ".join([summary.trials(analysis), *badges]), style="dim")
    yield from sections(document_of(analysis).of("terminal"), width)
    for note in analysis.notes:
        yield Text(fmt.sentence(note), style="dim")
    yield Text()
    if used := summary.time_used(analysis):
        yield Text(used)
    if report is not None:
        yield Text.assemble(("Report: ", "bold"), fmt.plain(str(report)))
