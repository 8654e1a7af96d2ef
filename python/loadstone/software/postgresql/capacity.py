"""How much room the disk under a PostgreSQL's files has, and whether a run's rows fit there."""

import os
from collections.abc import Sequence

from loadstone.deploy.capacity import disk_shortage, free_here
from loadstone.errors import UserError
from loadstone.plan.footprint import disk_of
from loadstone.plan.run_plan import PlannedTrial
from loadstone.software.postgresql.session import PostgresqlSession

OPEN = "/proc/self/fd/"
"""How a path begins that leads through a folder that a process has open."""


def shortage(control: PostgresqlSession, trials: Sequence[PlannedTrial], server: str, pid: int | None) -> str:
    """Why the rows of these trials may not fit, and what helps; empty if they do. Raises ServerGone.

    `pid`: its process, where that is one of this machine: no statement of PostgreSQL's reports how much is free. The
    write-ahead log has every row once more.
    """
    with PostgresqlSession(control.endpoint, control.database if control.has_database() else "") as anywhere:
        try:
            rows = anywhere.query("SELECT current_setting('data_directory')")
        except UserError:  # which only users may read who may read all settings
            return ""
    folder = str(rows[0][0]) if rows and rows[0] else ""
    if pid is not None and folder.startswith(OPEN):  # one of ours, see `programs.reached_by`
        folder = os.path.realpath(folder.replace("self", str(pid), 1))
    free = free_here(pid, folder) if pid is not None and folder.startswith("/") else None
    return disk_shortage(folder, free, disk_of(trials, server, binary_log=True))
