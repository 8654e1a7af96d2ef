"""The run of an experiment: its top function is the design, the eight stages in a line each."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from loadstone.analyse.analysis import analyse
from loadstone.analyse.comparisons import look_at
from loadstone.analyse.model import Analysis
from loadstone.analyse.objectives import Objective, missed
from loadstone.conduct.campaign import Campaign
from loadstone.conduct.crashes import Crashes
from loadstone.conduct.opening import opened
from loadstone.conduct.preflight import check_parts
from loadstone.deploy.placement import place
from loadstone.drive.native import require_drivable, require_release_engine
from loadstone.errors import LoadstoneError
from loadstone.options import RunOptions, wanted_experiment, wanted_plan
from loadstone.overview import announce
from loadstone.plan.run_plan import RunPlan
from loadstone.record.reading import read_histogram, read_plan
from loadstone.record.redact import redact
from loadstone.record.space import check_space, estimate_bytes
from loadstone.report.progress import RunProgress
from loadstone.report.terminal import show
from loadstone.report.write import DEFAULT_FORMATS, write_report

MISSED_STATUS = 1
INVALID_STATUS = 3
REPORT = "report.html"


@dataclass(frozen=True)
class Outcome:
    """Where the run's folder is, the objectives that were missed in a line each, and the exit status it deserves."""

    folder: Path
    missed: tuple[str, ...]
    status: int


def run(options: RunOptions, console: Console, objectives: Sequence[Objective] = ()) -> Outcome:
    """Run an experiment from its spec to its report. Raises LoadstoneError; what was finished is kept."""
    require_release_engine()
    experiment = wanted_experiment(options)
    placement = place()
    run_plan = _with_folders_budget(wanted_plan(experiment, options, placement.generator_cpus), options)
    for trial in run_plan.trials:
        if trial.block == 1:
            require_drivable(trial.plan)
    check_parts(run_plan)
    check_space(options.resume or options.out, estimate_bytes(run_plan))
    for line in announce(run_plan, experiment):
        _say(console, line)
    progress = RunProgress(console)
    with opened(options, experiment, run_plan, placement, progress.note, partial(_say, console)) as parts:
        folder = parts.folder
        judge = partial(look_at, quick=options.quick, histograms=partial(read_histogram, folder.path))
        campaign = Campaign(parts.conductor, folder, experiment, run_plan, progress, judge)
        ended = _run_all(campaign, parts.crashes, run_plan)
        progress.note("writing the report")
        analysis = analyse(folder.path)
        folder.write_analysis(analysis.model_dump(mode="json"))
    write_report(analysis, folder.path, DEFAULT_FORMATS)
    show(analysis, folder.path / REPORT, console)
    if ended is not None:
        raise _advised(ended, folder.path, options)
    return _outcome(folder.path, analysis, objectives)


def report_run(
    folder: Path, formats: tuple[str, ...], console: Console, objectives: Sequence[Objective] = ()
) -> tuple[str, ...]:
    """Analyse a run's folder and write its reports; the objectives that were missed. Raises UserError."""
    analysis = analyse(folder)
    written = write_report(analysis, folder, ("json", *formats))
    show(analysis, folder / REPORT if "html" in formats else None, console)
    for path in written:
        _say(console, f"written: {path}")
    return tuple(missed(objectives, analysis))


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)


def _with_folders_budget(run_plan: RunPlan, options: RunOptions) -> RunPlan:
    """A resumed run has the budget that it had, if no other one is given. Raises UserError."""
    if options.resume is None or options.budget is not None:
        return run_plan
    return replace(run_plan, budget_s=read_plan(options.resume).budget_s)


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
    given = [word for word in options.command if word != "--resume" and word != str(options.resume)]
    advice = redact(f"go on with: {shlex.join(['loadstone', *given])} --resume {shlex.quote(str(folder))}")
    return type(error)(f"{error}; {advice}")


def _outcome(folder: Path, analysis: Analysis, objectives: Sequence[Objective]) -> Outcome:
    """Status 1 if an objective was missed, else 3 if a condition or a comparison could not be measured, else 0."""
    lines = tuple(missed(objectives, analysis))
    rows = [row for table in analysis.tables for row in table.rows]
    compared = [comparison for family in analysis.families for comparison in family.comparisons]
    invalid = any(row.verdict in ("invalid", "missing") for row in rows) or any(
        comparison.primary.kind == "invalid" for comparison in compared
    )
    return Outcome(folder, lines, MISSED_STATUS if lines else INVALID_STATUS if invalid else 0)
