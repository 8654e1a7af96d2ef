"""Before the first trial: every part is read, and every server started, so that mistakes show before measuring."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from loadstone import registry
from loadstone.conduct.capacity_check import require_room
from loadstone.deploy.deployed import Deployed, DeployedSubject, Parts, Ready
from loadstone.deploy.processes.resource_limits import Limits
from loadstone.deploy.provider import DeployContext
from loadstone.deploy.subjects.manifest import read_manifest
from loadstone.deploy.subjects.url import UrlSubject, parse_subject_url
from loadstone.errors import UserError
from loadstone.plan.run_plan import PlannedTrial, RunPlan
from loadstone.spec.problems import first_problem


def check_parts(run_plan: RunPlan) -> None:
    """Read every server's settings, manifest and URL that the run may need, and start nothing.

    Raises:
        UserError: one of them is wrong; names the part and the field.
    """
    for trial in _distinct(run_plan):
        for name, settings in trial.servers.items():
            registry.server(name, settings)
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
            server = registry.server(name, settings)
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
        raise UserError(f"subjects.{name}.limits.{'.'.join(map(str, path))}: {sentence}") from None


def start_parts(parts: Parts, run_plan: RunPlan) -> Ready:
    """Start every server that the run needs, and the first application; what runs, by name.

    Of several servers of one name (a setting is varied) it is the first. The other applications are started when
    their first trial comes, because each takes long and much memory.

    Raises:
        UserError: one cannot be started, or does not take what is to be stored on it.
        ServerGone: one that is not ours does not answer.
    """
    servers: dict[str, Deployed] = {}
    subjects: dict[str, DeployedSubject] = {}
    for trial in _distinct(run_plan):
        bare = parts.need(replace(trial, subjects={}, data=(), target=None))
        for name, settings in trial.servers.items():
            if name in bare.servers and bare.servers[name].server.ours:
                theirs = [one for one in run_plan.every_trial if one.servers.get(name) == settings]
                require_room(bare.servers[name].server, theirs)
        servers = {**bare.servers, **servers}
    for trial in _distinct(run_plan):
        if trial.subjects:
            subjects = parts.need(trial).subjects
            break
    return Ready(servers, subjects)


def _distinct(run_plan: RunPlan) -> Iterator[PlannedTrial]:
    """One trial for each combination of parts, in the order in which they run."""
    known: set[str] = set()
    for trial in run_plan.every_trial:
        kind = repr((trial.servers, trial.subjects))
        if kind not in known:
            known.add(kind)
            yield trial
