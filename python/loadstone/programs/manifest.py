"""A subject's manifest: how an application is built, started and known to be ready (`subject.yaml`).

A driver's manifest is read as this one is (`read_as`): within bounds, and with one line for what is wrong.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Protocol, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from loadstone.experiment.action import ListsActions, PlannedAction, fields, pins_of, shown_variable
from loadstone.machine.processes.inherited import ALL, Names
from loadstone.programs.sources import SourcesPin
from loadstone.safety.bounds import pinned_files
from loadstone.safety.bounds.bounded_yaml import load_yaml
from loadstone.safety.bounds.files import read_bytes, why
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.errors import UserError
from loadstone.safety.secrets.in_texts import REFERENCE as SECRET_REFERENCE
from loadstone.safety.secrets.known import learn
from loadstone.safety.secrets.places import secrets_of
from loadstone.safety.terminal import printable
from loadstone.servers.declared_table import TABLES_MAX, Name, Table
from loadstone.text.message import AnyText, said
from loadstone.text.problem import Problem
from loadstone.text.units import LONGEST_S

LARGEST_BYTES = 1_000_000
M = TypeVar("M", bound=BaseModel)


def file_of(path: Path, name: str) -> Path:
    """The file of a manifest, by its path or that of the folder which holds it under this name."""
    return path / name if path.is_dir() else path


def read_as(kind: str, path: Path, name: str, model: type[M], page: str) -> tuple[M, Path]:
    """The manifest of a file, or of a folder that holds one of this `name`; and its folder.

    Args:
        kind: `subject` or `driver`, for messages.
        path: of the file or folder.
        name: of the file, where the path is a folder's.
        model: what it must be.
        page: of the documentation.

    Raises:
        UserError: it cannot be read, or is not valid; names the field.
    """
    file = file_of(path, name)
    try:
        data = load_yaml(pinned_files.check(file, read_bytes(file, LARGEST_BYTES)).decode("utf-8-sig"))
        for secret in secrets_of(_without_tables(data)):
            learn(secret.value, sure=secret.sure)
        return model.model_validate(data), file.absolute().parent
    except OSError as error:
        raise UserError(
            "{kind} '{path}': {file} cannot be read ({strerror}); write one, see {page}",
            kind=kind,
            path=path,
            file=file,
            strerror=error.strerror,
            page=page,
        ) from None
    except ValidationError as error:
        first = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
        where = shortened(".".join(str(part) for part in first["loc"])) or "manifest"
        told = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            told = "unknown key"
            if len(first["loc"]) == 1:
                told += f"; known are {', '.join(model.model_fields)}"
        raise UserError(
            "{file}: {where}: {told}; see {page}", file=file, where=where, told=shortened(told, 200), page=page
        ) from None
    except (ValueError, OverflowError) as error:  # not UTF-8, too large, no regular file, no YAML, endless aliases
        raise UserError("{file}: {error}; see {page}", file=file, error=shortened(why(error), 200), page=page) from None


def _without_tables(data: Any) -> Any:
    """What may hold a secret: a column `password` has a type and no password."""
    return {key: value for key, value in data.items() if key != "tables"} if isinstance(data, Mapping) else data


def as_text(values: Any) -> Any:
    """Numbers and booleans of an environment as the shell would have them."""
    if not isinstance(values, Mapping):
        return values
    return {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in values.items()}


FILE = "subject.yaml"
PLACES = frozenset({"port", "host", "worker_ports", "output", "folder", "replica", "jvm_flags", "memory_mb"})
"""What a command may ask for: its port, the address to listen at, the ports of its workers with commas between, the
build's output, a folder of its own that is removed with it, its number from 1, the manifest's JVM flags, and its memory
limit in MB (10^6 bytes)."""
WORKERS_MAX = 64
OF_SHELL = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"})
REFERENCE = re.compile(r"\$\{(\w[\w-]*)\.(\w+)\}")
HARMLESS = {
    "number": re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?"),
    "boolean": re.compile(r"true|false"),
    "duration": re.compile(r"[0-9]{1,9}(ms|s|m|h|d)?"),
}
"""Kinds of values that name no file, address or code; a value must match as a whole."""
FACTS = ("host", "port", "user", "password", "database", "address", "tls", "tls_name", "ca_file", "jdbc_options")
"""What can be requested of a server as `${server.fact}`; see `references.Address`."""


def _no_references(text: str) -> str:
    if REFERENCE.search(text) or SECRET_REFERENCE.search(text):
        raise Problem(
            "every user of the machine can read a command; name servers in 'environment' instead, secrets too"
        )
    return text


def _known_places(command: str) -> str:
    unknown = set(re.findall(r"\{(\w*)\}", command)) - PLACES
    if unknown:
        raise Problem(
            "'{{{unknown}}}' is not known; known are {places}", unknown=min(unknown), places=", ".join(sorted(PLACES))
        )
    _no_references(command)
    try:
        shlex.split(command)
    except ValueError as error:
        raise Problem(
            "is not a command line ({error}); write it as a shell takes it", error=str(error).lower()
        ) from None
    return command


def without_shell(command: str) -> str:
    """A command of a build. Raises ValueError."""
    if SECRET_REFERENCE.search(command):
        raise Problem("every user of the machine can read a command; name its variables under build.inherits")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Problem(
            "is not a command line ({error}); write it as a shell takes it", error=str(error).lower()
        ) from None
    for word in words:
        if word in OF_SHELL or word == words[0] == "cd":
            raise Problem(
                "'{word}' is for a shell, and there is none; list each command, or write sh -c '...'", word=word
            )
    return command


def _within(path: str) -> str:
    """A path below the folder that is built in. Raises ValueError."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\0" in path:
        raise Problem(
            "'{path}' leads out of the folder; give one below it, or move the folder up by build.root", path=path
        )
    return path


