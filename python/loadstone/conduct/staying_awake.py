"""Whether the engine's threads may stay awake between arrivals: only where no part of the trial needs their CPUs."""

from collections.abc import Mapping
from typing import Any

from loadstone.deploy.deployed import Ready
from loadstone.deploy.placement import OWN_CPUS, Placement
from loadstone.plan.drive_plan import SPIN_US, Open, Plan
from loadstone.record.machine import cpu_limit


def with_spin(plan: Plan, placement: Placement, ready: Ready, servers: Mapping[str, Mapping[str, Any]]) -> Plan:
    """The plan of an open load with the time that its driver may stay awake, where it leaves that open.

    A thread that sleeps wakes up late, by 40 to 100 us on a virtual machine: it sends late, and notices late. One that
    stays awake takes a CPU for it. `servers`: the settings of the trial's servers.
    """
    if not isinstance(plan.model, Open) or plan.model.spin_us is not None:
        return plan
    spin_us = SPIN_US if _has_cpus_of_its_own(plan, placement, ready, servers) else 0.0
    return plan.model_copy(update={"model": plan.model.model_copy(update={"spin_us": spin_us})})


def _has_cpus_of_its_own(
    plan: Plan, placement: Placement, ready: Ready, servers: Mapping[str, Mapping[str, Any]]
) -> bool:
    """A CPU for each thread that nothing else of the trial is placed on: no server, no line to one, no receivers.

    Nor is there a quota, which staying awake would use up.
    """
    if placement.shared or plan.threads > len(placement.generator_cpus) or cpu_limit() is not None:
        return False
    beside = any(settings.get("cpus") == OWN_CPUS for settings in servers.values()) and len(placement.server_cpus) == 1
    return not beside and plan.receivers is None and all(one.line is None for one in ready.servers.values())
