"""Where the load of a trial goes: its plan on the endpoints of its target."""

from collections.abc import Collection

from loadstone.conduct.ready_parts import targets_of
from loadstone.deploy.control import KnowsReads
from loadstone.deploy.deployed import Ready
from loadstone.plan.drive_plan import Plan
from loadstone.plan.endpoints import Endpoint
from loadstone.plan.operations import Operation

FAILOVER_S = 120.0
"""For how long no server may answer where Sentinel is to find another primary: its own default is 30 s and more."""


def on_endpoints(plan: Plan, ready: Ready, target: str | None) -> Plan:
    """The plan on the endpoints of its target.

    Each node of a cluster, and each replica that is read from, has a pool of the planned size, as in clients.
    """
    endpoints = ready.endpoints(target)
    plan = plan.model_copy(update={"endpoints": endpoints})
    if any(endpoint.sentinel_of is not None for endpoint in endpoints):
        # A failover takes long, and no server answers meanwhile.
        timeouts = plan.timeouts.model_copy(update={"gone_s": max(plan.timeouts.gone_s, FAILOVER_S)})
        plan = plan.model_copy(update={"timeouts": timeouts})
    if any(endpoint.replica_of is not None for endpoint in endpoints):
        controls = [one.control for one in targets_of(ready, target).values()]
        plan = with_reads(plan, [control for control in controls if isinstance(control, KnowsReads)])
    if any(_is_apart(endpoint) for endpoint in endpoints):
        in_service = sum(endpoint.in_service for endpoint in endpoints)
        pool = plan.pool.model_copy(update={"connections": plan.pool.connections * in_service})
        plan = plan.model_copy(update={"pool": pool})
    return plan


def with_reads(plan: Plan, controls: Collection[KnowsReads]) -> Plan:
    """The plan, whose operations say whether replicas may serve them, as the servers know it."""

    def only_reads(operation: Operation) -> bool:
        if operation.writes != "nothing" or not operation.commands:
            return False
        return all(control.only_reads(command.args) for control in controls for command in operation.commands)

    marked = (one.model_copy(update={"reads_only": only_reads(one)}) for one in plan.operations)
    return plan.model_copy(update={"operations": tuple(marked)})


def _is_apart(endpoint: Endpoint) -> bool:
    """Whether each operation decides if it goes there."""
    return bool(endpoint.slots) or endpoint.replica_of is not None
