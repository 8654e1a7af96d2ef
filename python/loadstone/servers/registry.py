"""The kinds of each seam. Outside of its room a software is reached by this file alone.

What a software declares of itself (`SOFTWARE`) may be used by every stage: it is data. What it does is loaded when
it is first needed. To add one takes its room, its declaration in `experiment/software.py`, a line in
`servers/software_rooms.py`, and one here for its metrics.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import Field, TypeAdapter, ValidationError

from loadstone.experiment.software import Software
from loadstone.experiment.spec.problems import first_problem, listed, nearest, shown
from loadstone.monitors.metric import Metric, StudyColumn, by_name
from loadstone.monitors.metrics import host, jvm, mariadb, memcached, node, postgresql, redis
from loadstone.monitors.part_kind import Lock, PartKind, Pool
from loadstone.safety.errors import UserError
from loadstone.servers.software_rooms import SOFTWARE as SOFTWARE
from loadstone.servers.software_rooms import in_containers as in_containers
from loadstone.servers.software_rooms import room as room
from loadstone.text.language import said

if TYPE_CHECKING:  # types alone: whoever needs a declaration loads no server, no monitor and no client library
    from pathlib import Path

    from loadstone.experiment.plan.operations import RecordedLoad
    from loadstone.machine.installed_programs import Fact
    from loadstone.monitors.monitor import Monitor
    from loadstone.monitors.watch import Watch
    from loadstone.servers.server import Server, ServerSettings

CONTAINER = "container"
"""The kind of several kinds of software: `software` says of which."""
_OBSERVED = (
    *(host.OBSERVED, mariadb.OBSERVED, postgresql.OBSERVED, redis.OBSERVED, memcached.OBSERVED),
    *(jvm.OBSERVED, node.OBSERVED),
)
METRICS: Mapping[str, Metric] = by_name(metric for room in _OBSERVED for metric in room.metrics)
"""Every metric by its name. The tables of the report stand in this order."""
PART_KINDS: Mapping[str, PartKind] = {kind.name: kind for room in _OBSERVED for kind in room.kinds}
"""What is declared of each kind of part, by the kind that records carry."""
POOLS: Mapping[str, Pool] = {pool.name: pool for room in _OBSERVED for pool in room.pools}
LOCKS: tuple[Lock, ...] = tuple(lock for room in _OBSERVED for lock in room.locks)
STUDY_COLUMNS: tuple[StudyColumn, ...] = tuple(column for room in _OBSERVED for column in room.study_columns)


def software_of(settings: Mapping[str, Any]) -> Software:
    """The software of a server, by its settings in an experiment; the first one where they do not say."""
    named = SOFTWARE.get(str(settings.get("software", "")))
    if named is not None:
        return named
    return next((software for software in SOFTWARE.values() if settings.get("kind") in software.kinds), _first())


def is_users(settings: Mapping[str, Any]) -> bool:
    """Whether a server with these settings is the user's, and so never killed."""
    return any(settings.get("kind") == software.url_kind for software in SOFTWARE.values())


def software_by_url(url: str) -> Software:
    """The software that a URL is of, by its scheme; the first one where no software has that."""
    scheme = url.partition("://")[0]
    return next((software for software in SOFTWARE.values() if scheme in software.schemes), _first())


def with_tables() -> tuple[Software, ...]:
    """Every software that keeps rows in tables."""
    return tuple(software for software in SOFTWARE.values() if software.rows == "table")


def _first() -> Software:
    return next(iter(SOFTWARE.values()))


def brought_program(kind: str) -> "Path | None":
    """The program of a Redis (`embedded`) or Valkey (`valkey`) that loadstone brings; None: not installed."""
    packages = import_module("loadstone.servers.redis.packages")
    found: Path | None = (packages.find_valkey if kind == "valkey" else packages.find_server)()
    return found


def read_recording(path: "Path", folder: "Path") -> "RecordedLoad":
    """A recording of commands, made ready for drivers in `folder`; of the first software that reads any.

    Raises:
        UserError: it cannot be read.
    """
    readers = (room(name).recording for name in SOFTWARE)
    read = next(reader for reader in readers if reader is not None)
    return read(path, folder)


class _Kinds(Mapping[str, "type[ServerSettings]"]):
    """The settings of every kind of server; a room is loaded for the first kind of it that is looked up."""

    def __init__(self) -> None:
        self._rooms = {kind: software.name for software in SOFTWARE.values() for kind in software.kinds}

    def __getitem__(self, kind: str) -> "type[ServerSettings]":
        if kind == CONTAINER:
            from loadstone.servers.containers.container import ContainerSettings

            return ContainerSettings
        return room(self._rooms[kind]).kinds[kind]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._rooms, CONTAINER))

    def __len__(self) -> int:
        return len(self._rooms) + 1


SERVERS: Mapping[str, "type[ServerSettings]"] = _Kinds()


@cache
def server_union() -> "TypeAdapter[ServerSettings]":
    """The tagged union of `experiment.servers`; its JSON Schema is for editors."""
    union: Any = Annotated[Union[tuple(SERVERS.values())], Field(discriminator="kind")]  # noqa: UP007 (from the table)
    return TypeAdapter(union)


def server(name: str, settings: Mapping[str, Any]) -> "Server":
    """The server `name` of an experiment, not started.

    Raises:
        UserError: the settings are not those of a known kind; names server, field and value.
    """
    kind = settings.get("kind")
    model = SERVERS.get(kind) if isinstance(kind, str) else None
    if model is None:
        told = said("{kind} is not known", kind=shown(kind)) if "kind" in settings else said("is missing")
        raise UserError(
            "servers.{name}.kind: {problem}; {hint}known kinds: {kinds}",
            name=name,
            problem=told,
            hint=nearest(str(kind), SERVERS),
            kinds=listed(SERVERS),
        )
    try:
        return model.model_validate(settings).server(name)
    except ValidationError as error:
        path, sentence = first_problem(error, model, settings)
        raise UserError(
            "servers.{names}: {sentence}", names=".".join(str(part) for part in (name, *path)), sentence=sentence
        ) from None


def monitors(watch: "Watch") -> "list[Monitor]":
    """All monitors for what a run lets them see."""
    return [monitor for watching in _watching() for monitor in watching(watch)]


def _watching() -> "Iterator[Callable[[Watch], list[Monitor]]]":
    """What has monitors, in their order: those that may have to wait for an answer come after those that do not."""
    yield from import_module("loadstone.monitors.host.monitor").WATCHING
    for name in SOFTWARE:
        yield from import_module(f"loadstone.servers.{name}.monitor").WATCHING
    yield from import_module("loadstone.monitors.jvm").WATCHING
    yield from import_module("loadstone.monitors.node").WATCHING


def monitors_of_machine(watch: "Watch") -> "list[Monitor]":
    """Those of the machine and its processes alone, which ask no server."""
    return [
        monitor for watching in import_module("loadstone.monitors.host.monitor").WATCHING for monitor in watching(watch)
    ]


def doctor() -> "list[Fact]":
    """What each room says of what is installed."""
    return [fact() for name in SOFTWARE for fact in room(name).facts]
