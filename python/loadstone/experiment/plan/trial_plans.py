"""The plans of one condition: the experiment's workload with the condition's levels in it."""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from loadstone.experiment.plan.deployment import Deployment, DeploymentPlanner
from loadstone.experiment.plan.drive_plan import Closed, Keys, Open, Phases, Plan, Pool
from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.experiment.plan.operations import Operation
from loadstone.experiment.plan.protocols import PROTOCOLS, for_requests
from loadstone.experiment.plan.rounds import TABLE_INTERVALS, Rounds
from loadstone.experiment.plan.substitute import (
    FieldError,
    FieldPath,
    PlanMode,
    condition_text,
    resolve_factors,
    with_units,
)
from loadstone.experiment.plan.workload_from_text import (
    ReadRecording,
    finish_operations,
    finish_recording,
    finish_workload,
    reads_no_recording,
)
from loadstone.experiment.software import software_of
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import REFERENCE, Condition, matches
from loadstone.experiment.spec.workload import OperationSpec
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, said

MANY_USERS = 4096
"""A load that needs all threads that the generator may have."""
LOAD_USERS = 16
"""Users who store the data before a trial."""
LOAD_MAX_S = 600.0
"""After which storing the data is given up, in seconds."""
NOT_DEPLOYED = Endpoint(port=0)
"""Stands in a plan until a server runs."""
INTERVALS_A_TRIAL = 10
"""What the checks for warm-up and drift need at least, and some more."""
SHORTEST_INTERVAL_S = 0.1
SLICED_INTERVAL_S = 1.0
"""Measured time that an interval holds, about, in a drive in slices."""
AUTO = "auto"
SERVER_SHARE, SUBJECT_SHARE = 2, 4
"""The generator may have one CPU in so many."""
RATE_A_THREAD_PER_S = 50_000
"""What one thread makes with ease, however large the documents are that it makes and checks."""


