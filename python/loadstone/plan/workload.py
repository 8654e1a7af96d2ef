"""The plans of one condition: the experiment's workload with the condition's levels in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from loadstone.errors import UserError
from loadstone.plan.commands import with_arguments
from loadstone.plan.model import Closed, Documents, Endpoint, Keys, Operation, Phases, Plan, Pool
from loadstone.plan.substitute import FieldError, Path, substitute, with_units
from loadstone.spec.experiment import Experiment, OperationSpec
from loadstone.spec.levels import REFERENCE, Condition, fits, level_text

LOAD_USERS = 16
"""Users who store the data before a trial."""
LOAD_MAX_S = 600.0
"""After which storing the data is given up, in seconds."""
NOT_DEPLOYED = Endpoint(port=0)
"""Stands in a plan until a server runs."""
INTERVALS_A_TRIAL = 10
"""What the checks for warm-up and drift need at least, and some more."""
SHORTEST_INTERVAL_S = 0.1


@dataclass(frozen=True)
class Mode:
    """What replaces parts of the workload. Both may be on; the published counts then win."""

    quick: bool = False
    as_published: bool = False


class WorkloadPlanner:
    """Makes the plan of any condition of one experiment in one mode."""

    def __init__(self, experiment: Experiment, mode: Mode, cpus: tuple[int, ...] = ()) -> None:
        self._experiment = experiment
        self._cpus = cpus
        self._words: dict[str, Any] = experiment.workload.model_dump(exclude={"operations", "load"})
        self._overlays: list[tuple[str, dict[str, Any]]] = []
        if mode.quick:
            self._lay_over("quick", experiment.quick.model_dump(include={"phases"}))
        if mode.as_published and experiment.as_published is not None:
            self._lay_over("as_published", experiment.as_published.model_dump(include={"model", "phases"}))

    def _lay_over(self, name: str, parts: dict[str, Any]) -> None:
        self._overlays.append((name, parts))
        for part, words in parts.items():
            self._words[part] = {**self._words[part], **words}

    def plan(self, condition: Condition, *, prefix: str) -> Plan:
        """The plan of a condition; its keys begin with `prefix`. Raises UserError with the line of what is wrong."""
        chosen = self._operations(condition)
        written = [operation.model_dump(exclude={"when"}) for _, operation in chosen]
        words = {**self._words, "operations": written}
        numbers = tuple(number for number, _ in chosen)
        try:
            data = with_units(substitute(words, condition, self._experiment.factors))
            _finish_operations(data["operations"])
            _finish_documents(data["documents"])
            _finish_pool(data["pool"])
            _finish_keys(data["keys"], prefix)
        except FieldError as error:
            raise self._error(error.path, error.problem, words, numbers) from None
        data |= {"endpoints": [NOT_DEPLOYED], "cpus": self._cpus}
        try:
            return _with_intervals(Plan.model_validate(data))
        except ValidationError as error:
            path, problem = self._experiment.source.first_problem(error, Plan, data)
            raise self._error(path, problem, words, numbers) from None

    def load(self, condition: Condition, plan: Plan) -> Plan | None:
        """The plan that stores what a trial of `plan` needs, each key once; None if it needs nothing."""
        source = self._experiment.source
        workload = self._experiment.workload
        wanted = [(index, load) for index, load in enumerate(workload.load) if fits(condition, load.when)]
        if not wanted:
            return None
        if len(wanted) > 1:
            second = wanted[1][0]
            raise source.error(("workload", "load", second), f"{_of(condition)} is loaded twice; narrow one `when`")
        index, load = wanted[0]
        operations = [
            (number, operation)
            for number, operation in enumerate(workload.operations)
            if operation.name == load.operation and fits(condition, operation.when, without=load.when)
        ]
        if len(operations) != 1:
            problem = f"'{load.operation}' means {len(operations)} operations for {_of(condition)}; it must mean one"
            raise source.error(("workload", "load", index, "operation"), problem)
        return _load_plan(plan, self._one_operation(operations[0], condition))

    def _one_operation(self, numbered: tuple[int, OperationSpec], condition: Condition) -> Operation:
        number, operation = numbered
        written = {**operation.model_dump(exclude={"when"}), "weight": 1.0}
        words = {"operations": [written]}
        data = substitute(words, condition, self._experiment.factors)
        try:
            _finish_operations(data["operations"])
            return Operation.model_validate(data["operations"][0])
        except FieldError as error:
            raise self._error(error.path, error.problem, words, (number,)) from None
        except ValidationError as error:
            path, text = self._experiment.source.first_problem(error, Operation, data["operations"][0])
            raise self._error(("operations", 0, *path), text, words, (number,)) from None

    def _operations(self, condition: Condition) -> list[tuple[int, OperationSpec]]:
        """The operations of a condition with their places in the experiment."""
        chosen = [
            (number, operation)
            for number, operation in enumerate(self._experiment.workload.operations)
            if operation.weight > 0 and fits(condition, operation.when)
        ]
        if not chosen:
            problem = f"there is no operation for {_of(condition)}; add one whose `when` allows it"
            raise self._experiment.source.error(("workload", "operations"), problem)
        names = [operation.name for _, operation in chosen]
        for place, (number, operation) in enumerate(chosen):
            if operation.name in names[:place]:
                problem = f"'{operation.name}' is used twice for {_of(condition)}; rename one or narrow its `when`"
                raise self._experiment.source.error(("workload", "operations", number, "name"), problem)
        return chosen

    def _error(self, path: Path, problem: str, words: Mapping[str, Any], numbers: tuple[int, ...]) -> UserError:
        """A problem at a path of the plan as an error at the place where the user wrote the value."""
        reference = _reference_at(words, path)
        if reference is not None:
            problem = f"{problem} (from {reference})"
        if path[:1] == ("operations",) and len(path) > 1 and isinstance(path[1], int):
            path = ("operations", numbers[path[1]], *path[2:])
        for name, parts in reversed(self._overlays):
            if len(path) > 1 and path[1] in parts.get(str(path[0]), {}):
                return self._experiment.source.error((name, *path), problem)
        return self._experiment.source.error(("workload", *path), problem)


def with_fixed_length(plan: Plan, measure_s: float) -> Plan:
    """The plan with a measure phase of `measure_s`, whatever number of operations the workload asks for."""
    off = {"measure_operations": None, "measure_max_s": None}
    changed: dict[str, Any] = {"phases": plan.phases.model_copy(update={"measure_s": measure_s, **off})}
    if isinstance(plan.model, Closed):
        changed["model"] = plan.model.model_copy(update={"operations_per_user": None})
    return _with_intervals(plan.model_copy(update=changed))


def _of(condition: Condition) -> str:
    return ", ".join(f"{factor}={level_text(level)}" for factor, level in condition.items()) or "the only condition"


def _reference_at(words: Any, path: Path) -> str | None:
    """The text with a `${factor}` that stands at a path, if one does."""
    for part in path:
        if isinstance(words, Mapping):
            words = words.get(part)
        elif isinstance(words, list | tuple) and isinstance(part, int) and part < len(words):
            words = words[part]
    return words if isinstance(words, str) and REFERENCE.search(words) else None


def _finish_operations(operations: list[dict[str, Any]]) -> None:
    for index, operation in enumerate(operations):
        at: Path = ("operations", index)
        operation["commands"] = [
            with_arguments(command, (*at, "commands", number)) for number, command in enumerate(operation["commands"])
        ]
        if operation["read_back"] is not None:
            operation["read_back"] = with_arguments(operation["read_back"], (*at, "read_back"))


def _finish_documents(documents: dict[str, Any]) -> None:
    """`field_share` becomes `field_bytes`: that share of the payload (a tenth if none is given), at least 1 byte."""
    given = "field_share" in documents
    share = documents.pop("field_share", 0.1)
    path: Path = ("documents", "field_share")
    if "field_bytes" in documents:
        if given:
            raise FieldError(path, "the field's size is given twice; remove field_share or field_bytes")
        return
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise FieldError(path, f"'{share}' is no share between 0 and 100 %; write for example 10 %")
    payload = documents.get("payload_bytes", Documents().payload_bytes)
    if isinstance(payload, int):
        documents["field_bytes"] = max(1, round(payload * share))


def _finish_pool(pool: dict[str, Any]) -> None:
    """A pool cannot keep more connections idle than it has."""
    for bound in ("min_idle", "max_idle"):
        if isinstance(pool.get(bound), int) and isinstance(pool.get("connections"), int):
            pool[bound] = min(pool[bound], pool["connections"])


def _finish_keys(keys: dict[str, Any], prefix: str) -> None:
    for name in ("prefix", "loaded"):
        if name in keys:
            problem = "is set by loadstone, which touches only keys of its own; leave it out"
            raise FieldError(("keys", name), problem)
    keys["prefix"] = prefix


def _with_intervals(plan: Plan) -> Plan:
    """The plan with intervals of a second; shorter where the trial is, so that warm-up and drift can be told."""
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
    }
    return plan.model_copy(update=changed)
