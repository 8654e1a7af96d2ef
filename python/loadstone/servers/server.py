"""The server seam: what every kind of server offers, and the data that it hands on.

A kind is one file: its settings (a pydantic model with `kind: Literal[...]` and a method
`make_server(name)`), and what starts and stops it. `servers.registry.SERVERS` names the kinds.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import ConfigDict, field_validator

from loadstone.experiment.action import Destination, ListsActions, PlannedAction, Sending, fields, pins_of, shown_text
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.required import HOST_NAME, OWN_HOST, THIS_MACHINE
from loadstone.machine.limits_in_force import LimitInForce, LimitName
from loadstone.machine.needs import Need
from loadstone.machine.start_context import LOOPBACK, StartContext
from loadstone.run_folder.ledger import NO_LEDGER, Ledger, ServerIdentity
from loadstone.safety.bounds.pinned_files import is_file
from loadstone.safety.bounds.replies import shortened
from loadstone.safety.terminal import printable
from loadstone.servers.control import Control
from loadstone.servers.delay_line import Link
from loadstone.servers.known_settings import KnownSettings, Standing
from loadstone.servers.remote_host import NamedHost, no_hosts
from loadstone.text.message import AnyText, said
from loadstone.text.problem import Problem

ConfigValue = str | int | float | bool
Module = Literal["json"]


@dataclass(frozen=True)
class DeployContext(StartContext):
    """What a run gives to its servers and applications."""

    generator_cpus: tuple[int, ...] = ()
    """CPUs of the generator, which the lines to servers share, and servers with CPUs of their own where there are no
    others; empty: not pinned."""
    ledger: Ledger = NO_LEDGER
    """Where it is noted what is made on servers that are not ours, before it is made."""
    own_host: bool = False
    """Whether the server is to have a host of its own (`machine.processes.network_namespace`)."""
    listen: str = LOOPBACK
    """Where servers and applications of ours listen: on loopback, or at the address of this machine by which the others
    of a fleet reach it."""
    host_of: Callable[[str], NamedHost] = no_hosts
    """A machine of the run's fleet, by the name that the experiment has. Raises UserError."""
    only_asking: bool = False
    """Whether a server that is not ours is only queried whether it can serve: nothing is made on it."""


FACT_MAX = 120
"""Number of characters that are kept of each thing that a server says about itself."""


@dataclass(frozen=True)
class ServerFacts:
    """What a server says about itself."""

    software: str
    """`redis`, `valkey`, `dragonfly` or what else it calls itself."""
    version: str
    mode: str
    role: str
    modules: Mapping[str, str] = field(default_factory=dict)
    """Name -> version."""
    process_id: int | None = None
    """As the server itself knows it; in a container another than the host's."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Allocator, I/O threads, maximal memory and the like, for the environment's record."""
    limits: Mapping[LimitName, LimitInForce] = field(default_factory=dict)
    """The CPU and memory limits that it has, or was to have."""

    def __post_init__(self) -> None:
        """Keep of each text what a record and a terminal may have: a server may say anything about itself."""
        for name in ("software", "version", "mode", "role"):
            object.__setattr__(self, name, shortened(getattr(self, name), FACT_MAX))
        for name in ("modules", "details"):
            texts = {shortened(key, FACT_MAX): shortened(text, FACT_MAX) for key, text in getattr(self, name).items()}
            object.__setattr__(self, name, texts)


class Server(Protocol):
    """One server, running or not. `start` may be called again after `stop`.

    `pids`: part -> process id; empty where the host cannot be observed. Parts are named after the server.
    """

    name: str
    ours: bool
    """Whether loadstone started it, and so may restart it."""

    @property
    def pids(self) -> Mapping[str, int]: ...
    @property
    def facts(self) -> ServerFacts: ...
    @property
    def settings_read_back(self) -> Mapping[str, str]: ...

    def control(self, timeout_s: float = 5.0) -> Control:
        """A connection for loadstone's own questions to the server where it is, made when it is first needed."""

    def start(self, context: DeployContext) -> Endpoint:
        """Start it, or find it, and wait until it serves.

        Raises:
            UserError: it cannot serve this experiment; one line with the server's message and the remedy.
            Interrupted: the user requested a stop; nothing of it runs.
        """

    def restart(self) -> Endpoint:
        """Bring it back after it died, or afresh, with the data that it kept.

        Raises:
            ServerGone: it is not ours and does not answer.
            UserError: it is ours and does not start.
        """

    def alive(self) -> bool:
        """Whether it can be talked to: for one of ours, whether its process runs."""

    def stop(self) -> None:
        """End it if it is ours, with all that was made for it. May be called more than once."""


FourServers = tuple[Server, Server, Server, Server]
"""Two that are compared, and both once more."""


