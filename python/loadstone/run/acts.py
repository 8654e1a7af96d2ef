"""What a run would start, connect to, read and send on this machine: an act each.

It is read off the experiment, its plan and its manifests; nothing is started, connected to or looked up. Variables are
named, never shown. What is written is what is judged: references to variables are looked for where factors were filled
in, so that none can be put together out of two parts.
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

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
from loadstone.machine.processes.inherited import ALL, Names
from loadstone.programs.clients.manifest import read_driver_manifest
from loadstone.programs.manifest import Build, Manifest, read_manifest
from loadstone.programs.subjects.url import parse_subject_url
from loadstone.safety.secrets.in_texts import REDACTED, REFERENCE, hide_shown, hide_url, is_open, is_secret
from loadstone.safety.secrets.references import variables
from loadstone.safety.terminal import printable
from loadstone.servers import registry
from loadstone.servers.transport import is_loopback, stays_here
from loadstone.servers.urls import TLS_OPTIONS
from loadstone.text.language import joined, said, translatable
from loadstone.text.message import AnyText, Message


def is_here(address: str) -> bool:
    """Whether the address of a place is this machine's, by its text alone."""
    parts = urlsplit(address)
    if not parts.netloc:
        return True  # a socket
    hosts = [urlsplit(f"//{one}").hostname for one in parts.netloc.rpartition("@")[2].split(",")]
    return all(host is not None and is_loopback(host) for host in hosts)


def names_variable_as_host(url: str) -> bool:
    """Whether a variable's value stands in the host of a URL as it is written: then nobody can tell where it leads."""
    rest = url.partition("://")[2] if "://" in url else url
    return REFERENCE.search(re.split(r"[/?#]", REFERENCE.sub("${env:X}", rest).rpartition("@")[2])[0]) is not None


KINDS = {
    "starts": translatable("programs"),
    "builds": translatable("build commands"),
    "runs the image": translatable("images"),
    "sets for a program": translatable("settings of programs"),
    "sets on a server": translatable("settings of servers that may reach files or others"),
    "sends to a server": translatable("commands that may reach files or others"),
    "sends the variable": translatable("variables"),
    "sends the file": translatable("files sent"),
    "connects to": translatable("addresses"),
    "reads the file": translatable("files read"),
    "starts its own": translatable("parts of loadstone's own"),
    "configures": translatable("other settings of servers"),
}
"""Kinds of acts, and what they are to people; the most dangerous first."""
_SPOKEN = {
    "starts": translatable("starts {what}"),
    "builds": translatable("builds {what}"),
    "runs the image": translatable("runs the image {what}"),
    "sets for a program": translatable("sets for a program {what}"),
    "sets on a server": translatable("sets on a server {what}"),
    "sends to a server": translatable("sends to a server {what}"),
    "sends the variable": translatable("sends the variable {what}"),
    "sends the file": translatable("sends the file {what}"),
    "connects to": translatable("connects to {what}"),
    "reads the file": translatable("reads the file {what}"),
    "starts its own": translatable("starts its own {what}"),
    "configures": translatable("configures {what}"),
}
_ORDER = tuple(KINDS)
_FIELDS = frozenset(
    {
        *("kind", "url", "image", "program", "software", "modules", "settings", "limits"),
        *("cpus", "link", "host", "of", "nodes", "replicas", "read_from"),
    }
)
"""Servers' settings that are looked at by themselves or name no file: every other one may name a program."""
_READING = ("GET", "HEAD")
_PLAIN_HEADERS = frozenset(
    {
        *("accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection"),
        *("if-modified-since", "if-none-match", "pragma", "range", "traceparent", "user-agent"),
    }
)
"""Headers that change nothing of what a request does: by others a service may take a GET for a DELETE."""
_TLS_FILES = tuple(name for name in TLS_OPTIONS if name.endswith("_file"))
_OF_PASSWORDS = re.compile(r"[A-Za-z0-9_.,:=+/@%!^?#~*-]*")
"""What a password may be made of to be hidden: with other characters in it, a shell may read more than a word."""
_ONE_WORD = re.compile(r"[^\s\"'`$\\()<>|]*")
"""Text in which passwords are hidden. Of several words one that looks like a password may be an option of a runtime."""


