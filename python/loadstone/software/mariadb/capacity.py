"""How much room the disk under a MariaDB's files has, and whether a run's rows fit there."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.bounds.replies import read_as
from loadstone.deploy.capacity import disk_shortage, free_here, is_under
from loadstone.errors import LoadstoneError
from loadstone.plan.footprint import disk_of
from loadstone.plan.run_plan import PlannedTrial
from loadstone.software.mariadb.session import MariaDbSession


@dataclass(frozen=True)
class DiskRoom:
    """The disk under a database's files."""

    folder: str
    free_bytes: int | None
    """None: nothing reports it."""
    binary_log: bool


def disk_room(control: MariaDbSession, pid: int | None) -> DiskRoom:
    """The disk that a MariaDB writes to; `pid`: its process, where that is one of this machine and can be observed.

    Raises:
        LoadstoneError: the server does not answer.
    """
    with MariaDbSession(control.endpoint) as anywhere:  # our database may not be made yet
        settings = anywhere.settings(("datadir", "log_bin"))
        folder = settings.get("datadir", "")
        free = _free_by_plugin(anywhere, folder)
    if free is None and pid is not None and folder.startswith("/"):
        free = free_here(pid, folder)
    return DiskRoom(folder, free, settings.get("log_bin", "OFF") not in ("OFF", "0", ""))


def _free_by_plugin(control: MariaDbSession, folder: str) -> int | None:
    """By the plugin DISKS, which few servers have, and which answers only users who may read files."""
    try:
        rows = control.table(2, "SELECT Path, Available FROM information_schema.DISKS")
        with read_as(control.endpoint.label, "information_schema.DISKS", "paths and figures"):
            under = [(str(path), int(kib)) for path, kib in rows if is_under(folder, str(path))]
    except LoadstoneError:
        return None
    return max(under, key=lambda disk: len(disk[0]))[1] * 1024 if under else None


def shortage(control: MariaDbSession, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> str:
    """Why the rows of these trials may not fit, and what helps; empty if they do. Raises ServerGone."""
    disk = disk_room(control, pid)
    return disk_shortage(disk.folder, disk.free_bytes, disk_of(trials, server, binary_log=disk.binary_log))
