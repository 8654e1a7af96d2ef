"""Warming a subject up: before its first trial it is under the trial's own load, and nothing of that counts."""

from collections.abc import Callable

from loadstone.deploy.deployed import DeployedSubject, Ready
from loadstone.drive.driver import Driver
from loadstone.errors import DriveFailed
from loadstone.plan.model import Closed, Plan


def warm_up(driver: Driver, ready: Ready, target: str | None, plan: Plan, progress: Callable[[str], None]) -> None:
    """Put the load on the subjects that `plan` goes to, if they never were under this kind of load since their start.

    What fails is told by the trial itself, which comes next.
    """
    kind = " ".join(sorted(operation.name for operation in plan.operations))
    cold = {name: one for name, one in _loaded(ready, target).items() if one.warm_up_s > 0 and kind not in one.warmed}
    if not cold:
        return
    length_s = max(one.warm_up_s for one in cold.values())
    progress(f"warming {', '.join(cold)} up by {kind} for {length_s:g} s")
    try:
        driver.drive(_for(plan, length_s), lambda _: None)
    except DriveFailed:
        return
    for one in cold.values():
        one.warmed.add(kind)


def _loaded(ready: Ready, target: str | None) -> dict[str, DeployedSubject]:
    return {name: one for name, one in ready.subjects.items() if target in (None, name)}


def _for(plan: Plan, length_s: float) -> Plan:
    """The same load for so long, whatever number of operations the trial has."""
    phases = plan.phases.model_copy(
        update={"ramp_up_s": 0.0, "warm_up_s": 0.0, "measure_s": length_s, "measure_operations": None,
                "measure_max_s": None}
    )  # fmt: skip
    changed: dict[str, object] = {"phases": phases}
    if isinstance(plan.model, Closed):
        changed["model"] = plan.model.model_copy(update={"operations_per_user": None, "ramp_up": None})
    return plan.model_copy(update=changed)