class WorkloadPlanner:
    """Makes the plan of any condition of one experiment in one mode."""

    def __init__(
        self,
        experiment: Experiment,
        mode: PlanMode,
        cpus: tuple[int, ...] = (),
        cpu_count: int = 1,
        read_recording: ReadRecording = reads_no_recording,
    ) -> None:
        """`cpus`: those that the driver's threads may be pinned to; `cpu_count`: of all that loadstone may use."""
        self._experiment = experiment
        self._read_recording = read_recording
        self._mode = mode
        self._cpus = cpus
        self._cpu_count = cpu_count
        self._deployments = DeploymentPlanner(experiment, mode)
        apart = {"operations", "load", "misses", "stored", "target", "models", "driver"}
        self._fields: dict[str, Any] = experiment.workload.model_dump(exclude=apart)
        self._overlays: list[tuple[str, dict[str, Any]]] = []
        if mode.quick:
            self._lay_over("quick", experiment.quick.model_dump(include={"phases"}))
        if mode.as_published and experiment.as_published is not None:
            self._lay_over("as_published", experiment.as_published.model_dump(include={"model", "phases"}))

    def _lay_over(self, name: str, parts: dict[str, Any]) -> None:
        self._overlays.append((name, parts))
        for part, fields in parts.items():
            self._fields[part] = {**self._fields[part], **fields}

    def deployment(self, condition: Condition) -> Deployment:
        """The parts that a condition needs. Raises UserError with the line of what is wrong."""
        return self._deployments.deployment(condition)

    def plan(self, condition: Condition, *, prefix: str, replicas: int = 1) -> Plan:
        """The plan of a condition; its keys begin with `prefix`. Raises UserError with the line of what is wrong.

        `replicas`: of the subject that gets the load.
        """
        chosen = self._operations(condition)
        written = [operation.model_dump(exclude={"when"}) for _, operation in chosen]
        fields = {**self._fields, "operations": written}
        place, model = self._model(condition)
        if model is not None:
            fields["model"] = model
        if not any(operation.requests for _, operation in chosen) and self._speaks_http():
            fields["data"] = None  # it is there for the conditions that have requests
        numbers = tuple(number for number, _ in chosen)
        try:
            data = with_units(resolve_factors(fields, condition, self._experiment.factors, template=True))
            finish_operations(data["operations"])
            self._finish_count(data["keys"], condition)
            finish_workload(data, self._mode, prefix, replicas)
            self._finish_data(data)
            finish_recording(data, self._experiment.source.folder, self._read_recording)
            data["misses"] = self._misses(condition)
        except FieldError as error:
            raise self._error(error.path, error.problem, fields, numbers, place) from None
        auto = data["threads"] == AUTO
        data |= {"endpoints": [NOT_DEPLOYED]} | ({"threads": 1} if auto else {})
        try:
            return self._on_cpus(_with_intervals(Plan.model_validate(data)), auto=auto)
        except ValidationError as error:
            path, problem = self._experiment.source.first_problem(error, Plan, data)
            raise self._error(path, problem, fields, numbers, place) from None

    def _on_cpus(self, plan: Plan, *, auto: bool) -> Plan:
        """The plan with its threads, each on a CPU of its own where there are enough: the last ones."""
        threads = threads_for(plan, self._cpu_count) if auto else plan.threads
        return plan.model_copy(update={"threads": threads, "cpus": self._cpus[-threads:]})

    def for_many_users(self, condition: Condition, plan: Plan) -> Plan:
        """The plan with as many threads as the generator may have under a load that needs them all."""
        threads = resolve_factors(self._fields["threads"], condition, self._experiment.factors)
        if threads != AUTO or not isinstance(plan.model, Closed) or plan.pool.connections < plan.model.users:
            return plan
        many = {"model": Closed(users=MANY_USERS), "pool": Pool(connections=MANY_USERS)}
        placed = self._on_cpus(plan.model_copy(update=many), auto=True)
        return plan.model_copy(update={"threads": placed.threads, "cpus": placed.cpus})

    def check_target(self, condition: Condition, plan: Plan, deployment: Deployment) -> None:
        """A subject is queried by HTTP, a server by what its software declares.

        Raises UserError with the line of the protocol.
        """
        for name in deployment.targets:
            is_subject = name in deployment.subjects
            required = for_requests() if is_subject else software_of(deployment.servers[name]).protocols
            if plan.protocol not in required:
                figures = {
                    "name": name,
                    "condition": condition_text(condition),
                    "protocols": " or ".join(required),
                }
                of_subject = said(
                    "'{name}' gets the load and is a subject ({condition}); write protocol {protocols}, or another "
                    "target",
                    **figures,
                )
                of_server = said(
                    "'{name}' gets the load and is a server ({condition}); write protocol {protocols}, or another "
                    "target",
                    **figures,
                )
                problem = of_subject if is_subject else of_server
                raise self._experiment.source.error(("workload", "protocol"), problem)

    def _model(self, condition: Condition) -> tuple[FieldPath, dict[str, Any] | None]:
        """Where the model of a condition stands below `workload`, and the model if it is not the workload's own."""
        fitting = [
            (number, one.model)
            for number, one in enumerate(self._experiment.workload.models)
            if matches(condition, one.when)
        ]
        if not fitting:
            return ("model",), None
        if len(fitting) > 1:
            problem = said("{condition} has two models; narrow one `when`", condition=condition_text(condition))
            raise self._experiment.source.error(("workload", "models", fitting[1][0], "when"), problem)
        return ("models", fitting[0][0], "model"), dict(fitting[0][1])

    def _misses(self, condition: Condition) -> float | str | None:
        """The share of reads that find nothing by design, `any`, or None where the experiment does not say."""
        written = resolve_factors({"misses": self._experiment.workload.misses}, condition, self._experiment.factors)
        share = with_units(written)["misses"]
        if share == "auto":
            return None
        if share == "any":
            return "any"
        if isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1:
            return float(share)
        problem = said(
            "'{share}' is no share of reads that find nothing; write auto, any, or for example 20 %", share=share
        )
        raise FieldError(("misses",), problem)

    def _speaks_http(self) -> bool:
        return any(operation.requests for operation in self._experiment.workload.operations)

    def _finish_count(self, keys: dict[str, Any], condition: Condition) -> None:
        """`count_of` becomes the rows of that data set."""
        name = keys.pop("count_of", "")
        if name != "":
            keys["count"] = self._deployments.rows(str(name), condition, ("keys", "count_of"))

    def _finish_data(self, data: dict[str, Any]) -> None:
        """The path of a file of rows counts from the experiment's file."""
        rows = data["data"]
        if rows is None or not isinstance(rows.get("path"), str):
            return
        path = self._experiment.source.folder / rows["path"]
        if not path.is_file():
            problem = said("there is no file '{path}'; its path counts from the experiment's file", path=rows["path"])
            raise FieldError(("data", "path"), problem)
        rows["path"] = str(path)

    def load(self, condition: Condition, plan: Plan) -> Plan | None:
        """The plan that stores what a trial of `plan` needs, each key once; None if it needs nothing."""
        source = self._experiment.source
        workload = self._experiment.workload
        required = [(index, load) for index, load in enumerate(workload.load) if matches(condition, load.when)]
        if not required:
            return None
        if len(required) > 1:
            second = required[1][0]
            problem = said("{condition} is loaded twice; narrow one `when`", condition=condition_text(condition))
            raise source.error(("workload", "load", second), problem)
        index, load = required[0]
        operations = [
            (number, operation)
            for number, operation in enumerate(workload.operations)
            if operation.name == load.operation and matches(condition, operation.when, without=load.when)
        ]
        if len(operations) != 1:
            problem = said(
                "'{operation}' means {n} operations for {condition}; it must mean one",
                operation=load.operation,
                n=len(operations),
                condition=condition_text(condition),
            )
            raise source.error(("workload", "load", index, "operation"), problem)
        operation = self._one_operation(operations[0], condition)
        if bool(operation.requests) != PROTOCOLS[plan.protocol].is_http:
            figures = {
                "operation": load.operation,
                "protocol": plan.protocol,
                "condition": condition_text(condition),
            }
            of_requests = said(
                "'{operation}' has requests, and the protocol is {protocol} for {condition}; load by an operation of "
                "its kind",
                **figures,
            )
            of_commands = said(
                "'{operation}' has commands, and the protocol is {protocol} for {condition}; load by an operation of "
                "its kind",
                **figures,
            )
            problem = of_requests if operation.requests else of_commands
            raise source.error(("workload", "load", index, "operation"), problem)
        return _load_plan(plan, operation)

    def _one_operation(self, numbered: tuple[int, OperationSpec], condition: Condition) -> Operation:
        number, operation = numbered
        written = {**operation.model_dump(exclude={"when"}), "weight": 1.0}
        fields = {"operations": [written]}
        data = resolve_factors(fields, condition, self._experiment.factors, template=True)
        try:
            finish_operations(data["operations"])
            return Operation.model_validate(data["operations"][0])
        except FieldError as error:
            raise self._error(error.path, error.problem, fields, (number,)) from None
        except ValidationError as error:
            path, text = self._experiment.source.first_problem(error, Operation, data["operations"][0])
            raise self._error(("operations", 0, *path), text, fields, (number,)) from None

    def _operations(self, condition: Condition) -> list[tuple[int, OperationSpec]]:
        """The operations of a condition with their places in the experiment."""
        chosen = [
            (number, operation)
            for number, operation in enumerate(self._experiment.workload.operations)
            if operation.weight > 0 and matches(condition, operation.when)
        ]
        if not chosen:
            problem = said(
                "there is no operation for {condition}; add one whose `when` allows it",
                condition=condition_text(condition),
            )
            raise self._experiment.source.error(("workload", "operations"), problem)
        names = [operation.name for _, operation in chosen]
        for place, (number, operation) in enumerate(chosen):
            if operation.name in names[:place]:
                problem = said(
                    "'{operation}' is used twice for {condition}; rename one or narrow its `when`",
                    operation=operation.name,
                    condition=condition_text(condition),
                )
                path: FieldPath = ("workload", "operations", number, "name")
                raise self._experiment.source.error(path, problem)
        return chosen

    def _error(
        self,
        path: FieldPath,
        problem: AnyText,
        fields: Mapping[str, Any],
        numbers: tuple[int, ...],
        model: FieldPath = ("model",),
    ) -> UserError:
        """A problem at a path of the plan as an error at the place where the user wrote the value.

        `model`: where the condition's model stands, below `workload`.
        """
        reference = _reference_at(fields, path)
        if reference is not None:
            problem = said("{problem} (from {reference})", problem=problem, reference=reference)
        if path[:1] == ("operations",) and len(path) > 1 and isinstance(path[1], int):
            path = ("operations", numbers[path[1]], *path[2:])
        if path[:1] == ("model",) and model != ("model",):
            return self._experiment.source.error(("workload", *model, *path[1:]), problem)
        for name, parts in reversed(self._overlays):
            if len(path) > 1 and path[1] in parts.get(str(path[0]), {}):
                return self._experiment.source.error((name, *path), problem)
        return self._experiment.source.error(("workload", *path), problem)