@dataclass(frozen=True)
class PlannedAction:
    """One thing that a run does to this machine or to others."""

    kind: str
    """Kind of the act, of `KINDS`."""
    what: AnyText
    """On one line, without control characters; variables by their names."""
    asks: bool = False
    """Whether it is done for a stranger only after the user was asked."""
    typed: bool = False
    """Whether the user typed it on the command line."""

    @property
    def line(self) -> str:
        """As people read it."""
        return f"{self.kind} {self.what}"

    @property
    def told(self) -> Message:
        """Return the act as a text that can be said in another language."""
        return said(_SPOKEN[self.kind], what=self.what)

    @property
    def spoken(self) -> str:
        """Return the act in the language of who reads now."""
        return self.told.spoken()


@dataclass(frozen=True)
class _To:
    """Where something is sent."""

    where: AnyText
    outside: bool
    """Whether it leaves this machine, or goes to a program of the experiment's."""
    others: bool = False
    """Whether other users of the machine may get it: any may listen at loopback, and read the list of processes."""

    @property
    def asks(self) -> bool:
        """Whether nothing of the user's is sent there before they were asked."""
        return self.outside or self.others


def planned_actions(experiment: Experiment, run_plan: RunPlan, secret_files: Iterable[str] = ()) -> list[PlannedAction]:
    """Every act once, the most dangerous first. `secret_files` as `--secret-file` has them.

    Raises:
        UserError: settings or a manifest are wrong; names the field.
    """
    files = dict(file.split("=", 1) for file in secret_files if "=" in file)
    acts = _Acts(experiment, files)
    distinct = {(identity(one.condition), one.driver): one for one in run_plan.every_trial}
    for trial in distinct.values():
        acts.add_trial(trial)
    for text in acts.counts(run_plan):
        acts.add_count(*text)
    return sorted(dict.fromkeys(acts.acts), key=lambda act: (_ORDER.index(act.kind), not act.asks, act.line))


def acts_of_driver(path: Path) -> list[PlannedAction]:
    """Those of a client library's program by itself. Raises UserError."""
    return list(_driver_acts(path))


def sent_as_text(files: Iterable[str]) -> list[PlannedAction]:
    """Files whose text an option put into the load: the plan does not name them any more."""
    return [
        PlannedAction(
            "sends the file", said("{file}, as text of the load", file=_file(Path(file))), asks=True, typed=True
        )
        for file in files
    ]


def program_fields(settings: Mapping[str, Any]) -> list[str]:
    """The fields of a server's settings that may name a program, or files that one takes."""
    return [key for key in settings if key not in _FIELDS]


def is_built_in(experiment: Experiment) -> bool:
    """Whether it is one of loadstone's own files."""
    source = experiment.source
    return bool(source.digest) and Path(source.label).resolve().parent == FOLDER.resolve()


