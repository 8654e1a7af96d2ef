"""Before a run: whether what it stores fits into the servers that are not ours, beside what others hold there."""

from collections.abc import Sequence

from loadstone.deploy.provider import Server
from loadstone.errors import ServerGone, UserError
from loadstone.plan.run_plan import PlannedTrial


def require_room(server: Server, trials: Sequence[PlannedTrial]) -> None:
    """Hold what these trials store against the room of a server that runs and is not ours.

    Raises:
        UserError: it may not fit; names the server, what is free, what is planned, and what helps.
    """
    if server.ours:
        return
    try:
        with server.control() as control:
            problem = control.shortage(trials, server.name, next(iter(server.pids.values()), None))
            where = f"server {server.name} ({control.endpoint.label})"
    except ServerGone as gone:
        raise UserError(str(gone)) from None
    if problem:
        raise UserError(f"{where}: {problem}")
