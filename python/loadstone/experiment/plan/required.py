"""What a trial wants to find when it starts, after substitution: subjects, data, and what is counted around it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

THIS_MACHINE, OWN_HOST = "this machine", "own"
"""What `host` of a server may say that is not the name of a monitor of the fleet."""
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,252}[A-Za-z0-9])?")


def named_host(settings: Mapping[str, object]) -> str | None:
    """The monitor of the fleet on whose machine a server with these settings is to run; None: on this one."""
    host = settings.get("host")
    return None if host in (None, THIS_MACHINE, OWN_HOST) else str(host)


@dataclass(frozen=True)
class RequiredSubject:
    """A subject under one condition: a manifest to build and start, or the user's URLs."""

    manifest: str | None = None
    """Path of a manifest's file or folder."""
    urls: tuple[str, ...] = ()
    replicas: int = 1
    limits: Mapping[str, object] = field(default_factory=dict)
    """Settings of `machine.processes.resource_limits.Limits`, of each replica."""
    environment: Mapping[str, str] = field(default_factory=dict)
    host: str | None = None
    """The monitor of the fleet on whose machine it is started; None: on this one."""
    warm_up_s: float | None = None
    """How long it is under each kind of load before its first trial; None: as its manifest says."""


@dataclass(frozen=True)
class RequiredData:
    """Rows that a server must hold. Equal name, rows, columns and seed mean the same rows."""

    name: str
    rows: int
    columns: Mapping[str, str]
    """Name -> template of its values, see `experiment.spec.experiment.DataSpec`."""
    server: str
    table: str | None = None
    commands: tuple[str, ...] = ()
    seed: int = 1


@dataclass(frozen=True)
class StoredCount:
    """What is counted on a server right before and right after the drive, for one operation."""

    operation: str
    server: str
    count: str
    """A command that answers one number, or the name of the table whose rows are counted."""


@dataclass(frozen=True)
class PlannedCrash:
    """One try: drive, kill the server, start it again, look the acknowledged keys up."""

    name: str
    """Name of the crash in the experiment."""
    trial: str
    """Its own name, e.g. `crash-durability-2-1`."""
    server: str
    count: str | None
    """What counts the writes where they cannot be looked up; None: nothing needs it."""
    after_s: float
    number: int
    """Which try of its condition, from 1."""
    look_up: tuple[str, ...] = ()
    """The command that looks a key up, which goes behind its first word; empty: the writes are counted, which gives
    bounds of what was lost."""