class _Acts:
    def __init__(self, experiment: Experiment, secret_files: Mapping[str, str]) -> None:
        self.acts: list[PlannedAction] = []
        self._experiment = experiment
        self._built_in = is_built_in(experiment)
        self._on_command_line = not experiment.source.digest
        self._secret_files = secret_files
        self._workloads: set[str] = set()

    def add_trial(self, trial: PlannedTrial) -> None:
        """What one condition does."""
        places: dict[str, list[_To]] = {}
        for name, settings in trial.servers.items():
            places[name] = list(self._server(trial, name, settings))
        for name, subject in trial.subjects.items():
            places[name] = list(self._subject(trial, name, subject))
        if trial.driver != driver_names.NATIVE:
            meant = driver_names.DriverWord.of(trial.driver)
            if meant.place not in driver_names.names():
                self.acts += _driver_acts(Path(meant.place))
        self._load(trial, places)

    def _add(self, kind: str, what: AnyText, *path: str, asks: bool) -> None:
        """`path`: where in the experiment it is written."""
        typed = self._typed(path)
        self.acts.append(PlannedAction(kind, what, asks and (typed or not self._built_in), typed))

    def _typed(self, path: Sequence[object]) -> bool:
        given = self._experiment.source.given
        if self._on_command_line:
            return True
        at = [tuple(path[:length]) for length in range(1, len(path) + 1)]
        if path and path[0] == "subjects":
            at = [one for one in at if len(one) > 2]  # --subject replaces its URL or manifest alone
        return any(one in given for one in at)

    # Servers

    def _server(self, trial: PlannedTrial, name: str, settings: Mapping[str, Any]) -> Iterator[_To]:
        server = registry.make_server(name, settings)
        written = self._filled(self._experiment.servers[name], trial)
        if not server.ours:
            yield self._users_server(name, str(settings["url"]), str(written.get("url", "")))
            return
        yield _To(said("server {name}, which it starts", name=name), outside=False)
        kind = str(settings["kind"])
        software = software_of(settings)
        own = _To(said("server {name}, which it starts", name=name), outside=False)
        beside = {key: value for key, value in _mapping(written).items() if key != "settings"}
        self._variables(beside, [own], "servers", name)
        # What a server shows of its settings, as in the title of its process, all users of the machine can read.
        self._variables({"settings": written.get("settings")}, [replace(own, others=True)], "servers", name)
        if kind == registry.CONTAINER:
            image = " ".join(str(settings[key]) for key in ("image", "program") if settings.get(key))
            self._add(
                "runs the image",
                said("{what} as server {name}", what=_filled_in(image), name=name),
                "servers",
                name,
                "image",
                asks=True,
            )
        else:
            self._add(
                "starts its own",
                said("{what} as server {name}", what=_shown(kind), name=name),
                "servers",
                name,
                asks=False,
            )
        for key in program_fields(settings):
            if settings.get(key):
                what = said(
                    "{what} ({option} of server {name})", what=_filled_in(str(settings[key])), option=key, name=name
                )
                self._add("starts", what, "servers", name, key, asks=True)
        for setting, value in _mapping(settings.get("settings")).items():
            self._setting(name, software.name, str(setting), value)
        self._commands(trial, name, software.name)

    def _setting(self, name: str, software: str, setting: str, value: Any) -> None:
        """One of a server of ours: each is listed, and asks unless its software's list says that it is harmless."""
        standing = registry.room(software).known_settings.standing(setting, value)
        set_to: AnyText = f"{name}: {_filled_in(f'{setting}: {value}')}"
        if standing == "unknown":
            set_to = said("{setting} (a setting that loadstone does not know)", setting=set_to)
        kind = "configures" if standing == "passes" else "sets on a server"
        self._add(kind, set_to, "servers", name, "settings", setting, asks=standing != "passes")

    def _users_server(self, name: str, url: str, written: str) -> _To:
        """One by URL; `written` is the URL with its references."""
        software = software_by_url(url)
        place = registry.room(software.name).place(name, url).address
        outside = not is_here(place) or names_variable_as_host(written)
        shown = _shown(_address(written))
        to = _To(said("server {name} ({address})", name=name, address=shown), outside, others=True)
        more = said(", and to the servers that it names") if {"cluster", "read_from"} & _options(written).keys() else ""
        more = more or (", and to the servers that it names" if "sentinel" in written.partition("://")[0] else "")
        self._add(
            "connects to",
            said("{what} (server {name}){more}", what=shown, name=name, more=more),
            "servers",
            name,
            "url",
            asks=outside,
        )
        self._variables({"url": written}, [to], "servers", name)
        for option, value in _options(written).items():
            if option.endswith("_env"):
                self._variable(f"env:{value}", [to], "servers", name, "url")
            if option in _TLS_FILES:
                self._add(
                    "reads the file",
                    said("{what} ({option} of server {name})", what=_file(Path(value)), option=option, name=name),
                    "servers",
                    name,
                    asks=False,
                )
        return to

    def _commands(self, trial: PlannedTrial, name: str, software: str) -> None:
        """Commands of the load and of rows that reach beyond a server of ours."""
        reaches_out = registry.room(software).reaches_out
        texts: list[tuple[Sequence[str], tuple[str, ...]]] = []
        if trial.loads(name):
            for plan in (trial.plan, trial.load):
                for operation in plan.operations if plan is not None and plan.recording is None else ():
                    texts += [(command.args, ("workload", "operations")) for command in commands_of(operation)]
        for data in trial.data:
            if data.server == name:
                texts += [(_words(text), ("data", data.name)) for text in data.commands]
        texts += [(_words(text), ("workload", "stored")) for text in self._counted(trial, name)]
        for words, path in texts:
            if reaches_out(words):
                self._add("sends to a server", f"{name}: {_filled_in(' '.join(words))}", *path, asks=True)

    def _counted(self, trial: PlannedTrial, name: str) -> list[str]:
        return [stored.count for stored in trial.stored if stored.server == name]

    def counts(self, run_plan: RunPlan) -> Iterator[tuple[str, str, str]]:
        """What crashes count by, on which server and software."""
        for crash in run_plan.crashes:
            settings = crash.trial.servers.get(crash.crash.server)
            if crash.crash.count is not None and settings is not None and not is_users(settings):
                yield crash.crash.server, software_of(settings).name, crash.crash.count

    def add_count(self, name: str, software: str, text: str) -> None:
        """What a crash counts by."""
        if registry.room(software).reaches_out(_words(text)):
            self._add("sends to a server", f"{name}: {_filled_in(text)}", "crashes", asks=True)

    # Subjects

    def _subject(self, trial: PlannedTrial, name: str, subject: RequiredSubject) -> Iterator[_To]:
        written = self._filled(self._experiment.subjects[name].model_dump(), trial)
        if subject.manifest is None:
            yield from self._users_subject(trial, name, subject, str(written.get("url") or ""))
            return
        path = Path(subject.manifest)
        environment = {key: level_text(value) for key, value in _mapping(written.get("environment")).items()}
        to = [_To(said("the program of subject {name}", name=name), outside=True)]
        ours = path.parent.resolve() == subject_names.FOLDER.resolve()
        if ours:
            self._add(
                "starts its own",
                said("application {what} as subject {name}", what=path.name, name=name),
                "subjects",
                name,
                asks=False,
            )
            manifest, folder = read_manifest(path)
            for key, value in environment.items():
                what = said(
                    "{what} (application {application}, subject {name})",
                    what=_shown(f"{key}={_of_variable(key, value)}"),
                    application=path.name,
                    name=name,
                )
                asks = not manifest.is_harmless(key, value)
                self._add("sets for a program", what, "subjects", name, "environment", key, asks=asks)
        else:
            manifest, folder = read_manifest(path)
            self.acts += _manifest_acts(said("subject {name}", name=name), manifest, folder, environment)
            for key, value in manifest.environment.items():
                self._variables({key: value}, to, "subjects", name, "environment", stranger=True)
            self._scripts(trial, name, manifest, folder)
        self._variables(environment, to, "subjects", name, "environment")
        yield _To(said("subject {name}, which it starts", name=name), outside=not ours)

    def _users_subject(self, trial: PlannedTrial, name: str, subject: RequiredSubject, written: str) -> Iterator[_To]:
        for url, text in zip(subject.urls, split_urls(written), strict=False):
            outside = not stays_here(parse_subject_url(url)) or names_variable_as_host(text)
            shown = _shown(_address(text))
            to = _To(said("subject {name} ({address})", name=name, address=shown), outside, others=True)
            self._add(
                "connects to",
                said("{what} (subject {name})", what=shown, name=name),
                "subjects",
                name,
                "url",
                asks=outside,
            )
            self._variables({"url": text}, [to], "subjects", name)
            yield to
        if trial.target in (None, name):
            self._requests(trial, name)

    def _requests(self, trial: PlannedTrial, name: str) -> None:
        """What may change something at a service of the user's: at loopback it may trust whoever can reach it."""
        for plan in (trial.plan, trial.load):
            for operation in plan.operations if plan is not None else ():
                for request in operation.requests:
                    odd = sorted(one for one in request.headers if one.lower() not in _PLAIN_HEADERS)
                    if request.method in _READING and request.body is None and not odd:
                        continue
                    what = f"{request.method} {hide_url(request.path)}{' with ' if odd else ''}{', '.join(odd)}"
                    self._add("sends to a server", f"{name}: {_filled_in(what)}", "workload", "operations", asks=True)

    def _scripts(self, trial: PlannedTrial, name: str, manifest: Manifest, folder: Path) -> None:
        """Files of SQL. What they do is not known: a statement may reach files and programs of the server."""
        for server, file in manifest.scripts.items():
            self.acts.append(
                PlannedAction(
                    "reads the file",
                    said(
                        "{file} (tables of subject {name} on {server})",
                        file=_file(folder / file),
                        name=name,
                        server=server,
                    ),
                )
            )
            if server in trial.servers:
                what = said("{server}: the SQL of {file}", server=server, file=_file(folder / file))
                self.acts.append(PlannedAction("sends to a server", what, asks=True))

    # The load

    def _load(self, trial: PlannedTrial, places: Mapping[str, list[_To]]) -> None:
        names = [trial.target] if trial.target is not None else [*trial.subjects] or [*trial.servers]
        to = [one for name in names for one in places.get(name, [])]
        workload = self._filled(self._experiment.workload.model_dump(), trial)
        data = self._filled({key: one.model_dump() for key, one in self._experiment.data.items()}, trial)
        key = repr((workload, data, to))
        if key in self._workloads:
            return
        self._workloads.add(key)
        self._variables(workload, to, "workload")
        everywhere = [one for found in places.values() for one in found]
        self._variables(data, everywhere, "data")
        if trial.plan.data is not None:
            self._file_sent(Path(trial.plan.data.path), to, "workload", "data")
        if trial.plan.recording is not None:
            folder = self._experiment.source.folder
            path = folder / str(_mapping(workload.get("recording")).get("path", ""))
            self._file_sent(path, to, "workload", "recording")

    def _file_sent(self, path: Path, to: Sequence[_To], *at: str) -> None:
        what = said("{file}, row by row, to {to}", file=_file(path), to=_where(to))
        self._add("sends the file", what, *at, "path", asks=any(one.asks for one in to))

    def _variables(self, value: Any, to: Sequence[_To], *path: str, stranger: bool = False) -> None:
        """Each reference to a variable or a secret's file in a text, at any depth."""
        if isinstance(value, str):
            for found in REFERENCE.finditer(value):
                self._variable(f"{found['where']}:{found['name']}", to, *path, stranger=stranger)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self._variables(key, to, *path, str(key), stranger=stranger)
                self._variables(item, to, *path, str(key), stranger=stranger)
        elif isinstance(value, list | tuple):
            for index, item in enumerate(value):
                self._variables(item, to, *path, index, stranger=stranger)  # type: ignore[arg-type]

    def _variable(self, reference: str, to: Sequence[_To], *path: str, stranger: bool = False) -> None:
        where, _, name = reference.partition(":")
        shown = _shown(name)
        if where == "secret":
            file = self._secret_files.get(name)
            shown += " of a secret's file" if file is None else f" (the secret's file {_shown(file)})"
        what, asks = said("{what} to {to}", what=shown, to=_where(to)), any(one.asks for one in to)
        if stranger:
            self.acts.append(PlannedAction("sends the variable", what, asks))
        else:
            self._add("sends the variable", what, *path, asks=asks)

    def _filled(self, value: Any, trial: PlannedTrial) -> Any:
        return resolve_factors(value, trial.condition, self._experiment.factors, secrets=False)


