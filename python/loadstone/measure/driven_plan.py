"""Completes a trial's plan for its drive: its endpoints, what replicas may serve, whether it stays awake."""

from collections.abc import Collection

from loadstone.experiment.plan.drive_plan import SPIN_US, Plan
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation
from loadstone.machine.hardware import cpu_limit
from loadstone.machine.placement import Placement
from loadstone.programs.ready import RunningParts
from loadstone.servers.control import KeyStore, KnowsReads
from loadstone.servers.deployed import RunningServer

FAILOVER_S = 120.0
"""For how long no server may answer where Sentinel is to find another primary: its own default is 30 s and more."""


def targets_of(ready: RunningParts, target: str | None) -> dict[str, RunningServer]:
    """The servers that get the load themselves, and so hold the keys of the plan."""
    stores = {name: deployed for name, deployed in ready.servers.items() if isinstance(deployed.control, KeyStore)}
    return {name: deployed for name, deployed in stores.items() if target is None or name == target}


def on_endpoints(plan: Plan, ready: RunningParts, target: str | None) -> Plan:
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
        controls = [deployed.control for deployed in targets_of(ready, target).values()]
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


def with_spin(plan: Plan, placement: Placement, ready: RunningParts) -> Plan:
    """The plan with the time that its driver may stay awake, where it leaves that open.

    A thread that sleeps wakes up late, by 40 to 100 us on a virtual machine: it sends late, and notices late. One that
    stays awake takes a CPU for it.
    """
    if plan.model.spin_us is not None:
        return plan
    spin_us = SPIN_US if _has_cpus_of_its_own(plan, placement, ready) else 0.0
    return plan.model_copy(update={"model": plan.model.model_copy(update={"spin_us": spin_us})})


def _has_cpus_of_its_own(plan: Plan, placement: Placement, ready: RunningParts) -> bool:
    """A CPU for each thread that nothing else of the run is placed on: no server, no line to one, no receivers.

    Nor is there a quota, which staying awake would use up.
    """
    if placement.shared or placement.beside or plan.threads > len(placement.generator_cpus) or cpu_limit() is not None:
        return False
    return plan.receivers is None and all(deployed.line is None for deployed in ready.servers.values())