def with_fixed_length(plan: Plan, measure_s: float) -> Plan:
    """The plan with a measure phase of `measure_s`, whatever number of operations the workload requests."""
    off = {"measure_operations": None, "measure_max_s": None}
    changed: dict[str, Any] = {"phases": plan.phases.model_copy(update={"measure_s": measure_s, **off})}
    if isinstance(plan.model, Closed):
        changed["model"] = plan.model.model_copy(update={"operations_per_user": None, "operations_more": 0})
    return _with_intervals(plan.model_copy(update=changed))


def interval_of_rows_s(plan: Plan, rounds: Rounds, block: int) -> float:
    """The length of the intervals of a table's row: some of them even where a block is short.

    Of a load at a rate the intervals of its latencies rest on them: they are slices, or a few of very many.
    """
    if isinstance(plan.model, Open):
        return round(rounds.latency_interval_s(block), 6)
    share_s = rounds.measured_s * rounds.of(block) / TABLE_INTERVALS
    return min(SLICED_INTERVAL_S, max(SHORTEST_INTERVAL_S, round(share_s, 3)))


def in_slices(plan: Plan, rounds: Rounds, block: int, interval_s: float = SLICED_INTERVAL_S) -> Plan:
    """The plan of one block of rounds: it is under load as long as all its slices together."""
    number = rounds.of(block)
    whole = with_fixed_length(plan, round(number * rounds.slice_s, 6))
    phases = whole.phases.model_copy(update={"warm_up_s": rounds.warm_up_s})
    return whole.model_copy(update={"phases": phases, "interval_s": interval_s})