ManifestCommand = Annotated[str, Field(min_length=1), AfterValidator(_known_places)]
BelowFolder = Annotated[str, Field(min_length=1), AfterValidator(_within)]
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$", max_length=80)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=40)]
Program = Annotated[str, Field(pattern=r"^[A-Za-z][\w.+-]*$", max_length=40)]
_TABLE_NAME: TypeAdapter[str] = TypeAdapter(Name)
Inherits = Literal["all"] | tuple[VariableName, ...]
"""Names of variables, or the whole environment (`processes.inherited.ALL`)."""
OldestVersion = Annotated[str, BeforeValidator(str), Field(pattern=r"^\d{1,6}(\.\d{1,6}){0,3}$")]


class _ManifestPart(ListsActions):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Build(_ManifestPart):
    """Commands that make `output` out of `inputs`, run in a copy that holds nothing else."""

    HARMLESS = fields("timeout_s")
    LISTED = fields("commands inputs root output inherits")

    commands: tuple[Annotated[str, Field(min_length=1), AfterValidator(without_shell)], ...] = Field(min_length=1)
    inputs: tuple[BelowFolder, ...] = Field(min_length=1)
    """Patterns of files below the manifest's folder, as `src/**/*`."""
    root: str = Field(default=".", pattern=r"^(\.|\.\.(/\.\.)*)$")
    """The folder that inputs, commands and output count from, seen from the manifest's; `..` where modules beside it
    are built with it."""
    output: BelowFolder
    """What the commands make, and what `{output}` stands for in the run's command."""
    timeout_s: float = Field(default=900.0, gt=0, le=LONGEST_S)
    inherits: Inherits = ()
    """The variables of the user's environment that the commands get beside those that every build gets
    (`processes.inherited`)."""


class StartCommand(_ManifestPart):
    """Command that starts one replica, and the sign that it is ready."""

    HARMLESS = fields("ready metrics runtime workers ready_within_s")
    LISTED = fields("command folder inherits")

    command: ManifestCommand
    folder: str | None = Field(default=None, min_length=1)
    """Where the command is run, seen from the manifest's folder; None: there, or in the build's copy."""
    ready: str | None = Field(default="/", pattern=r"^/")
    """Path that answers with a status of 200 to 399 once the application is ready; None: ready when its port takes
    connections."""
    metrics: str | None = Field(default=None, pattern=r"^/")
    """Path of a page in Prometheus's format, where the runtime tells its heap, collections and the like."""
    runtime: Literal["jvm", "node"] = "jvm"
    """Whose figures stand on that page."""
    workers: Annotated[int, Field(ge=1, le=WORKERS_MAX)] | VariableName | None = None
    """How many processes serve the requests, or the variable of the environment that says so. Each listens on a port of
    its own in addition (`{worker_ports}`), where `ready` and `metrics` answer for it alone. None: the command's own
    process serves them."""
    ready_within_s: float = Field(default=120.0, gt=0, le=LONGEST_S)
    inherits: Inherits = ()
    """Variables that the application itself inherits."""


