"""The ceiling of a load: the same load on a server that does nothing, and what the driver reaches there.

With one user a thread it gives the round trip that the check `round_trip` holds the P50 against. With many it gives a
rate, which is for information and limits nothing.
"""

from typing import Any

from loadstone.drivers.driver import Driver, drive_alone
from loadstone.drivers.null_server import NullServerProcess
from loadstone.drivers.outcome import DriveRecord
from loadstone.experiment.plan.drive_plan import Closed, Phases, Plan
from loadstone.experiment.plan.operations import HttpExpect, Operation
from loadstone.experiment.plan.protocols import PROTOCOLS
from loadstone.run_folder.facts import Ceiling
from loadstone.safety.errors import DriveFailed, UserError
from loadstone.servers.server import DeployContext

BUSY_USERS = 64
"""Enough to keep one thread of a driver busy."""
REPLIES_MAX_BYTES = 64 * 1024 * 1024
"""What the replies to all users may be together: the driver holds some of each, and fewer users keep a thread busy with
long ones."""
BUSY = Phases(warm_up_s=0.03, measure_s=0.1, drain_s=1.0)
SINGLE = Phases(warm_up_s=0.01, measure_s=0.05, drain_s=1.0)
BODY_MAX_BYTES = 1 << 24
HTTP_HEAD_BYTES = 150
"""About what status line and headers of a reply take."""


class CeilingGauge:
    """Measures the ceiling once for each kind of load: users and pool do not matter to it."""

    def __init__(self, driver: Driver, context: DeployContext) -> None:
        self._driver = driver
        self._context = context
        self._known: dict[str, Ceiling] = {}

    def measure(self, plan: Plan, reply_bytes: float = 0.0) -> Ceiling | None:
        """The ceiling for this kind of load; None if the driver cannot be driven against the null server.

        It costs about .3 s, once. `reply_bytes`: mean size of a reply, which an HTTP load takes over.
        """
        if plan.recording is not None or plan.receivers is not None:
            return None  # its commands end, and so does a drive of them; its messages reach nobody there
        body_bytes = _rounded(reply_bytes - HTTP_HEAD_BYTES) if PROTOCOLS[plan.protocol].is_http else 0
        shape = plan.model_dump_json(
            include={"operations", "documents", "data", "pipeline_depth", "threads", "protocol", "cpus", "back_end"}
        )
        kind = f"{body_bytes} {plan.model.spin_us} {shape}"
        ceiling = self._known.get(kind) or self._measured(plan, body_bytes)
        if ceiling is not None:
            self._known[kind] = ceiling
        return ceiling

    def _measured(self, plan: Plan, body_bytes: int) -> Ceiling | None:
        null = NullServerProcess(_options(plan, body_bytes))
        try:
            endpoint = null.start(self._context)
            base = plan.model_copy(
                update={
                    "endpoints": (endpoint,),
                    "operations": tuple(_answerable(operation) for operation in plan.operations),
                    "verify": plan.verify.model_copy(update={"count_mismatch": False, "read_back_max": 0}),
                    "keys": plan.keys.model_copy(update={"loaded": True, "distribution": _endless(plan)}),
                }
            )
            busy = _with_users(base, _busy_users(plan, body_bytes), BUSY)
            return Ceiling.of(busy, self._drive(busy), self._drive(_with_users(base, plan.threads, SINGLE)))
        except (DriveFailed, UserError):
            return None
        finally:
            null.stop()

    def _drive(self, plan: Plan) -> DriveRecord:
        return drive_alone(self._driver, plan)


def _busy_users(plan: Plan, body_bytes: int) -> int:
    """Return how many users keep the driver busy: fewer where `REPLIES_MAX_BYTES` would be exceeded, but one a
    thread."""
    reply_bytes = max(1, body_bytes or plan.documents.payload_bytes) * plan.pipeline_depth
    return max(plan.threads, min(BUSY_USERS * plan.threads, REPLIES_MAX_BYTES // reply_bytes))


def _options(plan: Plan, body_bytes: int) -> dict[str, Any]:
    """A null server that answers each of the plan's commands or requests by a reply of the same kind and size."""
    protocol = PROTOCOLS[plan.protocol]
    if protocol.is_http:
        return {"protocol": protocol.null_server, "status": 200, "body_bytes": body_bytes}
    commands = [command for operation in plan.operations for command in operation.commands]
    return {
        "protocol": protocol.null_server,
        "document_bytes": plan.documents.payload_bytes + 122,
        "field_bytes": plan.documents.field_bytes,
        "replies": {c.args[0].upper(): c.expect for c in commands if c.expect != "any"},
    }


def _answerable(operation: Operation) -> Operation:
    """HTTP: any status of success is correct, since the null server knows nothing of the application's bodies."""
    requests = tuple(request.model_copy(update={"expect": HttpExpect()}) for request in operation.requests)
    return operation.model_copy(update={"requests": requests})


def _endless(plan: Plan) -> str:
    """`exactly_once` goes on until every key was taken; what takes its place costs the driver as much."""
    return "sequential" if plan.keys.distribution == "exactly_once" else plan.keys.distribution


def _rounded(size: float) -> int:
    """A size as the next power of two, so that trials of one kind share a ceiling; `BODY_MAX_BYTES` at most."""
    return min(BODY_MAX_BYTES, 1 << max(0, round(size) - 1).bit_length()) if size >= 1 else 0


def _with_users(plan: Plan, users: int, phases: Phases) -> Plan:
    pool = plan.pool.model_copy(update={"connections": users, "min_idle": None, "max_idle": None})
    closed = Closed(users=users, spin_us=plan.model.spin_us)
    return plan.model_copy(update={"model": closed, "pool": pool, "phases": phases})
