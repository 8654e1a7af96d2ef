"""What a plan's operations mean and may not be meant to mean: read from the plan alone, before anything is measured."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from loadstone.message import Message, message
from loadstone.plan.drive_plan import Operation, Plan
from loadstone.plan.footprint import STORES_NOTHING
from loadstone.plan.protocols import PROTOCOLS
from loadstone.plan.reads import reads_keys
from loadstone.plan.run_plan import RunPlan
from loadstone.plan.units import each_of, keys_of, of_plan, unit_of
from loadstone.plan.workload.several_keys import is_one_key, keys_named
from loadstone.spec.levels import identity


def remarks(run_plan: RunPlan) -> list[Message]:
    """A line each: the same key twice, keys that nothing writes, comparisons by keys."""
    plans = {identity(trial.condition): trial.plan for trial in run_plan.every_trial}
    found = [one for plan in plans.values() for one in _same_keys(plan)]
    distinct = {str(one.model_dump()): one for one in found}
    return [*distinct.values(), *_nothing_there(plans.values()), *_by_units(run_plan, plans)]


def _same_keys(plan: Plan) -> Iterator[Message]:
    for operation in plan.operations:
        for command in operation.commands:
            name = command.args[0].upper()
            often = Counter(text for text in keys_of(name, command.args[1:]) if is_one_key(text))
            for text, times in often.items():
                if times > 1:
                    figures = {"operation": operation.name, "command": name, "key": text, "times": times}
                    yield message("remark.same_key", **figures)


def _nothing_there(plans: Iterable[Plan]) -> Iterator[Message]:
    """Reads of keys that neither `load` nor an operation writes."""
    names = [one.name for plan in plans if _finds_nothing(plan) for one in plan.operations]
    if names:
        yield message("remark.nothing_there", operations=sorted(set(names)))


def _finds_nothing(plan: Plan) -> bool:
    if plan.recording is not None or plan.keys.loaded or plan.misses is not None or not _reads(plan):
        return False
    return not any(_may_write(operation) for operation in plan.operations)


def _reads(plan: Plan) -> bool:
    """Whether an operation reads keys of the plan's: others may have been there before."""
    texts = (text for one in plan.operations for command in one.commands for text in command.args)
    return PROTOCOLS[plan.protocol].has_keys and keys_named(texts) > 0 and reads_keys(plan)


def _may_write(operation: Operation) -> bool:
    return any(command.args[0].upper() not in STORES_NOTHING for command in operation.commands)


def _by_units(run_plan: RunPlan, plans: Mapping[str, Plan]) -> Iterator[Message]:
    for group in run_plan.groups:
        found = [of_plan(plans[identity(one)]) for one in group.conditions if identity(one) in plans]
        if group.pairs and group.metric == "units_per_s" and found:
            unit, each = unit_of(one.unit for one in found), each_of(dict(one.each) for one in found)
            yield message("remark.by_units", name=group.name, unit=unit, each=each)