def _manifest_acts(
    who: AnyText, manifest: Manifest, folder: Path, environment: Mapping[str, str]
) -> Iterator[PlannedAction]:
    """Yield the acts of an application's manifest: its build, its command, and the variables that it is given."""
    yield from _build_acts(who, manifest.build, folder)
    command = shlex.join(shlex.split(manifest.run.command))
    flags = f", with jvm_flags {shlex.join(manifest.jvm_flags)}" if manifest.jvm_flags else ""
    started = said(
        "{command} ({who}, in {folder})", command=_shown(command + flags), who=who, folder=_shown(str(folder))
    )
    yield PlannedAction("starts", started, asks=True)
    yield from _required(who, manifest.requires)
    yield from _inherited(said("the program of {who}", who=who), manifest.run.inherits)
    yield from _given(who, {**manifest.environment, **environment})


def _driver_acts(path: Path) -> Iterator[PlannedAction]:
    manifest, folder = read_driver_manifest(path)
    who = said("driver {name}", name=manifest.name)
    yield from _build_acts(who, manifest.build, folder)
    command = shlex.join(shlex.split(manifest.run.command))
    started = said("{command} ({who}, in {folder})", command=_shown(command), who=who, folder=_shown(str(folder)))
    yield PlannedAction("starts", started, asks=True)
    yield from _required(who, manifest.requires)
    yield from _inherited(said("the program of {who}", who=who), manifest.run.inherits)
    yield from _given(who, manifest.run.environment)


