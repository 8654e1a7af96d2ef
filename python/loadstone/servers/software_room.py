"""What the room of a server software offers beside its declaration. Each room has one, `ROOM` in its `room.py`.

The files of a room have the same names in all of them:

    room.py       what the room offers, by this class
    local.py      the settings and the server of a kind that is started here
    url.py        the settings and the server of `url_kind`: the user's own
    known_settings.py  what an experiment may set on it (`servers.known_settings`), where its settings are many
    session.py    a connection to one server of it
    control.py    what loadstone asks and orders by it (`servers.control.Control`)
    monitor.py    what reports them, `WATCHING` for the registry

Beside these a room has what only its software needs. What the software is, as data, stands in `experiment/software.py`,
and its metrics in `monitors/metrics/`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.experiment.plan.endpoints import Tls
from loadstone.experiment.plan.operations import RecordedLoad
from loadstone.machine.installed_programs import Fact
from loadstone.run_folder.ledger import ServerIdentity
from loadstone.servers.compared_replies import ComparedReplies, WayBack
from loadstone.servers.containers.contained import InContainer
from loadstone.servers.control import CommandInspection, Confinement
from loadstone.servers.known_settings import KnownSettings
from loadstone.servers.server import DeployContext, FourServers, Server, ServerSettings


@dataclass(frozen=True)
class ComparedVersions:
    """What a room does for two versions of its software, on servers of ours."""

    require_recording: Callable[[Path], None]
    """Returns if a file begins as a recording does. Raises UserError."""
    begin_with: Callable[[Server, Path], None]
    """Lets a server load a snapshot when it is started. Raises UserError where it cannot."""
    replies: Callable[[FourServers, Path, Callable[[int], None]], ComparedReplies]
    """Sends a recording to two servers and their twins; calls the last with the number of commands that were
    sent. Raises UserError, ServerGone."""
    way_back: Callable[[Server, Server, DeployContext], WayBack | None]
    """Whether a server, which does not run, takes what another one wrote, which runs; None: cannot be tried. Raises
    ServerGone."""


@dataclass(frozen=True)
class Room:
    """One room; loaded when it is first needed."""

    kinds: Mapping[str, type[ServerSettings]]
    """The settings of each of `Software.kinds`."""
    place: Callable[[str, str], ServerIdentity]
    """Where a URL leads, for the ledger: by the server's name and the URL. Raises UserError if it is none."""
    confinement: Confinement
    """What may be sent to a server of the user's by our own rules alone: none is connected to."""
    facts: Sequence[Callable[[], Fact]]
    """What `loadstone doctor` says of what is installed."""
    reaches_out: Callable[[Sequence[str]], bool]
    """Whether a command may reach beyond a server of ours: files, programs, others."""
    known_settings: KnownSettings
    """What an experiment may set on a server that is started here."""
    doubt_about: CommandInspection | None = None
    """What is wrong with a command before a server is there to say so; None: nothing is known of its commands."""
    in_container: InContainer | None = None
    recording: Callable[[Path, Path], RecordedLoad] | None = None
    """Reads a recording of its clients' commands, and writes them for drivers into a folder. Raises UserError."""
    compared_versions: ComparedVersions | None = None
    watch_only: Callable[[str], tuple[Any, int | None]] | None = None
    """A connection that reads the figures of a server of the user's and writes nothing, and its process where that is
    one of this machine's; by its URL. Raises UserError, ServerGone."""
    jdbc_options: Callable[[str, str, Tls | None], str] | None = None
    """What the options of a JDBC URL are, by host, port and TLS: for `${NAME.jdbc_options}` of a subject."""
