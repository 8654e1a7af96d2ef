"""Peak throughput of one server: for each place of a run's conditions, by its levels of users together."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone.addons.capacity.full_server import when_full
from loadstone.addons.capacity.full_server_goal import levels_of, load_factors
from loadstone.addons.capacity.full_server_rates import FullServerRates, FullServers
from loadstone.experiment.plan.labels import condition_label, prints
from loadstone.experiment.plan.run_plan import FULL_SERVERS, WARM_BLOCK
from loadstone.experiment.spec.experiment import Experiment, conditions_varied
from loadstone.experiment.spec.levels import Condition, drop_factors, identity
from loadstone.judge.analysis.evaluations import RunFindings
from loadstone.judge.analysis.fixed_rates import own_load
from loadstone.judge.analysis.tables import tables_of_mode
from loadstone.judge.compare.pairs import refusal_of
from loadstone.run_folder.reading import RecordedRun
from loadstone.run_folder.trial import TrialRecord


def evaluate_full_servers(found: RunFindings) -> FullServers | None:
    """The answer that stands under `full_servers` in the analysis."""
    full = full_servers_of(found.run, found.trials)
    return FullServers(full) if full else None


def full_servers_of(run: RecordedRun, trials: Sequence[TrialRecord]) -> list[FullServerRates]:
    """The capacity of each server at each place: conditions that differ in nothing but their users.

    `trials` are judged; those that the goal measured with more users count, too. Places are in the order of the tables;
    where the load is set, or comes from an application, there are none.
    """
    load = load_factors(run.experiment)
    conditions: dict[str, list[TrialRecord]] = {}
    for trial in (*own_load(run, trials), *(one for one in trials if one.group == FULL_SERVERS)):
        if trial.block != WARM_BLOCK:
            conditions.setdefault(identity(trial.condition), []).append(trial)
    places: dict[str, list[TrialRecord]] = {}
    for condition in _in_order(run, conditions):
        measured = conditions[condition]
        if refusal_of(measured) is None:
            places.setdefault(identity(drop_factors(measured[0].condition, load)), []).extend(measured)
    return [found for measured in places.values() for found in _of_place(run.experiment, measured, load)]


def _in_order(run: RecordedRun, conditions: Mapping[str, object]) -> Iterator[str]:
    """Those that were measured, in the order of the tables, and then the others."""
    tables = [identity(c) for table in tables_of_mode(run) for c in conditions_varied(run.experiment, table.vary)]
    yield from (name for name in dict.fromkeys((*tables, *conditions)) if name in conditions)


def _of_place(experiment: Experiment, trials: Sequence[TrialRecord], load: frozenset[str]) -> Iterator[FullServerRates]:
    condition = trials[0].condition
    for server, levels in levels_of(trials).items():
        capacity = when_full(levels)
        if capacity is not None:
            yield FullServerRates(
                server=server,
                users_are=_users_are(experiment, load),
                users_vary=bool(load),
                condition=drop_factors(condition, load),
                label=condition_label(experiment, condition, _named(experiment, condition, load)),
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
