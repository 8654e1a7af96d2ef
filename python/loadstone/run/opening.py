"""Opens what a run needs before its first trial, and closes it after the last one, whatever happens."""

import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from loadstone.drivers.driver import Driver
from loadstone.drivers.native import NativeDriver, engine_build
from loadstone.drivers.outcome import AgentState, OnStates
from loadstone.experiment.plan.labels import label_of
from loadstone.experiment.plan.look_schedule import schedule_of
from loadstone.experiment.spec.experiment import Experiment
from loadstone.judge.compare.sides import declared_as, names_shown
from loadstone.machine import clock
from loadstone.machine.limits_in_force import recorded
from loadstone.machine.start_context import Stays
from loadstone.measure.ceiling import CeilingGauge
from loadstone.measure.conductor import BlockRunner
from loadstone.measure.crashes import Crashes
from loadstone.measure.machine_lock import OtherRun, measuring
from loadstone.measure.measurement import DisplayTarget, Measurement
from loadstone.programs.clients.drivers import Drivers, add_programs
from loadstone.programs.deployments import Deployments
from loadstone.programs.parts_behind import PartsBehind
from loadstone.programs.ready import RunningParts
from loadstone.report.live.events import RunEvents
from loadstone.report.live.progress import RunProgress
from loadstone.report.live.prometheus import LiveExporter
from loadstone.run.environment import capture
from loadstone.run.load_source import LoadSource, MonitorsOf, OpeningRun
from loadstone.run.parts_behind import NamedParts
from loadstone.run.preflight import start_parts
from loadstone.run.prepare import Prepared
from loadstone.run.request import RunRequest
from loadstone.run_folder.files import EVENTS, LOGS, PLAN
from loadstone.run_folder.folder import RunFolder, new_directory
from loadstone.run_folder.ledger_file import RunLedger, is_needed
from loadstone.run_folder.lines import LineFile
from loadstone.run_folder.newest_runs import mark, unmark
from loadstone.run_folder.plan_summary import summarise_plan
from loadstone.run_folder.resume import require_same_run
from loadstone.safety.bounds.disk import disk
from loadstone.safety.bounds.folder_files import is_file
from loadstone.safety.errors import LoadstoneError
from loadstone.safety.secrets.command_line import hidden_arguments
from loadstone.safety.terminal import discard, on_terminal
from loadstone.servers import registry
from loadstone.servers.remote_host import no_hosts
from loadstone.servers.server import DeployContext, Server


@dataclass(frozen=True)
class Dependencies:
    """What stands behind each seam of a run. Tests put fakes there."""

    driver: Callable[[], Driver] = NativeDriver
    server: Callable[[str, Mapping[str, Any]], Server] = registry.make_server
    monitors: MonitorsOf = registry.monitors
    gauge: Callable[[Driver, DeployContext], CeilingGauge] = CeilingGauge
    monotonic_s: Callable[[], float] = time.monotonic
    unix_ns: Callable[[], int] = clock.unix_ns


REAL = Dependencies()


@dataclass(frozen=True)
class OpenRun:
    """A run that may begin: its folder is open and its parts run."""

    folder: RunFolder
    conductor: BlockRunner
    crashes: Crashes


@contextmanager
def open_run(
    options: RunRequest,
    run: Prepared,
    progress: RunProgress,
    announcement: Sequence[str] = (),
    seams: Dependencies = REAL,
) -> Iterator[OpenRun]:
    """The folder of a run that is prepared, with all that runs for it; closed at the end, or when it is interrupted.

    The lines of the `announcement` are noted before anything starts, but not before folder and port are found good.

    Raises:
        UserError: a part cannot be started, or the folder to go on with is another run's.
        ServerGone: a server that is not ours does not answer.
    """
    drivers, stopping = Drivers(seams.driver()), threading.Event()
    with ExitStack() as held:
        live = held.enter_context(LiveExporter(options.prometheus)) if options.prometheus is not None else None
        held.enter_context(_interruptible(drivers, stopping, progress.events))
        path = held.enter_context(_folder_of_run(options, run.experiment))
        others = held.enter_context(measuring(path, share=options.share_machine, remark=progress.note))
        ledger = held.enter_context(_ledger_of_run(path, progress.note))
        show = _both(progress.agents, live)
        source = held.enter_context(_load_source(options, run, drivers, show, progress.note, stopping.is_set))
        hosts = no_hosts if source is None else held.enter_context(source.hosts())
        monitors = seams.monitors
        if source is not None:
            monitors = held.enter_context(source.monitors(seams.monitors, progress.note))
        cpus, step = run.placement.server_cpus, progress.step
        context = DeployContext(
            cpus=cpus,
            generator_cpus=run.placement.generator_cpus,
            log_folder=path / LOGS,
            run_folder=path,
            progress=step,
            stopped=stopping.is_set,
            ledger=ledger,
            host_of=hosts,
        )
        named = run.behind or NamedParts()
        for part in named.parts:
            if part.control is not None:
                held.callback(part.control.close)
        behind = PartsBehind(named.parts, finds=named.finds, progress=step)
        parts = held.enter_context(Deployments(seams.server, context, behind))
        for line in (*announcement, *(() if live is None else (f"live figures for Prometheus: {live.url}",))):
            progress.note(line)
        add_programs(drivers, run.run_plan, context)
        first = start_parts(parts, run.run_plan, all_at_once=schedule_of(run.experiment).starts_all)
        folder = held.enter_context(_open_folder(options, run, first, path, others, drivers, source))
        with suppress(LoadstoneError):  # what is measured needs no one who follows it
            progress.events.open(LineFile(folder.path / EVENTS), **_planned(run))
        if options.watch:
            options.carried_out_by("watch")(folder.path, progress.note_here)
        shown = DisplayTarget(progress, live, partial(label_of, run.experiment))
        measurement = Measurement(parts, drivers, run.placement, stopping, progress, shown, monitors)
        gauge = seams.gauge(drivers.native, DeployContext(cpus=cpus))
        yield OpenRun(folder, BlockRunner(measurement, gauge, folder, seams.unix_ns), Crashes(measurement))


