"""The run of an experiment: its top function is the design, the eight stages in a line each."""

import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from loadstone import registry
from loadstone.analyse.analysis import analyse
from loadstone.analyse.labels import label_of
from loadstone.analyse.model import Analysis
from loadstone.ceiling import CeilingGauge
from loadstone.conductor import Conductor
from loadstone.deploy.deployments import Deployed, Deployments
from loadstone.deploy.placement import Placement, place
from loadstone.deploy.provider import DeployContext
from loadstone.drive.native import NativeDriver, engine_build, require_drivable, require_release_engine
from loadstone.drive.outcome import Interval
from loadstone.errors import LoadstoneError
from loadstone.options import RunOptions, wanted_experiment, wanted_plan
from loadstone.plan.run_plan import RunPlan
from loadstone.record.environment import capture
from loadstone.record.folder import RunFolder
from loadstone.record.plan_summary import summarise_plan
from loadstone.record.redact import redact
from loadstone.record.resume import require_same_run
from loadstone.record.space import check_space, estimate_bytes
from loadstone.report.progress import RunProgress
from loadstone.report.terminal import show
from loadstone.report.write import DEFAULT_FORMATS, write_report
from loadstone.spec.experiment import Experiment

INVALID_STATUS = 3
REPORT = "report.html"


@dataclass(frozen=True)
class Outcome:
    """Where the run's folder is, and the exit status that the run deserves."""

    folder: Path
    status: int


def run(options: RunOptions, console: Console) -> Outcome:
    """Run an experiment from its spec to its report. Raises LoadstoneError; what was finished is kept."""
    require_release_engine()
    experiment = wanted_experiment(options)
    placement = place()
    run_plan = wanted_plan(experiment, options, placement.generator_cpus)
    for condition_plan in {trial.plan for trial in run_plan.trials if trial.block == 1}:
        require_drivable(condition_plan)
    check_space(options.resume or options.out, estimate_bytes(run_plan))
    driver, stopping = NativeDriver(), threading.Event()
    progress = RunProgress(console)
    context = DeployContext(cpus=placement.server_cpus, progress=progress.note)
    with _interruptible(driver, stopping), Deployments(registry.server, context) as servers:
        first = servers.need(run_plan.trials[0].servers)
        with _open_folder(options, experiment, run_plan, placement, first) as folder:
            gauge = CeilingGauge(driver, DeployContext(cpus=placement.server_cpus))
            conductor = Conductor(servers, driver, gauge, folder, placement, stopping)
            ended = _run_trials(conductor, experiment, run_plan, progress)
            progress.note("writing the report")
            analysis = analyse(folder.path)
            folder.write_analysis(analysis.model_dump(mode="json"))
    write_report(analysis, folder.path, DEFAULT_FORMATS)
    show(analysis, folder.path / REPORT, console)
    if ended is not None:
        raise _advised(ended, folder.path, options)
    return Outcome(folder.path, _status(analysis))


def report_run(folder: Path, formats: tuple[str, ...], console: Console) -> None:
    """Analyse a run's folder and write its reports. Raises UserError."""
    analysis = analyse(folder)
    written = write_report(analysis, folder, ("json", *formats))
    show(analysis, folder / REPORT if "html" in formats else None, console)
    for path in written:
        console.print(f"written: {path}", markup=False, soft_wrap=True)


def _open_folder(
    options: RunOptions,
    experiment: Experiment,
    run_plan: RunPlan,
    placement: Placement,
    deployed: Mapping[str, Deployed],
) -> RunFolder:
    """A new folder, or the one to go on with. Raises UserError."""
    summary = summarise_plan(run_plan)
    passwords = [one.endpoint.password for one in deployed.values() if one.endpoint.password]
    environment: dict[str, Any] = {
        **capture(
            placement=placement,
            servers={name: one.server for name, one in deployed.items()},
            endpoints={name: one.endpoint for name, one in deployed.items()},
            engine_build=engine_build(),
        ),
        "command": redact(shlex.join(["loadstone", *options.command]), passwords),
    }
    if options.resume is None:
        resolved = experiment.model_dump(mode="json", by_alias=True)
        return RunFolder.create(options.out, experiment.name, resolved, environment, summary, passwords)
    folder = RunFolder.resume(options.resume, passwords)
    try:
        require_same_run(options.resume, summary, environment)
    except LoadstoneError:
        folder.close()
        raise
    return folder


def _run_trials(
    conductor: Conductor, experiment: Experiment, run_plan: RunPlan, progress: RunProgress
) -> LoadstoneError | None:
    """Run what is not finished yet; the reason if it had to end early."""
    pending = [trial for trial in run_plan.trials if trial.name not in conductor.folder.finished]
    left_s = replace(run_plan, trials=tuple(pending)).expected_s()
    progress.start(len(run_plan.trials), left_s)
    try:
        for number, trial in enumerate(pending, start=1 + len(run_plan.trials) - len(pending)):
            progress.trial(trial.name, label_of(experiment, trial.condition), number)
            record = conductor.run(trial, _reporting(progress))
            reasons = [check.reason for check in record.checks if check.verdict in ("suspect", "invalid")]
            progress.finished(record.verdict, reasons)
    except LoadstoneError as error:
        return error
    finally:
        progress.stop()
    return None


def _reporting(progress: RunProgress) -> Callable[[Interval], None]:
    def show(interval: Interval) -> None:
        done = sum(operation.ok for operation in interval.operations.values())
        p99_ns = max((operation.response_ns.p99 for operation in interval.operations.values()), default=0)
        if interval.duration_s > 0:
            progress.live(done / interval.duration_s, p99_ns or None, interval.phase)

    return show


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


def _status(analysis: Analysis) -> int:
    """0, or 3 if a condition has no trial that counts."""
    rows = [row for table in analysis.tables for row in table.rows]
    return INVALID_STATUS if any(row.verdict in ("invalid", "missing") for row in rows) else 0