def _build_acts(who: AnyText, build: Build | None, folder: Path) -> Iterator[PlannedAction]:
    if build is None:
        return
    root = (folder / build.root).resolve()
    for command in build.commands:
        yield PlannedAction(
            "builds",
            said(
                "by {command} ({who}, in a copy of {root})",
                command=_shown(shlex.join(shlex.split(command))),
                who=who,
                root=root,
            ),
            asks=True,
        )
    yield from _inherited(said("the build of {who}", who=who), build.inherits)


def _inherited(to: AnyText, names: Names) -> Iterator[PlannedAction]:
    """The variables of the user's environment that a manifest names beside those that all programs inherit."""
    for name in (said("* (the whole environment)"),) if names == ALL else names:
        yield PlannedAction("sends the variable", said("{what} to {to}", what=name, to=to), asks=True)


def _required(who: AnyText, programs: Mapping[str, str]) -> Iterator[PlannedAction]:
    if programs:
        yield PlannedAction(
            "starts",
            said("{programs}, to learn their versions ({who})", programs=", ".join(sorted(programs)), who=who),
            asks=True,
        )


def _given(who: AnyText, environment: Mapping[str, str]) -> Iterator[PlannedAction]:
    """The variables that a program is given: a secret by its place, which the redactor need not know, is left out."""
    if environment:
        texts = [f"{name}={_of_variable(name, value)}" for name, value in environment.items()]
        yield PlannedAction("sets for a program", f"{_shown(' '.join(texts))} ({who})", asks=True)


