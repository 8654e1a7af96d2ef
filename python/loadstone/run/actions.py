"""The actions of a run, in order: what its experiment, its manifests and its servers' settings list of themselves.

It knows where each stands and what goes where; nothing is started, connected to or looked up.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from loadstone.experiment.action import (
    KINDS,
    Destination,
    PlannedAction,
    Sending,
    names_variable_as_host,
    pins_of,
    sent_to,
    shown_address,
    shown_file,
    shown_text,
    where_to,
)
from loadstone.experiment.plan.deployment import split_urls
from loadstone.experiment.plan.operations import commands_of
from loadstone.experiment.plan.required import RequiredSubject
from loadstone.experiment.plan.run_plan import PlannedTrial, RunPlan
from loadstone.experiment.plan.substitute import resolve_factors
from loadstone.experiment.software import is_users, software_by_url, software_of
from loadstone.experiment.spec import driver_names, subject_names
from loadstone.experiment.spec.built_in import FOLDER
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import identity, level_text
from loadstone.programs.clients import manifest as driver_manifest
from loadstone.programs.manifest import FILE, Manifest, file_of, read_manifest
from loadstone.programs.subjects.url import parse_subject_url
from loadstone.safety.bounds.pinned_files import is_file
from loadstone.safety.terminal import printable
from loadstone.servers import registry
from loadstone.servers.transport import stays_here
from loadstone.text.message import said

_ORDER = tuple(KINDS)


def planned_actions(experiment: Experiment, run_plan: RunPlan, secret_files: Iterable[str] = ()) -> list[PlannedAction]:
    """Every action once, the most dangerous first. `secret_files` as `--secret-file` has them.

    Raises:
        UserError: settings or a manifest are wrong; names the field.
    """
    sending = Sending(dict(file.split("=", 1) for file in secret_files if "=" in file))
    found = list(_unlisted(experiment))
    distinct = {(identity(one.condition), one.driver): one for one in run_plan.every_trial}
    for trial in distinct.values():
        found += _OfTrial(experiment, trial, sending).actions()
    for crash in run_plan.crashes:
        settings = crash.trial.servers.get(crash.crash.server)
        if crash.crash.count is not None and settings is not None and not is_users(settings):
            found += _reaching(crash.crash.server, settings, [(_words(crash.crash.count), ("crashes",))])
    pins: dict[PlannedAction, dict[Callable[[], str], None]] = {}
    for action in found:
        pins.setdefault(_by_whom(experiment, action), {}).update(dict.fromkeys(action.pins))
    every = [replace(action, pins=tuple(its)) for action, its in pins.items()]
    return sorted(every, key=lambda one: (_ORDER.index(one.kind), not one.asks, one.line))


def actions_of_driver(path: Path) -> list[PlannedAction]:
    """Those of a client library's program by itself. Raises UserError."""
    manifest, _ = driver_manifest.read_driver_manifest(path)
    return list(manifest.actions(file_of(path, driver_manifest.FILE)))


def sent_as_text(files: Iterable[str]) -> list[PlannedAction]:
    """Files whose text an option put into the load: the plan does not name them any more."""
    named = (said("{file}, as text of the load", file=shown_file(Path(file))) for file in files)
    return [PlannedAction("sends the file", what, asks=True, typed=True) for what in named]


def is_built_in(experiment: Experiment) -> bool:
    """Whether it is one of loadstone's own files."""
    source = experiment.source
    return bool(source.digest) and Path(source.label).resolve().parent == FOLDER.resolve()


def _by_whom(experiment: Experiment, action: PlannedAction) -> PlannedAction:
    """The action with whether the user typed it; loadstone's own files ask for nothing that they say themselves."""
    if not action.at:
        return action
    source = experiment.source
    beginnings = [action.at[:length] for length in range(1, len(action.at) + 1)]
    if action.at[0] == "subjects":
        beginnings = beginnings[2:]  # --subject replaces its URL or manifest alone
    typed = not source.digest or any(one in source.given for one in beginnings)
    asks = action.asks and (typed or not is_built_in(experiment))
    return replace(action, asks=asks, typed=typed, at=())


def _unlisted(experiment: Experiment) -> Iterator[PlannedAction]:
    """Fields of which no class says what is done for them, those of add-ons among them: anything may be."""
    found = list(experiment.unlisted())
    for index, goal in enumerate(experiment.goals):
        from loadstone.measure.goals.registry import DECLARED  # only now: it takes time to load

        kind, at = DECLARED.get(goal.kind), ("goals", index)
        if kind is not None:
            found = [one for one in found if one[0][:2] != at]
            found += kind.settings_type.model_validate(goal.settings).unlisted(*at)
    for path, value in found:
        place = printable(".".join(map(str, path)))
        what = said(
            "{place}: {value} (loadstone does not know what that does)", place=place, value=shown_text(f"{value}")
        )
        yield PlannedAction("starts", what, asks=True, at=path)


def _reaching(
    name: str, settings: Mapping[str, Any], commands: Iterable[tuple[Sequence[str], tuple[str, ...]]]
) -> Iterator[PlannedAction]:
    """The commands that reach beyond a server of ours, each with where it is written."""
    reaches_out = registry.room(software_of(settings).name).reaches_out
    for words, at in commands:
        if reaches_out(words):
            yield sent_to(name, " ".join(words), *at)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text) or [""]
    except ValueError:
        return [text]