@runtime_checkable
class ManyEndpoints(Protocol):
    """What a server offers beside, if the load goes to several endpoints: a cluster."""

    @property
    def endpoints(self) -> tuple[Endpoint, ...]: ...


class SettingsRoom(Protocol):
    """What the room of a software knows of settings; see `software_room.Room`."""

    @property
    def place(self) -> Callable[[str, str], ServerIdentity]: ...
    @property
    def known_settings(self) -> KnownSettings: ...


class ServerSettings(ListsActions, ABC):
    """Base of the settings of every kind: immutable, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    HARMLESS = fields("kind software modules limits cpus link host of nodes replicas read_from")
    LISTED = fields("url image program settings")

    kind: str
    modules: tuple[Module, ...] = ()
    """Modules that the experiment needs."""
    cpus: Literal["with the application", "own"] = "with the application"
    """Place of a server of ours: on the CPUs of the application and the other servers, or on CPUs of its own. On two
    CPUs it then shares that of the generator (`machine.placement.own_cpus`)."""
    link: Link = None
    """The line between the server and what loads it, if it has one."""
    host: str = THIS_MACHINE
    """Machine of a server of ours: `this machine`, on loopback; `own`: a network namespace with an address of its own;
    or the name of a monitor of the fleet (`--fleet`), on whose machine it is started."""

    may_have_own_host: ClassVar[bool] = False
    may_be_elsewhere: ClassVar[bool] = False
    """Whether it may be started on a machine of the fleet: it is an `OwnServer`."""

    @field_validator("host")
    @classmethod
    def _host_can_be_made(cls, value: str) -> str:
        kind = cls.model_fields["kind"].default
        if value == OWN_HOST and not cls.may_have_own_host:
            raise Problem("a server of kind '{kind}' has no host of its own; leave out host", kind=kind)
        if value not in (THIS_MACHINE, OWN_HOST):
            if not HOST_NAME.fullmatch(value):
                raise Problem(
                    "'{value}' is not the name of a host; write that of a monitor of the fleet", value=value[:80]
                )
            if not cls.may_be_elsewhere:
                raise Problem(
                    "a server of kind '{kind}' cannot be started on another machine; leave out host", kind=kind
                )
        return value

    def needs(self, name: str) -> Sequence[Need]:  # noqa: ARG002 (what a kind needs names its server)
        """What of this machine the server of this name needs, there or not: programs and packages."""
        return ()

    @abstractmethod
    def server(self, name: str) -> Server:
        """The server of this name with these settings, not started."""

    def destination(self, name: str, written: Mapping[str, Any], room: SettingsRoom) -> Destination:  # noqa: ARG002
        """Where goes what is sent to it; `written`: the settings with their references."""
        return Destination(said("server {name}, which it starts", name=name), outside=False)

    def actions(
        self, name: str, written: Mapping[str, Any], room: SettingsRoom, sending: Sending
    ) -> Iterator[PlannedAction]:
        """What starting it does."""
        at, own = ("servers", name), self.destination(name, written, room)
        # What a server shows of its settings, as in the title of its process, all users of the machine can read.
        for key, value in written.items():
            yield from sending.variables({key: value}, [replace(own, others=key == "settings")], *at)
        yield self._start(name)
        yield from self._programs(name)
        for setting, value in getattr(self, "settings", {}).items():
            yield _set(name, setting, value, room.known_settings.standing(setting, value))

    def _programs(self, name: str) -> Iterator[PlannedAction]:
        """What is started for fields that may name a program, or files that one takes."""
        for key in program_fields(type(self).model_fields):
            if key in self.model_fields_set and (value := getattr(self, key)):
                what = said("{what} ({option} of server {name})", what=shown_text(str(value)), option=key, name=name)
                file = Path(str(value))
                pins = pins_of(file) if is_file(file) else ()
                yield PlannedAction("starts", what, asks=True, at=("servers", name, key), pins=pins)

    def _start(self, name: str) -> PlannedAction:
        what = said("{what} as server {name}", what=printable(self.kind), name=name)
        return PlannedAction("starts its own", what, at=("servers", name))


def program_fields(settings: Iterable[str]) -> list[str]:
    """The fields of a server's settings that may name a program, or files that one takes: all that no list has."""
    return [key for key in settings if key not in ServerSettings.HARMLESS | ServerSettings.LISTED]


def _set(name: str, setting: str, value: object, standing: Standing) -> PlannedAction:
    """A setting of a server of ours: each is listed, and asks unless its software's list says that it is harmless."""
    set_to: AnyText = f"{name}: {shown_text(f'{setting}: {value}')}"
    if standing == "unknown":
        set_to = said("{setting} (a setting that loadstone does not know)", setting=set_to)
    kind = "configures" if standing == "passes" else "sets on a server"
    return PlannedAction(kind, set_to, asks=standing != "passes", at=("servers", name, "settings", setting))