def _tables(written: Any) -> Any:
    """Each table is read here, so that what is wrong with one is said of it, and not of files, too."""
    if not isinstance(written, Mapping):
        return written
    tables = {}
    for name, one in written.items():
        if isinstance(one, str | Table):
            tables[name] = one
            continue
        try:
            tables[_TABLE_NAME.validate_python(name)] = Table.model_validate(one)
        except ValidationError as error:
            first = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
            where = ".".join(str(part) for part in (name, *first["loc"]))
            what = first["msg"].removeprefix("Value error, ")
            if first["type"] == "extra_forbidden":
                what = f"unknown key; known are {', '.join(Table.model_fields)}"
            raise Problem("{where}: {what}", where=where, what=what) from None
    return tables


class Manifest(_ManifestPart):
    """`environment` values may hold `${server.fact}`, and `{port}` and the like as commands may.

    A value that refers to one of `optional_servers` is left out where the experiment has no such server.
    """

    HARMLESS = fields("name optional_servers warm_up_s harmless")
    LISTED = fields("build run requires environment tables jvm_flags")

    name: str = Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_-]*$", max_length=40)
    build: Build | None = None
    run: StartCommand
    requires: dict[Program, OldestVersion] = Field(default_factory=dict)
    """Programs that building and running it take, each with the oldest version that will do."""
    environment: dict[str, str] = Field(default_factory=dict)
    harmless: dict[
        VariableName, Literal["number", "boolean", "duration"] | Annotated[tuple[Word, ...], Field(min_length=1)]
    ] = Field(default_factory=dict)
    """The variables that an experiment may set without a question, by loadstone's own manifests: each with the
    kind of value, or the words, that it may have. A run asks about any other variable and value."""
    optional_servers: tuple[str, ...] = ()
    tables: Annotated[dict[str, Table | str], Field(max_length=TABLES_MAX), BeforeValidator(_tables)] = Field(
        default_factory=dict
    )
    """Tables by their names: each is made before the subject starts, on the servers with tables that `environment`
    refers to. Or a server's name with a file of SQL below the manifest's folder (`mariadb: schema.sql`), which is run
    there as it is, on a server that loadstone started alone."""
    jvm_flags: tuple[Annotated[str, AfterValidator(_no_references)], ...] = ()
    warm_up_s: float = Field(default=5.0, ge=0, le=LONGEST_S)
    """How long it is under load before measuring makes sense."""

    @field_validator("environment", mode="before")
    @classmethod
    def _as_text(cls, values: Any) -> Any:
        return as_text(values)

    @field_validator("environment")
    @classmethod
    def _known_facts(cls, values: dict[str, str]) -> dict[str, str]:
        for name, value in values.items():
            for server, fact in REFERENCE.findall(value):
                if fact not in FACTS:
                    raise Problem(
                        "{name}: ${{{server}.{fact}}}: a server has no '{fact}'; it has {facts}",
                        name=name,
                        server=server,
                        fact=fact,
                        facts=", ".join(FACTS),
                    )
        return values

    @model_validator(mode="after")
    def _tables_have_a_server(self) -> "Manifest":
        if self.declared_tables and not self.servers_named:
            raise Problem(
                "tables: no value of 'environment' names the server that they are made on; write one, as ${{NAME.host}}"
            )
        return self

    @property
    def declared_tables(self) -> dict[str, Table]:
        """The tables that are declared, by their names."""
        return {name: one for name, one in self.tables.items() if isinstance(one, Table)}

    @property
    def scripts(self) -> dict[str, str]:
        """The file of SQL for each server that has one."""
        return {name: one for name, one in self.tables.items() if isinstance(one, str)}

    @property
    def servers_named(self) -> frozenset[str]:
        """The servers that the environment refers to."""
        return frozenset(server for value in self.environment.values() for server, _ in REFERENCE.findall(value))

    def actions(self, who: AnyText, file: Path, environment: Mapping[str, str]) -> Iterator[PlannedAction]:
        """What building and starting it does; `file`: the manifest's, `environment`: what the experiment sets."""
        flags = f", with jvm_flags {shlex.join(self.jvm_flags)}" if self.jvm_flags else ""
        given = {**self.environment, **environment}
        yield from program_actions(who, file, self.build, self.run, self.requires, given, {}, flags)

    def settings_of(self, application: str, subject: str, environment: Mapping[str, str]) -> Iterator[PlannedAction]:
        """What an experiment sets for one of loadstone's own applications."""
        for name, value in environment.items():
            what = said(
                "{what} (application {application}, subject {name})",
                what=printable(f"{name}={shown_variable(name, value)}"),
                application=application,
                name=subject,
            )
            at = ("subjects", subject, "environment", name)
            yield PlannedAction("sets for a program", what, asks=not self.is_harmless(name, value), at=at)

    def is_harmless(self, name: str, value: str) -> bool:
        """Return whether the manifest declares that this variable may have this value, by its exact name."""
        declared = self.harmless.get(name)
        if declared is None:
            return False
        if isinstance(declared, str):
            return value == "" or HARMLESS[declared].fullmatch(value) is not None
        return value == "" or value in declared