def _of_variable(name: str, value: str) -> str:
    """As it is shown. What a shell could run is shown whatever its variable is called."""
    if is_secret(name) and not is_open(value) and _OF_PASSWORDS.fullmatch(value):
        return REDACTED
    shown = hide_url(value)
    return shown if _ONE_WORD.fullmatch(REFERENCE.sub("", value)) and _hides_passwords(value, shown) else value


def _hides_passwords(value: str, shown: str) -> bool:
    """Whether all that is hidden of a text is made of what passwords are."""
    first, *parts = shown.split(REDACTED)
    at = len(first)
    for number, part in enumerate(parts, start=1):
        end = value.find(part, at) if number < len(parts) else len(value) - len(part)
        if end < at or not _OF_PASSWORDS.fullmatch(value, at, end):
            return False
        at = end + len(part)
    return True


def _address(url: str) -> str:
    """A URL without its login, and with the host that is connected to: an `@` behind that ends no login."""
    scheme, separator, rest = url.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if not separator:
        return hide_url(url)
    return hide_url(f"{scheme}{separator}{host}") + hide_shown(rest[len(host) :])


def _options(url: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    except ValueError:
        return {}


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text) or [""]
    except ValueError:
        return [text]


def _where(to: Sequence[_To]) -> AnyText:
    return joined(", ", dict.fromkeys(one.where for one in to)) if to else said("nobody")


def _file(path: Path) -> str:
    """A path, and where it leads if it is a link."""
    plain, real = path.absolute(), path.resolve()
    shown = _filled_in(str(plain))
    return shown if str(real) == str(plain) else f"{shown} (which is {_filled_in(str(real))})"


def _shown(text: str) -> str:
    """On one line, every control or direction character escaped, so that nothing is hidden or repainted."""
    return printable(text)


def _filled_in(text: str) -> str:
    """Return a text in which references were filled in, with each variable's value replaced by its name again."""
    values = {os.environ.get(name, ""): name for name in variables()}
    for value in sorted(filter(None, values), key=len, reverse=True):
        text = text.replace(value, f"${{env:{values[value]}}}")
    return _shown(text)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