def _reference_at(fields: Any, path: FieldPath) -> str | None:
    """The text with a `${factor}` that stands at a path, if one does."""
    for part in path:
        if isinstance(fields, Mapping):
            fields = fields.get(part)
        elif isinstance(fields, list | tuple) and isinstance(part, int) and part < len(fields):
            fields = fields[part]
    return fields if isinstance(fields, str) and REFERENCE.search(fields) else None


def _with_intervals(plan: Plan) -> Plan:
    """The plan with intervals of a second; shorter where the trial is, so that warm-up and drift can be determined."""
    shortest_s = plan.phases.measure_s / INTERVALS_A_TRIAL
    return plan.model_copy(update={"interval_s": min(1.0, max(SHORTEST_INTERVAL_S, round(shortest_s, 3)))})


def _load_plan(plan: Plan, operation: Operation) -> Plan:
    """Every key of `plan` once, as fast as a few users do it, without warm-up. It ends when all keys were taken."""
    users = min(LOAD_USERS, plan.keys.count)
    keys = Keys(prefix=plan.keys.prefix, count=plan.keys.count, distribution="exactly_once")
    phases = Phases(warm_up_s=0.0, measure_s=0.001, measure_max_s=LOAD_MAX_S, drain_s=plan.phases.drain_s)
    changed = {
        "model": Closed(users=users),
        "pool": Pool(connections=users),
        "pipeline_depth": 1,
        "phases": phases,
        "operations": (operation,),
        "keys": keys,
        "threads": min(plan.threads, users),
        "cpus": plan.cpus[-min(plan.threads, users) :],
    }
    return plan.model_copy(update=changed)


def threads_for(plan: Plan, cpu_count: int) -> int:
    """The threads of a plan on a machine of which loadstone may use so many CPUs."""
    allowed = max(1, cpu_count // (SUBJECT_SHARE if PROTOCOLS[plan.protocol].is_http else SERVER_SHARE))
    return max(1, min(allowed, _needed(plan)))


def _needed(plan: Plan) -> int:
    model = plan.model
    if not isinstance(model, Closed):
        rate_per_s = max([model.rate_per_s, *(step.rate_per_s for step in model.schedule)])
        return min(plan.pool.connections, math.ceil(rate_per_s / RATE_A_THREAD_PER_S))
    if plan.pool.connections < model.users:
        return 1
    if model.think_time_ms > 0:
        return min(model.users, math.ceil(model.users * 1000 / model.think_time_ms / RATE_A_THREAD_PER_S))
    return model.users
