"""The run of an experiment: its top function is the design, the eight stages in a line each."""

import shlex
import shutil
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from loadstone import registry
from loadstone.analyse.analysis import analyse
from loadstone.analyse.comparisons import look_at
from loadstone.analyse.model import Analysis
from loadstone.analyse.objectives import Objective, missed
from loadstone.conduct.campaign import Campaign
from loadstone.conduct.ceiling import CeilingGauge
from loadstone.conduct.conductor import Conductor, Unseen
from loadstone.conduct.crashes import Crashes
from loadstone.conduct.preflight import check_parts, start_parts
from loadstone.deploy.deployed import Ready
from loadstone.deploy.deployments import Deployments
from loadstone.deploy.placement import Placement, place
from loadstone.deploy.provider import DeployContext
from loadstone.drive.native import NativeDriver, engine_build, require_drivable, require_release_engine
from loadstone.errors import LoadstoneError
from loadstone.options import RunOptions, wanted_experiment, wanted_plan
from loadstone.overview import announce
from loadstone.plan.run_plan import RunPlan
from loadstone.record.environment import capture
from loadstone.record.folder import RunFolder, new_directory
from loadstone.record.names import LOGS, PLAN
from loadstone.record.plan_summary import summarise_plan
from loadstone.record.reading import read_histogram, read_plan
from loadstone.record.redact import redact
from loadstone.record.resume import require_same_run
from loadstone.record.space import check_space, estimate_bytes
from loadstone.report.progress import RunProgress
from loadstone.report.prometheus import LiveExporter
from loadstone.report.terminal import show
from loadstone.report.write import DEFAULT_FORMATS, write_report
from loadstone.spec.experiment import Experiment

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
        console.print(line, markup=False, soft_wrap=True)
    driver, stopping = NativeDriver(), threading.Event()
    progress = RunProgress(console)
    with ExitStack() as held:
        live = held.enter_context(LiveExporter(options.prometheus)) if options.prometheus is not None else Unseen()
        held.enter_context(_interruptible(driver, stopping))
        place_of_run = held.enter_context(_folder_of_run(options, experiment))
        context = DeployContext(
            placement.server_cpus,
            log_folder=place_of_run / LOGS,
            progress=progress.note,
            stopped=stopping.is_set,
        )
        servers = held.enter_context(Deployments(registry.server, context))
        if isinstance(live, LiveExporter):
            console.print(f"live figures for Prometheus: {live.url}", markup=False, soft_wrap=True)
        first, passwords = start_parts(servers, run_plan)
        with _open_folder(options, experiment, run_plan, placement, first, passwords, place_of_run) as folder:
            gauge = CeilingGauge(driver, DeployContext(cpus=placement.server_cpus))
            conductor = Conductor(servers, driver, gauge, folder, placement, stopping, progress.note, live)
            judge = partial(look_at, quick=options.quick, histograms=partial(read_histogram, folder.path))
            campaign = Campaign(conductor, folder, experiment, run_plan, progress, judge)
            ended = _run_all(campaign, Crashes(servers, driver, folder, stopping, progress.note), run_plan)
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
        console.print(f"written: {path}", markup=False, soft_wrap=True)
    return tuple(missed(objectives, analysis))


def _with_folders_budget(run_plan: RunPlan, options: RunOptions) -> RunPlan:
    """A resumed run has the budget that it had, if no other one is given. Raises UserError."""
    if options.resume is None or options.budget is not None:
        return run_plan
    return replace(run_plan, budget_s=read_plan(options.resume).budget_s)


def _open_folder(
    options: RunOptions,
    experiment: Experiment,
    run_plan: RunPlan,
    placement: Placement,
    ready: Ready,
    passwords: Sequence[str],
    path: Path,
) -> RunFolder:
    """The new folder with what is known before the first trial, or the one to go on with. Raises UserError."""
    summary = summarise_plan(run_plan)
    environment: dict[str, Any] = {
        **capture(
            placement=placement,
            servers={name: one.server for name, one in ready.servers.items()},
            endpoints={name: one.endpoint for name, one in ready.servers.items()},
            engine_build=engine_build(),
        ),
        "subjects": {name: {"ours": s.subject.ours, **s.subject.details} for name, s in ready.subjects.items()},
        "command": redact(shlex.join(["loadstone", *options.command]), passwords),
    }
    if options.resume is None:
        resolved = experiment.model_dump(mode="json", by_alias=True)
        return RunFolder.create(options.out, experiment.name, resolved, environment, summary, passwords, path)
    folder = RunFolder.resume(options.resume, passwords)
    try:
        require_same_run(options.resume, summary, environment)
        folder.write_plan(summary)
    except LoadstoneError:
        folder.close()
        raise
    return folder


@contextmanager
def _folder_of_run(options: RunOptions, experiment: Experiment) -> Iterator[Path]:
    """Where the run's folder is to be, for the logs of what is started first; removed if the run never began."""
    if options.resume is not None:
        yield options.resume
        return
    path = new_directory(options.out, experiment.name)
    try:
        yield path
    finally:
        if not (path / PLAN).exists():
            shutil.rmtree(path, ignore_errors=True)


def _run_all(campaign: Campaign, crashes: Crashes, run_plan: RunPlan) -> LoadstoneError | None:
    """Run what is not finished yet; the reason if it had to end early."""
    try:
        campaign.run()
        crashes.run(run_plan.crashes)
    except LoadstoneError as error:
        return error
    return None


@contextmanager
def _interruptible(driver: NativeDriver, stopping: threading.Event) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the run in order; a second one ends it at once (the servers' guards clean up)."""

    def stop(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 (the signal module's signature)
        if stopping.is_set():
            raise KeyboardInterrupt
        stopping.set()
        driver.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
