"""Whether this machine has ports for the connections that a run needs, before anything is started."""

from collections import Counter
from collections.abc import Iterable

from loadstone.errors import UserError
from loadstone.machine.local_ports import WIDEN, local_ports
from loadstone.plan.drive_plan import Closed, Plan
from loadstone.plan.run_plan import PlannedTrial, RunPlan


def check_local_ports(run_plan: RunPlan) -> None:
    """A connection to an address needs a port of its own on this side.

    Raises:
        UserError: a trial needs more connections to one address than there are ports; with both figures.
    """
    ports = local_ports()
    if ports is None:
        return
    needed = connections_at_once(run_plan.every_trial)
    if needed > ports.count:
        raise UserError(
            f"workload.pool.connections: {needed:,} connections to one address need as many local ports, and this "
            f"machine has {ports.label}; use fewer connections, or {WIDEN}"
        )


def connections_at_once(trials: Iterable[PlannedTrial]) -> int:
    """The most connections that are open to one address: trials in rounds have theirs open all together."""
    together: Counter[object] = Counter()
    for trial in trials:
        place = (trial.group, trial.block) if trial.in_rounds else trial.name
        together[place] += connections_to_one(trial)
    return max(together.values(), default=0)


def connections_to_one(trial: PlannedTrial) -> int:
    """Connections to the address that has the most of them; 0 where all go to a Unix socket.

    Those to a cluster are the planned number for each of its nodes.
    """
    connections = _opened(trial.plan)
    subject = trial.subjects.get(trial.target) if trial.target else next(iter(trial.subjects.values()), None)
    if subject is not None:
        return -(-connections // max(1, len(subject.urls), subject.replicas))
    servers = [settings for name, settings in trial.servers.items() if trial.target in (None, name)]
    if any(str(one.get("kind")) == "cluster" for one in servers):
        return connections
    if servers and all(str(one.get("url", "")).startswith(("unix:", "redis+unix:")) for one in servers):
        return 0
    return -(-connections // max(1, len(servers)))


def _opened(plan: Plan) -> int:
    """How many connections are open at once at most: users of a pool that grows by need take one each."""
    pool = plan.pool
    if pool.min_idle is None or not isinstance(plan.model, Closed):
        return pool.connections + plan.receiving
    return min(pool.connections, max(pool.min_idle, plan.model.users)) + plan.receiving