class _OfTrial:
    """What one condition does."""

    def __init__(self, experiment: Experiment, trial: PlannedTrial, sending: Sending) -> None:
        self._experiment, self._trial, self._sending = experiment, trial, sending
        self._plans = [plan for plan in (trial.plan, trial.load) if plan is not None]

    def actions(self) -> Iterator[PlannedAction]:
        """All of them; some more than once."""
        places: dict[str, list[Destination]] = {}
        for name, settings in self._trial.servers.items():
            model, written = registry.read_settings(name, settings), self._filled(self._experiment.servers[name])
            software = software_by_url(str(settings["url"])) if is_users(settings) else software_of(settings)
            room = registry.room(software.name)
            places[name] = [model.destination(name, written, room)]
            yield from model.actions(name, written, room, self._sending)
            if not is_users(settings):
                yield from _reaching(name, settings, self._commands(name))
        for name, subject in self._trial.subjects.items():
            yield from self._subject(name, subject, places.setdefault(name, []))
        word = driver_names.DriverWord.of(self._trial.driver).place
        if word not in (driver_names.NATIVE, *driver_names.names()):
            yield from actions_of_driver(Path(word))
        yield from self._load(places)

    def _filled(self, value: Any) -> Any:
        return resolve_factors(value, self._trial.condition, self._experiment.factors, secrets=False)

    def _commands(self, server: str) -> Iterator[tuple[Sequence[str], tuple[str, ...]]]:
        """The commands to a server, with where they are written."""
        if self._trial.loads(server):
            for plan in (plan for plan in self._plans if plan.recording is None):
                for operation in plan.operations:
                    yield from ((command.args, ("workload", "operations")) for command in commands_of(operation))
        for data in (data for data in self._trial.data if data.server == server):
            yield from ((_words(text), ("data", data.name)) for text in data.commands)
        for stored in (stored for stored in self._trial.stored if stored.server == server):
            yield _words(stored.count), ("workload", "stored")

    def _subject(self, name: str, subject: RequiredSubject, places: list[Destination]) -> Iterator[PlannedAction]:
        """What an application does; adds where its load goes to `places`."""
        spec, at = self._experiment.subjects[name], ("subjects", name)
        if subject.manifest is None:
            for url, written in zip(subject.urls, split_urls(self._filled(spec.url or "")), strict=False):
                outside = not stays_here(parse_subject_url(url)) or names_variable_as_host(written)
                address = shown_address(written)
                to = Destination(said("subject {name} ({address})", name=name, address=address), outside, others=True)
                what = said("{what} (subject {name})", what=address, name=name)
                yield PlannedAction("connects to", what, asks=outside, at=(*at, "url"))
                yield from self._sending.variables({"url": written}, [to], *at)
                places.append(to)
            if self._trial.target in (None, name):
                for plan in self._plans:
                    for operation in plan.operations:
                        for request in operation.requests:
                            yield from request.actions(name)
            return
        path = Path(subject.manifest)
        manifest, folder = read_manifest(path)
        environment = {key: level_text(value) for key, value in self._filled(spec.environment).items()}
        ours = path.parent.resolve() == subject_names.FOLDER.resolve()
        program = [Destination(said("the program of subject {name}", name=name), outside=True)]
        if ours:
            what = said("application {what} as subject {name}", what=path.name, name=name)
            yield PlannedAction("starts its own", what, at=at)
            yield from manifest.settings_of(path.name, name, environment)
        else:
            yield from manifest.actions(said("subject {name}", name=name), file_of(path, FILE), environment)
            yield from self._sending.variables(manifest.environment, program)
            yield from self._scripts(name, manifest, folder)
        yield from self._sending.variables(environment, program, *at, "environment")
        places.append(Destination(said("subject {name}, which it starts", name=name), outside=not ours))

    def _scripts(self, name: str, manifest: Manifest, folder: Path) -> Iterator[PlannedAction]:
        """Files of SQL. What they do is not known: a statement may reach files and programs of the server."""
        for server, script in manifest.scripts.items():
            file = shown_file(folder / script)
            what = said("{file} (tables of subject {name} on {server})", file=file, name=name, server=server)
            yield PlannedAction("reads the file", what, pins=pins_of(folder / script))
            if server in self._trial.servers:
                what = said("{server}: the SQL of {file}", server=server, file=file)
                yield PlannedAction("sends to a server", what, asks=True)

    def _load(self, places: Mapping[str, list[Destination]]) -> Iterator[PlannedAction]:
        """What the load and the rows before it send of the user's own."""
        trial, workload = self._trial, self._filled(self._experiment.workload.model_dump())
        names = [trial.target] if trial.target is not None else [*trial.subjects] or [*trial.servers]
        to = [one for name in names for one in places.get(name, [])]
        yield from self._sending.variables(workload, to, "workload")
        everywhere = [one for found in places.values() for one in found]
        for name, data in self._experiment.data.items():
            yield from self._sending.variables(self._filled(data.model_dump()), everywhere, "data", name)
        if trial.plan.data is not None:
            path = Path(trial.plan.data.path)
            yield _sent_file(path, path, to, "workload", "data", "path")
        if trial.plan.recording is not None:
            path = self._experiment.source.folder / str((workload["recording"] or {}).get("path", ""))
            yield _sent_file(path, Path(trial.plan.recording.path), to, "workload", "recording", "path")


def _sent_file(path: Path, read: Path, to: Sequence[Destination], *at: str) -> PlannedAction:
    """A file of rows; `read`: the file that drivers read for it."""
    what = said("{file}, row by row, to {to}", file=shown_file(path), to=where_to(to))
    pins = pins_of(read) if is_file(read) else ()
    return PlannedAction("sends the file", what, asks=any(one.asks for one in to), at=at, pins=pins)
