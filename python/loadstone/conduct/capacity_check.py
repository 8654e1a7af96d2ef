"""Before a run: whether its servers take what it stores, and whether it fits beside what others hold on theirs."""

from collections.abc import Sequence

from loadstone.bounds.conversation import OPENING, within
from loadstone.deploy.control import LimitsValues
from loadstone.deploy.provider import Server
from loadstone.errors import ServerGone, UserError
from loadstone.plan.run_plan import PlannedTrial


@within(OPENING)
def require_room(server: Server, trials: Sequence[PlannedTrial]) -> None:
    """Hold what these trials store against what a server that runs takes, and the room of one that is not ours.

    Raises:
        UserError: it is not taken, or may not fit; names the server, what is planned, what there is, and what helps.
    """
    try:
        with server.control() as control:
            problem = control.too_large(trials, server.name) if isinstance(control, LimitsValues) else ""
            if not problem and not server.ours:
                problem = control.shortage(trials, server.name, next(iter(server.pids.values()), None))
            where = f"server {server.name} ({control.endpoint.label})"
    except ServerGone as gone:
        raise UserError(str(gone)) from None
    if problem:
        raise UserError(f"{where}: {problem}")