@contextmanager
def _load_source(
    options: RunRequest,
    run: Prepared,
    drivers: Drivers,
    show: OnStates,
    note: Callable[[str], None],
    stopped: Callable[[], bool],
) -> Iterator[LoadSource | None]:
    """What makes the load in the engine's place, while the run needs it; None: nothing does. Raises LoadstoneError."""
    if run.source is None:
        yield None
        return
    opening = OpeningRun(options.lost_agent, note, show, drivers.pids, stopped)
    with run.source.open(opening) as source:
        drivers.elsewhere = source.driver
        yield source


def _both(terminal: OnStates, exporter: LiveExporter | None) -> OnStates:
    """Tells both how the agents of a fleet are."""

    def show(states: Sequence[AgentState]) -> None:
        terminal(states)
        if exporter is not None:
            exporter.agents(states)

    return show


def _planned(run: Prepared) -> dict[str, Any]:
    """What is planned, for those who follow the run: without it they see where it is, and not how far that is."""
    plan, groups = run.run_plan, run.run_plan.groups
    compared = [
        {
            "name": group.name,
            "question": declared.question if (declared := declared_as(run.experiment, group.name)) else "",
            "pairs": names_shown(run.experiment, group),
            "unit": group.unit,
            "looks": [group.replicates(look) for look in group.looks],
            "metric": group.metric,
            "margin": group.margin,
        }
        for group in groups
        if group.pairs
    ]
    return {
        "experiment": plan.experiment,
        "question": run.experiment.question,
        "quick": plan.quick,
        "expected_s": round(plan.expected_s(), 1),
        "budget_s": plan.budget_s,
        "groups": compared,
    }


def _open_folder(
    options: RunRequest,
    run: Prepared,
    ready: RunningParts,
    path: Path,
    others: Sequence[OtherRun],
    drivers: Drivers,
    source: LoadSource | None,
) -> RunFolder:
    """The new folder with what is known before the first trial, or the one to go on with. Raises UserError."""
    summary = summarise_plan(run.run_plan)
    environment: dict[str, Any] = {
        **capture(
            placement=run.placement,
            servers={name: deployed.server for name, deployed in ready.servers.items()},
            endpoints={name: deployed.endpoint for name, deployed in ready.servers.items()},
            engine_build=engine_build(),
        ),
        "subjects": {
            name: {"ours": s.subject.ours, "limits": recorded(s.subject.limits), **s.subject.details}
            for name, s in ready.subjects.items()
        },
        **({"drivers": found} if (found := drivers.details()) else {}),
        **({} if source is None else {"fleet": source.recorded()}),
        "command": shlex.join(hidden_arguments(["loadstone", *options.command])),
        "other_runs": [other.recorded for other in others],
    }
    if options.resume is None:
        resolved = run.experiment.model_dump(mode="json", by_alias=True)
        return RunFolder.create(options.out, run.experiment.name, resolved, environment, summary, path)
    folder = RunFolder.resume(options.resume)
    try:
        require_same_run(options.resume, summary, environment)
        folder.write_plan(summary)
        folder.add_other_runs(environment["other_runs"])
    except BaseException:
        folder.close()
        raise
    return folder


@contextmanager
def _folder_of_run(options: RunRequest, experiment: Experiment) -> Iterator[Path]:
    """Where the run's folder is to be, for the logs of what is started first.

    Removed if it is a new one and the run never began, and left nothing on a server that its ledger must name.
    """
    path = options.resume or new_directory(options.out, experiment.name)
    newest_kept = options.newest_kept if options.resume is None else unmark(path)
    try:
        yield path
    finally:
        began = is_file(path / PLAN)
        if began and newest_kept:
            mark(path)
        elif not began and options.resume is None and not is_needed(path):
            disk().remove_tree(path)


@contextmanager
def _ledger_of_run(path: Path, note: Callable[[str], None]) -> Iterator[RunLedger]:
    """What the run makes on servers that are not ours; at the end it is said where what earlier sessions left stays."""
    ledger = RunLedger(path)
    try:
        yield ledger
    finally:
        for line in ledger.earlier_lines():
            note(Stays(line))
        ledger.close()


@contextmanager
def _interruptible(drivers: Drivers, stopping: threading.Event, events: RunEvents) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a closed terminal end the run in order; a second one ends it at once.

    Then the servers' guards clean up, and `loadstone clean` on servers that are not ours. Where a closed terminal is
    to be ignored (`nohup`), it is.
    """

    def stop(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 (the signal module's signature)
        if signum == signal.SIGHUP:
            for stream in terminals:
                discard(stream)
        if stopping.is_set():
            if signum == signal.SIGHUP:  # a shell and its terminal send one each: that is no second request
                return
            raise KeyboardInterrupt
        stopping.set()
        drivers.stop()
        events.stopping = True

    terminals = on_terminal()
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
