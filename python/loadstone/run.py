"""The run of an experiment: its top function is the design, the eight stages in a line each."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from loadstone.analyse.analysis import analyse
from loadstone.analyse.comparisons import look_at
from loadstone.analyse.model import DECIDED, Analysis
from loadstone.analyse.objectives import Objective, missed
from loadstone.analyse.tables import is_too_far
from loadstone.conduct.campaign import Campaign
from loadstone.conduct.crashes import Crashes
from loadstone.conduct.opening import opened
from loadstone.errors import LoadstoneError
from loadstone.options import RunOptions
from loadstone.overview import announce
from loadstone.plan.run_plan import RunPlan
from loadstone.prepare import Prepared
from loadstone.record.reading import read_histogram
from loadstone.report.progress import RunProgress
from loadstone.report.terminal import show
from loadstone.report.write import DEFAULT_FORMATS, write_report
from loadstone.secrecy.command import hidden_words
from loadstone.secrecy.text import HIDDEN

MISSED_STATUS = 1
INVALID_STATUS = 3
REPORT = "report.html"


@dataclass(frozen=True)
class Outcome:
    """Where the run's folder is, the objectives that were missed in a line each, and the exit status it deserves."""

    folder: Path
    missed: tuple[str, ...]
    status: int


def run(
    options: RunOptions, prepared: Prepared, results: Console, remarks: Console, objectives: Sequence[Objective] = ()
) -> Outcome:
    """Run a prepared experiment up to its report. Raises LoadstoneError; what was finished is kept.

    The outcome is printed on `results`, and all else on `remarks`.
    """
    experiment, run_plan = prepared.experiment, prepared.run_plan
    announcement = () if options.quiet else announce(run_plan, experiment)
    progress = RunProgress(remarks, verbose=options.verbose, quiet=options.quiet)
    opening = opened(options, experiment, run_plan, prepared.placement, progress.step, progress.note, announcement)
    with progress, opening as parts:
        folder = parts.folder
        judge = partial(look_at, quick=options.quick, histograms=partial(read_histogram, folder.path))
        began_s = options.began_s
        campaign = Campaign(parts.conductor, folder, experiment, run_plan, progress, judge, began_s=began_s)
        ended = _run_all(campaign, parts.crashes, run_plan)
        progress.step("writing the report")
        analysis = analyse(folder.path)
        folder.write_analysis(analysis.model_dump(mode="json"))
    write_report(analysis, folder.path, DEFAULT_FORMATS)
    show(analysis, folder.path / REPORT, results, folder=folder.path, verbose=options.verbose)
    if ended is not None:
        raise _advised(ended, folder.path, options)
    return _outcome(folder.path, analysis, objectives)


def report_run(
    folder: Path,
    formats: tuple[str, ...],
    results: Console,
    remarks: Console,
    objectives: Sequence[Objective] = (),
    *,
    verbose: bool = False,
) -> tuple[str, ...]:
    """Analyse a run's folder and write its reports; the objectives that were missed. Raises UserError."""
    analysis = analyse(folder)
    written = write_report(analysis, folder, ("json", *formats))
    show(analysis, folder / REPORT if "html" in formats else None, results, folder=folder, verbose=verbose)
    _say(remarks, f"Written: {len(written)} {'file' if len(written) == 1 else 'files'} in {folder}")
    return tuple(missed(objectives, analysis))


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)


def _run_all(campaign: Campaign, crashes: Crashes, run_plan: RunPlan) -> LoadstoneError | None:
    """Run what is not finished yet; the reason if it had to end early."""
    try:
        campaign.run()
        crashes.run(run_plan.crashes)
    except LoadstoneError as error:
        return error
    return None


def _advised(error: LoadstoneError, folder: Path, options: RunOptions) -> LoadstoneError:
    """The same error, with the command that goes on where it ended."""
    words = ["loadstone", "run", "--resume", str(folder)]
    for server in options.servers:
        if HIDDEN in hidden_words(["--server", server])[1]:  # the folder keeps no password
            words += ["--server", f"{server.partition('=')[0]}=URL"]
    return type(error)(f"{error}; go on with: {shlex.join(words)}")


def _outcome(folder: Path, analysis: Analysis, objectives: Sequence[Objective]) -> Outcome:
    """Status 1 if an objective was missed, else 3 if something could not be measured or broke its promise, else 0.

    A row whose bound alone refuses the figure is no failure where comparisons were decided: those hold.
    """
    lines = tuple(missed(objectives, analysis))
    rows = [row for table in analysis.tables for row in table.rows]
    compared = [comparison for family in analysis.families for comparison in family.comparisons]
    nothing = bool(rows) and all(row.verdict == "missing" for row in rows)  # some: the budget did not reach them
    decided = any(one.primary.kind in DECIDED for one in compared)
    refused = [row for row in rows if row.verdict == "invalid" and not (decided and is_too_far(row.bound))]
    broken = any(row.broken for table in analysis.crashes for row in table.rows)
    invalid = bool(refused) or broken or any(one.primary.kind == "invalid" for one in compared)
    return Outcome(folder, lines, MISSED_STATUS if lines else INVALID_STATUS if invalid or nothing else 0)
