"""What a plan asks of a driver beyond the least: by the name of the feature, with the field that asks for it."""

from collections.abc import Iterator

from loadstone.experiment.plan.drive_plan import Closed, Open, Plan
from loadstone.experiment.plan.operations import keys_of_one
from loadstone.text.message import said

OPTIONAL = "read_back"
"""A driver without it gets a plan without it; every other one that is missing refuses the plan."""
FEATURES = (
    "tls", "client_certificates", "unix_sockets", "endpoints", "slots", "sentinel", "replicas", "pipelining",
    "idle_limits", "lifo", "fifo", "operations_per_user", "operations_more", "ramp_up_steps", "rate_schedule",
    "measure_operations", "acknowledged", "start_at", "start_at_monotonic", "share", "data_file", "recording",
    "receivers", "several_keys", "repeated_content", OPTIONAL,
)  # fmt: skip
Needed = tuple[str, str, object]
"""Feature, field, and the field's value."""


def needed(plan: Plan) -> Iterator[Needed]:
    """All that a plan asks for."""
    yield from _of_endpoints(plan)
    yield from _of_model(plan)
    pool = plan.pool
    if plan.pipeline_depth > 1:
        yield "pipelining", "pipeline_depth", plan.pipeline_depth
    for field in ("min_idle", "max_idle"):
        if getattr(pool, field) is not None:
            yield "idle_limits", f"pool.{field}", getattr(pool, field)
    if pool.connections > 1:
        yield pool.order, "pool.order", pool.order
    if plan.phases.measure_operations is not None:
        yield "measure_operations", "phases.measure_operations", plan.phases.measure_operations
    if plan.acknowledged:
        yield "acknowledged", "acknowledged", True
    if plan.data is not None:
        yield "data_file", "data.path", plan.data.path
    if plan.recording is not None:
        yield "recording", "recording.path", "given"
    if plan.receivers is not None:
        yield "receivers", "receivers.connections", plan.receivers.connections
    if (keys := max(map(keys_of_one, plan.operations))) > 1:
        yield "several_keys", "operations", f"{{key{keys}}}"
    if plan.documents.content == "repeat":
        yield "repeated_content", "documents.content", "repeat"
    if plan.start_at_unix_ns is not None:
        yield "start_at", "start_at_unix_ns", plan.start_at_unix_ns
    if plan.start_at_monotonic_ns is not None:
        yield "start_at_monotonic", "start_at_monotonic_ns", plan.start_at_monotonic_ns
    if plan.share is not None:
        yield "share", "share.of", plan.share.of


def _of_endpoints(plan: Plan) -> Iterator[Needed]:
    if len(plan.endpoints) > 1:
        yield "endpoints", "endpoints", said("{n} of them", n=len(plan.endpoints))
    for endpoint in plan.endpoints:
        if endpoint.tls is not None:
            yield "tls", "endpoints.tls", "given"
            if endpoint.tls.cert_file is not None or endpoint.tls.key_file is not None:
                yield "client_certificates", "endpoints.tls.cert_file", endpoint.tls.cert_file
        if endpoint.unix_path is not None:
            yield "unix_sockets", "endpoints.unix_path", endpoint.unix_path
        if endpoint.slots:
            yield "slots", "endpoints.slots", "a cluster"
    if any(endpoint.standby or endpoint.sentinel_of is not None for endpoint in plan.endpoints):
        yield "sentinel", "endpoints.sentinel_of", "given"
    if any(endpoint.replica_of is not None for endpoint in plan.endpoints):
        yield "replicas", "endpoints.replica_of", "given"


def _of_model(plan: Plan) -> Iterator[Needed]:
    if isinstance(plan.model, Closed):
        if plan.model.operations_per_user is not None:
            yield "operations_per_user", "model.operations_per_user", plan.model.operations_per_user
        if plan.model.operations_more:
            yield "operations_more", "model.operations_more", plan.model.operations_more
        if plan.model.ramp_up is not None:
            yield "ramp_up_steps", "model.ramp_up", "in steps"
    elif isinstance(plan.model, Open) and plan.model.schedule:
        yield "rate_schedule", "model.schedule", f"{len(plan.model.schedule)} steps"