class Started(Protocol):
    """The command of a manifest of either kind."""

    @property
    def command(self) -> str: ...
    @property
    def inherits(self) -> Names: ...


def program_actions(
    who: AnyText,
    file: Path,
    build: Build | None,
    run: Started,
    requires: Iterable[str],
    environment: Mapping[str, str],
    places: Mapping[str, str],
    more: str = "",
) -> Iterator[PlannedAction]:
    """What building and starting a program does.

    Args:
        who: whose it is.
        file: of its manifest.
        build: its build, if it has one.
        run: what starts it.
        requires: the programs that are asked for their versions.
        environment: the variables that it is given.
        places: what stands for places in its command.
        more: what else it is started with.
    """
    folder = file.absolute().parent
    if build is not None:
        root = (folder / build.root).resolve()
        for command in build.commands:
            what = said("by {command} ({who}, in a copy of {root})", command=_shown(command), who=who, root=root)
            yield PlannedAction("builds", what, asks=True, pins=(SourcesPin(build, root),))
        yield from _inherited(said("the build of {who}", who=who), build.inherits)
    command = f"{_shown(run.command)}{printable(more)}"
    what = said("{command} ({who}, in {folder})", command=command, who=who, folder=printable(str(folder)))
    files = pinned_files.named_files(run.command, folder, places)
    yield PlannedAction("starts", what, asks=True, pins=pins_of(file, *files))
    if requires:
        named = ", ".join(sorted(requires))
        what = said("{programs}, to learn their versions ({who})", programs=named, who=who)
        yield PlannedAction("starts", what, asks=True)
    yield from _inherited(said("the program of {who}", who=who), run.inherits)
    if environment:
        texts = printable(" ".join(f"{name}={shown_variable(name, value)}" for name, value in environment.items()))
        yield PlannedAction("sets for a program", f"{texts} ({who})", asks=True)


def _shown(command: str) -> str:
    return printable(shlex.join(shlex.split(command)))


def _inherited(to: AnyText, names: Names) -> Iterator[PlannedAction]:
    """The variables of the user's environment that a manifest names beside those that all programs inherit."""
    for name in (said("* (the whole environment)"),) if names == ALL else names:
        yield PlannedAction("sends the variable", said("{what} to {to}", what=name, to=to), asks=True)


def read_manifest(path: Path) -> tuple[Manifest, Path]:
    """The manifest of a file, or of a folder that holds a `subject.yaml`; and its folder.

    Raises:
        UserError: it cannot be read, or is not valid; names the field.
    """
    return read_as("subject", path, FILE, Manifest, "docs/subjects.md")
