"""Checks before the first trial whether a run's parts, their room and its connections are there.

What can be read is read first, servers of the user's are asked next, and last all servers are started.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from loadstone.experiment.plan.drive_plan import Closed, Plan
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.experiment.spec.problems import first_problem
from loadstone.machine.ports import WIDEN, local_ports
from loadstone.machine.processes.resource_limits import Limits
from loadstone.programs.manifest import read_manifest
from loadstone.programs.ready import RunningParts, RunningSubject
from loadstone.programs.subjects.url import UrlSubject, parse_subject_url
from loadstone.safety.bounds.deadlines import OPENING, with_deadline
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers import registry
from loadstone.servers.control import LimitsValues
from loadstone.servers.deployed import RunningServer
from loadstone.servers.server import DeployContext, Server
from loadstone.text.message import said

if TYPE_CHECKING:  # it takes time to load, and a command line is checked before it is needed
    from loadstone.programs.deployments import Deployments


def check_parts(run_plan: RunPlan) -> None:
    """Read every server's settings, manifest and URL that the run may need, and start nothing.

    Raises:
        UserError: one of them is wrong; names the part and the field.
    """
    for trial in _distinct(run_plan):
        for name, settings in trial.servers.items():
            registry.make_server(name, settings)
        for name, subject in trial.subjects.items():
            _check_limits(name, subject.limits)
            if subject.manifest is not None:
                read_manifest(Path(subject.manifest))
            for url in subject.urls:
                parse_subject_url(url)


def ask_users_parts(run_plan: RunPlan) -> None:
    """Ask the servers and subjects of the user's once whether they can be loaded, and leave them as they were.

    Raises:
        UserError: one cannot be reached, cannot serve what the run needs, or has no room for it.
    """
    known: set[str] = set()
    for trial in _distinct(run_plan):
        for name, settings in trial.servers.items():
            server = registry.make_server(name, settings)
            if not server.ours and repr((name, settings)) not in known:
                known.add(repr((name, settings)))
                server.start(DeployContext(only_asking=True))
                try:
                    require_room(server, [one for one in run_plan.every_trial if one.servers.get(name) == settings])
                finally:
                    server.stop()
        for name, subject in trial.subjects.items():
            if subject.urls and repr((name, subject.urls)) not in known:
                known.add(repr((name, subject.urls)))
                UrlSubject(name, subject.urls).start(DeployContext())


def _check_limits(name: str, limits: Mapping[str, object]) -> None:
    try:
        Limits.model_validate(limits)
    except ValidationError as error:
        path, sentence = first_problem(error, Limits, limits)
        raise UserError(
            "subjects.{name}.limits.{str}: {sentence}", name=name, str=".".join(map(str, path)), sentence=sentence
        ) from None


def start_parts(parts: "Deployments", run_plan: RunPlan, *, all_at_once: bool = False) -> RunningParts:
    """Start every server that the run needs, and the first application; what runs, by name.

    Of several servers of one name (a setting is varied) it is the first. The other applications are started when
    their first trial comes, because each takes long and much memory; with `all_at_once` all of them,
    as those that take turns.

    Raises:
        UserError: one cannot be started, or does not take what is to be stored on it.
        ServerGone: one that is not ours does not answer.
    """
    servers: dict[str, RunningServer] = {}
    subjects: dict[str, RunningSubject] = {}
    for trial in _distinct(run_plan):
        bare = parts.need(replace(trial, subjects={}, data=(), target=None))
        for name, settings in trial.servers.items():
            if name in bare.servers and bare.servers[name].server.ours:
                theirs = [one for one in run_plan.every_trial if one.servers.get(name) == settings]
                require_room(bare.servers[name].server, theirs)
        servers = {**bare.servers, **servers}
    applications = [trial for trial in _distinct(run_plan) if trial.subjects]
    if all_at_once and applications and any(group.rounds is not None for group in run_plan.groups):
        for ready in parts.need_all(applications):
            subjects |= ready.subjects
    elif applications:
        subjects = parts.need(applications[0]).subjects
    return RunningParts(servers, subjects)


def _distinct(run_plan: RunPlan) -> Iterator[PlannedTrial]:
    """One trial for each combination of parts, in the order in which they run."""
    known: set[str] = set()
    for trial in run_plan.every_trial:
        kind = repr((trial.servers, trial.subjects))
        if kind not in known:
            known.add(kind)
            yield trial


@with_deadline(OPENING)
def require_room(server: Server, trials: Sequence[PlannedTrial]) -> None:
    """Hold what these trials store against what a server that runs takes, and the room of one that is not ours.

    Raises:
        UserError: it is not taken, or may not fit; names the server, what is planned, what there is, and what helps.
    """
    try:
        with server.control() as control:
            problem = control.too_large(trials, server.name) if isinstance(control, LimitsValues) else ""
            if not problem and not server.ours:
                problem = control.shortage(trials, server.name, next(iter(server.pids.values()), None))
            where = said("server {name} ({address})", name=server.name, address=control.endpoint.label)
    except ServerGone as gone:
        raise UserError.of(gone.message) from None
    if problem:
        raise UserError("{where}: {why}", where=where, why=problem)


def check_local_ports(run_plan: RunPlan) -> None:
    """A connection to an address needs a port of its own on this side.

    Raises:
        UserError: a trial needs more connections to one address than there are ports; with both figures.
    """
    ports = local_ports()
    if ports is None:
        return
    needed = connections_at_once(run_plan.every_trial)
    if needed > ports.count:
        raise UserError(
            "workload.pool.connections: {needed:,} connections to one address need as many local ports, and "
            "this machine has {ports_label}; use fewer connections, or {widen}",
            needed=needed,
            ports_label=ports.label,
            widen=WIDEN,
        )


def connections_at_once(trials: Iterable[PlannedTrial]) -> int:
    """The most connections that are open to one address: trials in rounds have theirs open all together."""
    together: Counter[object] = Counter()
    for trial in trials:
        place = (trial.group, trial.block) if trial.in_rounds else trial.name
        together[place] += connections_to_one(trial)
    return max(together.values(), default=0)


def connections_to_one(trial: PlannedTrial) -> int:
    """Connections to the address that has the most of them; 0 where all go to a Unix socket.

    Those to a cluster are the planned number for each of its nodes.
    """
    connections = _opened(trial.plan)
    subject = trial.subjects.get(trial.target) if trial.target else next(iter(trial.subjects.values()), None)
    if subject is not None:
        return -(-connections // max(1, len(subject.urls), subject.replicas))
    servers = [settings for name, settings in trial.servers.items() if trial.target in (None, name)]
    if any(str(settings.get("kind")) == "cluster" for settings in servers):
        return connections
    if servers and all(str(settings.get("url", "")).startswith(("unix:", "redis+unix:")) for settings in servers):
        return 0
    return -(-connections // max(1, len(servers)))


def _opened(plan: Plan) -> int:
    """Return how many connections are open at once at most: users of a pool that grows by need take one each."""
    pool = plan.pool
    if pool.min_idle is None or not isinstance(plan.model, Closed):
        return pool.connections + plan.receiving
    return min(pool.connections, max(pool.min_idle, plan.model.users)) + plan.receiving
