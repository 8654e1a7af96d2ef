"""How much load the driver itself can make: the trial's own load against a server that does nothing."""

from collections import Counter
from typing import Any

from loadstone.deploy.null_server import NullServerProcess
from loadstone.deploy.provider import DeployContext
from loadstone.drive.driver import Driver
from loadstone.drive.outcome import DriveRecord
from loadstone.errors import DriveFailed
from loadstone.plan.model import Closed, Phases, Plan
from loadstone.record.facts import Ceiling

NEAR = 0.7
"""Share of the ceiling from which on it is worth measuring again."""
TRIES = 3
"""How often it is measured at most for one trial."""
TRIES_IN_ALL = 9
"""How often it is measured at most in a run, for each kind of load: what still looks near then is near."""
BUSY_USERS = 64
"""Enough to keep one thread of a driver busy."""
BUSY = Phases(warm_up_s=0.05, measure_s=0.2, drain_s=1.0)
SINGLE = Phases(warm_up_s=0.02, measure_s=0.1, drain_s=1.0)


class CeilingGauge:
    """Measures the ceiling once for each kind of load: users and pool do not matter to it."""

    def __init__(self, driver: Driver, context: DeployContext) -> None:
        self._driver = driver
        self._context = context
        self._known: dict[str, Ceiling] = {}
        self._tried: Counter[str] = Counter()

    def measure(self, plan: Plan, rate_per_s: float) -> Ceiling | None:
        """The ceiling for this kind of load; None if the driver cannot be driven against the null server.

        Noise can only lower a ceiling: where `rate_per_s` comes near it, it is measured again and the higher
        one counts. It costs about .4 s each time.
        """
        kind = plan.model_dump_json(
            include={"operations", "documents", "pipeline_depth", "threads", "protocol", "cpus"}
        )
        best = self._known.get(kind)
        for _ in range(TRIES):
            if best is not None and (rate_per_s <= NEAR * best.capacity_per_s or self._tried[kind] >= TRIES_IN_ALL):
                break
            self._tried[kind] += 1
            found = self._measured(plan)
            if found is None:
                return None
            if best is None or found.capacity_per_s > best.capacity_per_s:
                best = found
        if best is not None:
            self._known[kind] = best
        return best

    def _measured(self, plan: Plan) -> Ceiling | None:
        null = NullServerProcess(_options(plan))
        endpoint = null.start(self._context)
        try:
            base = plan.model_copy(
                update={
                    "endpoints": (endpoint,),
                    "verify": plan.verify.model_copy(update={"count_mismatch": False, "read_back_max": 0}),
                    "keys": plan.keys.model_copy(update={"loaded": True}),
                }
            )
            busy = _with_users(base, BUSY_USERS * plan.threads, BUSY)
            return Ceiling.of(busy, self._drive(busy), self._drive(_with_users(base, plan.threads, SINGLE)))
        except DriveFailed:
            return None
        finally:
            null.stop()

    def _drive(self, plan: Plan) -> DriveRecord:
        return self._driver.drive(plan, lambda _: None)


def _options(plan: Plan) -> dict[str, Any]:
    """A null server that answers each of the plan's commands by a reply of the right kind and size."""
    commands = [command for operation in plan.operations for command in operation.commands]
    return {
        "document_bytes": plan.documents.payload_bytes + 122,
        "field_bytes": plan.documents.field_bytes,
        "replies": {c.args[0].upper(): c.expect for c in commands if c.expect != "any"},
    }


def _with_users(plan: Plan, users: int, phases: Phases) -> Plan:
    pool = plan.pool.model_copy(update={"connections": users, "min_idle": None, "max_idle": None})
    return plan.model_copy(update={"model": Closed(users=users), "pool": pool, "phases": phases})
