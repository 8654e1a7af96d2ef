"""Deploys what trials need (servers, tables, data, subjects), once, and keeps it up between them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from loadstone.experiment.plan.run_plan import PlannedTrial
from loadstone.experiment.plan.subject_keys import prefixes_in
from loadstone.machine.placement import OWN_CPUS
from loadstone.machine.processes.idle import by_name
from loadstone.programs.parts_behind import PartsBehind
from loadstone.programs.ready import RunningParts, RunningSubject
from loadstone.programs.subjects.pool import SubjectPool
from loadstone.programs.subjects.schema import make_tables
from loadstone.servers.data_rows import DataWriter
from loadstone.servers.deployed import RunningServer
from loadstone.servers.pool import ServerPool
from loadstone.servers.server import DeployContext, Server


class Deployments:
    """What the trials of a run need. A context manager: leaving it stops all that is ours."""

    def __init__(
        self,
        make_server: Callable[[str, Mapping[str, Any]], Server],
        context: DeployContext,
        behind: PartsBehind | None = None,
    ) -> None:
        """`make_server` is `servers.registry.make_server`: it validates the settings. `behind`: the parts of the run
        that are watched only; None: those that are found."""
        self._behind = PartsBehind(progress=context.progress) if behind is None else behind
        self._subjects = SubjectPool(context)
        self._servers = ServerPool(make_server, context, self._subjects.make_room)
        self._data = DataWriter(context)

    def need(self, planned: PlannedTrial) -> RunningParts:
        """What a trial runs on; started if it does not run yet, restarted if it died.

        A server that was started holds the subjects' tables and its data when this returns. What is up for other
        trials is held still until it is needed again (`held`).

        Raises:
            UserError: a part cannot be started, cannot serve, or cannot take its data.
            ServerGone: one that is not ours does not answer any more.
            Interrupted: the user requested a stop; what runs goes on until `stop`.
        """
        return self.need_all([planned])[0]

    def need_all(self, planned: Sequence[PlannedTrial], *, restarted: bool = False) -> list[RunningParts]:
        """What each of these trials runs on, all of it up at one time; equal parts are one part. Raises as `need`.

        `restarted`: servers and subjects of ours that run are started again.
        """
        self._subjects.expect([trial.subjects for trial in planned])
        if restarted:
            self._servers.restart([trial.servers for trial in planned])
            self._subjects.restart([trial.subjects for trial in planned])
        every = [self._ready(trial) for trial in planned]
        servers = {id(deployed): deployed for ready in every for deployed in ready.servers.values()}
        subjects = {id(deployed): deployed for ready in every for deployed in ready.subjects.values()}
        parked = self._hold_the_rest(servers.values(), subjects.values())
        return [replace(ready, parked=parked) for ready in every]

    def _ready(self, planned: PlannedTrial) -> RunningParts:
        """What a trial runs on, while others may run, too."""
        servers = self._servers.need(planned.servers)
        for name, subject in planned.subjects.items():
            manifest = self._subjects.manifest(subject)
            if manifest is not None:
                make_tables(name, *manifest, servers)
        self._data.write(planned.data, servers)
        self._subjects.keep_only(self._servers.all())
        if planned.subjects:
            _note_left_by_subjects(servers, self._prefixes(planned))
        _note_left_by_load(planned, servers)
        subjects = self._subjects.need(planned.subjects, servers, apart=_apart(planned))
        return RunningParts(servers, subjects, behind=self._behind.of(servers, subjects))

    def not_seen_at_work(self, subject: str) -> bool:
        """Whether it is not known yet what a subject connects to under load. From then on it is taken for known."""
        return self._behind.not_seen_at_work(subject)

    def look_behind(self, every: Sequence[RunningParts], asked_from_s: float | None = None) -> None:
        """Look again for what stands behind the subjects, which open some connections under load only.

        `asked_from_s`: when they began to be sent requests (monotonic), until now; None: they are at work.
        """
        looked_at: list[frozenset[int]] = []
        for ready in every:
            services = frozenset(pid for one in ready.subjects.values() for pid in one.subject.pids.values())
            again = services not in looked_at
            ready.behind = self._behind.of(ready.servers, ready.subjects, at_once=again, asked_from_s=asked_from_s)
            looked_at.append(services)

    def _prefixes(self, planned: PlannedTrial) -> list[str]:
        """What the trial's applications have their keys begin with, by their variables."""
        prefixes: list[str] = []
        for subject in planned.subjects.values():
            manifest = self._subjects.manifest(subject)
            declared = {} if manifest is None else manifest[0].environment
            prefixes += prefixes_in({**declared, **subject.environment})
        return prefixes

    def _hold_the_rest(
        self, servers: Collection[RunningServer], subjects: Collection[RunningSubject]
    ) -> dict[str, tuple[int, ...]]:
        """Hold still all that this trial does not need, subjects before what they work on; its processes by name.

        `need` lets a part go on before it is used again.
        """
        idle = self._subjects.hold_all_but(subjects, servers)
        return by_name([*idle, *self._servers.hold_all_but(servers)])

    def stop(self, *, leaves: bool = False) -> None:
        """Stop all that is ours, and leave what is not as it was. May be called more than once.

        `leaves`: millions of keys on servers that are not ours stay, for `loadstone clean`.
        """
        try:
            self._subjects.stop()
        finally:
            self._servers.stop(leaves=leaves)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(leaves=kind is KeyboardInterrupt)  # nobody waits any more


def _note_left_by_load(planned: PlannedTrial, servers: Mapping[str, RunningServer]) -> None:
    """What the load leaves in a server of the user's beside the keys of the plan, which a trial removes itself."""
    commands = [command.args for operation in planned.plan.operations for command in operation.commands]
    commands += [command.args for one in (planned.load.operations if planned.load else ()) for command in one.commands]
    for name, deployed in servers.items():
        if not deployed.server.ours and planned.target in (None, name):
            deployed.traces.note(*deployed.control.left_by_load(commands, planned.plan.keys.prefix))


def _note_left_by_subjects(servers: Mapping[str, RunningServer], prefixes: Sequence[str]) -> None:
    """A subject may leave something in every server that it may have."""
    for deployed in servers.values():
        deployed.traces.note(*deployed.control.left_by_subjects(prefixes))


def _apart(planned: PlannedTrial) -> bool:
    """Whether a server of the trial has CPUs of its own, which its applications leave to it."""
    return any(settings.get("cpus") == OWN_CPUS for settings in planned.servers.values())
