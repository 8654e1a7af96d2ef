"""What one server does when it is full: for each place of a run's conditions, by its levels of users together."""

import re
from collections.abc import Iterator, Mapping, Sequence

from loadstone.analyse.fixed_rates import own_load
from loadstone.analyse.tables import tables_of_mode
from loadstone.goals.full_server import ServerWhenFull
from loadstone.judge.compare.pairs import refusal_of
from loadstone.judge.full_server import Level, level_of, servers_of, when_full
from loadstone.judge.validity.checks import forbidding
from loadstone.plan.labels import condition_label, prints
from loadstone.plan.run_plan import WARM_BLOCK
from loadstone.record.reading import Run
from loadstone.record.trial import TrialRecord
from loadstone.spec.experiment import Experiment, conditions_varied
from loadstone.spec.levels import Condition, identity

_FACTOR = re.compile(r"\$\{([^}.]+)")


def full_servers_of(run: Run, trials: Sequence[TrialRecord]) -> list[ServerWhenFull]:
    """The capacity of each server at each place: conditions that differ in nothing but their users.

    `trials` are judged. Places are in the order of the tables; where the load is set, or comes from an application,
    there are none.
    """
    load = load_factors(run.experiment)
    conditions: dict[str, list[TrialRecord]] = {}
    for trial in own_load(run, trials):
        if trial.block != WARM_BLOCK:
            conditions.setdefault(identity(trial.condition), []).append(trial)
    places: dict[str, list[list[TrialRecord]]] = {}
    for condition in _in_order(run, conditions):
        measured = conditions[condition]
        used = [trial for trial in measured if not forbidding(trial)]
        if used and refusal_of(measured) is None:
            levels = places.setdefault(identity(without(used[0].condition, load)), [])
            levels += [[one for one in used if one.group == name] for name in dict.fromkeys(one.group for one in used)]
    return [found for levels in places.values() for found in _of_place(run.experiment, levels, load)]


def load_factors(experiment: Experiment) -> frozenset[str]:
    """The factors that set how many users there are, by the placeholders in the model."""
    workload = experiment.workload
    users = [workload.model.get("users"), *(one.model.get("users") for one in workload.models)]
    return frozenset(name for written in users for name in _FACTOR.findall(str(written)))


def without(condition: Condition, factors: frozenset[str]) -> Condition:
    """A condition without these factors."""
    return {name: level for name, level in condition.items() if name not in factors}


def _in_order(run: Run, conditions: Mapping[str, object]) -> Iterator[str]:
    """Those that were measured, in the order of the tables, and then the others."""
    tables = [identity(c) for table in tables_of_mode(run) for c in conditions_varied(run.experiment, table.vary)]
    yield from (name for name in dict.fromkeys((*tables, *conditions)) if name in conditions)


def _of_place(
    experiment: Experiment, levels: Sequence[Sequence[TrialRecord]], load: frozenset[str]
) -> Iterator[ServerWhenFull]:
    first = levels[0][0]
    for server in servers_of(first):
        at: list[Level] = [level for trials in levels if (level := level_of(trials, server)) is not None]
        capacity = when_full(at)
        if capacity is not None:
            yield ServerWhenFull(
                server=server,
                users_are=_users_are(experiment, load),
                users_vary=bool(load),
                condition=without(first.condition, load),
                label=condition_label(experiment, first.condition, _named(experiment, first.condition, load)),
                capacity=capacity,
            )


def _named(experiment: Experiment, condition: Condition, load: frozenset[str]) -> list[str]:
    """The factors that say which place it is: those of the first table that prints it, and those not as usual."""
    table = next((table for table in experiment.tables if prints(experiment, table, condition)), None)
    vary = () if table is None else table.vary
    return [
        name
        for name, factor in experiment.factors.items()
        if name in condition and name not in load and (name in vary or condition[name] != factor.usual)
    ]


def _users_are(experiment: Experiment, load: frozenset[str]) -> str:
    """What the experiment calls its users: `workers`."""
    units = (factor.unit for name, factor in experiment.factors.items() if name in load and factor.unit)
    return next(units, "users")
