"""The kinds of each seam. Outside of its room a software is reached by this file alone.

What a software declares of itself stands in `experiment/software.py`, and its metrics in `monitors/catalogue.py`: they
are data, which every stage may use. What it does is loaded when it is first needed. To add one takes its room, its
declaration, and a line for its metrics.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import Field, TypeAdapter, ValidationError

from loadstone.experiment.software import SOFTWARE
from loadstone.experiment.spec.problems import first_problem
from loadstone.safety.errors import UserError
from loadstone.servers.software_rooms import room as room
from loadstone.text.message import said
from loadstone.text.wording import listed, nearest, shown

if TYPE_CHECKING:  # types alone: whoever needs a declaration loads no server, no monitor and no client library
    from pathlib import Path

    from loadstone.experiment.plan.operations import RecordedLoad
    from loadstone.machine.installed_programs import Fact
    from loadstone.machine.needs import Need
    from loadstone.monitors.monitor import Monitor
    from loadstone.monitors.watch import MonitorTargets
    from loadstone.servers.server import Server, ServerSettings
    from loadstone.servers.software_room import ComparedVersions

CONTAINER = "container"
"""The kind of several kinds of software: `software` says of which."""


BroughtKind = Literal["embedded", "valkey"]
"""The kinds of servers, a Redis and a Valkey, whose program loadstone brings."""
_FOUND_BY: Mapping[BroughtKind, str] = {"embedded": "find_server", "valkey": "find_valkey"}


def brought_program(kind: BroughtKind) -> "Path | None":
    """The program of this kind that loadstone brings; None: not installed."""
    packages = import_module("loadstone.servers.redis.packages")
    found: Path | None = getattr(packages, _FOUND_BY[kind])()
    return found


def read_recording(path: "Path", folder: "Path") -> "RecordedLoad":
    """A recording of commands, made ready for drivers in `folder`; of the first software that reads any.

    Raises:
        UserError: it cannot be read.
    """
    readers = (room(name).recording for name in SOFTWARE)
    read = next(reader for reader in readers if reader is not None)
    return read(path, folder)


def compared_versions() -> "ComparedVersions":
    """What compares two versions of a software, for the first software that has it."""
    of_rooms = (room(name).compared_versions for name in SOFTWARE)
    return next(one for one in of_rooms if one is not None)


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


def make_server(name: str, settings: Mapping[str, Any]) -> "Server":
    """The server `name` of an experiment, not started. Raises UserError as `read_settings`."""
    return read_settings(name, settings).server(name)


def read_settings(name: str, settings: Mapping[str, Any]) -> "ServerSettings":
    """The settings of server `name` of an experiment, as its kind reads them.

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
        return model.model_validate(settings)
    except ValidationError as error:
        path, sentence = first_problem(error, model, settings)
        raise UserError(
            "servers.{names}: {sentence}", names=".".join(str(part) for part in (name, *path)), sentence=sentence
        ) from None


def needs(name: str, settings: Mapping[str, Any]) -> "Sequence[Need]":
    """What of this machine the server `name` needs, whose settings are those of a known kind."""
    return SERVERS[settings["kind"]].model_validate(settings).needs(name)


def watch_only(software: str, url: str) -> tuple[Any, int | None]:
    """A connection for the figures of a server of the user's, and its process where that is one of this machine's.

    Raises:
        UserError: its software cannot be watched so, or the URL is none of it.
        ServerGone: it does not answer.
    """
    watch = room(software).watch_only
    if watch is None:
        raise UserError("{software}: its servers are not asked for their figures", software=software)
    return watch(url)


def monitors(watch: "MonitorTargets") -> "list[Monitor]":
    """All monitors for what a run lets them see."""
    return [monitor for watching in _watching() for monitor in watching(watch)]


def _watching() -> "Iterator[Callable[[MonitorTargets], list[Monitor]]]":
    """What has monitors, in their order: those that may have to wait for an answer come after those that do not."""
    yield from import_module("loadstone.monitors.host.monitor").WATCHING
    for name in SOFTWARE:
        yield from import_module(f"loadstone.servers.{name}.monitor").WATCHING
    yield from import_module("loadstone.monitors.jvm").WATCHING
    yield from import_module("loadstone.monitors.node").WATCHING


def monitors_of_machine(watch: "MonitorTargets") -> "list[Monitor]":
    """Those of the machine and its processes alone, which ask no server."""
    return [
        monitor for watching in import_module("loadstone.monitors.host.monitor").WATCHING for monitor in watching(watch)
    ]


def doctor() -> "list[Fact]":
    """What each room says of what is installed."""
    return [fact() for name in SOFTWARE for fact in room(name).facts]
