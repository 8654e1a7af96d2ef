"""Factors, tables and comparisons become conditions: a level for each factor, each condition once."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from loadstone.errors import UserError
from loadstone.plan.design.factorial import factorial_pairs
from loadstone.plan.run_plan import Pair
from loadstone.spec.experiment import Comparison, Experiment, Table, conditions_of_effects, conditions_varied
from loadstone.spec.levels import Condition, Level, identity, is_level, level_text

Only = Mapping[str, tuple[Level, ...]]


@dataclass(frozen=True)
class NumberedCondition:
    """A condition and where it stands. The number counts all conditions of the experiment from 1, selected or not."""

    number: int
    condition: Condition
    tables: tuple[str, ...]
    """The tables that print it; none of a condition that only a comparison or a crash needs."""

    @property
    def identity(self) -> str:
        """The condition as text: the same for the same levels, whatever else the experiment holds."""
        return identity(self.condition)


def table_conditions(experiment: Experiment, table: Table) -> list[Condition]:
    """The conditions of one table in the order of its rows."""
    return conditions_varied(experiment, table.vary)


def all_conditions(experiment: Experiment) -> tuple[NumberedCondition, ...]:
    """Every condition of every table, comparison and crash, and those of which it is found where they saturate.

    Each once, in this order and as they are written.
    """
    tables: dict[str, list[str]] = {}
    found: dict[str, Condition] = {}
    for table in experiment.tables:
        for condition in table_conditions(experiment, table):
            found.setdefault(identity(condition), condition)
            tables.setdefault(identity(condition), []).append(table.name)
    crashed = [one for crash in experiment.crashes for one in conditions_varied(experiment, crash.vary)]
    saturated = () if experiment.saturation is None else conditions_varied(experiment, experiment.saturation.vary)
    for condition in (*_every_condition(experiment), *crashed, *saturated):
        found.setdefault(identity(condition), condition)
    return tuple(
        NumberedCondition(number, condition, tuple(tables.get(key, ())))
        for number, (key, condition) in enumerate(found.items(), start=1)
    )


def select(
    experiment: Experiment,
    *,
    only: Only,
    quick: bool = False,
    as_published: bool = False,
) -> tuple[NumberedCondition, ...]:
    """The conditions to run: those of the tables and comparisons that the mode requests, with the levels of `only`.

    Raises UserError if nothing is left.
    """
    rows = rows_of_mode(experiment, quick=quick, as_published=as_published)
    pairs = pairs_of_mode(experiment, only=only, quick=quick, as_published=as_published)
    compared = {identity(condition) for several in pairs.values() for condition in conditions_of(several)}
    meant = [one for one in all_conditions(experiment) if has_levels(one.condition, only)]
    chosen = tuple(one for one in meant if one.identity in rows or one.identity in compared)
    if not chosen:
        raise UserError(_nothing_left(only, len(meant), quick=quick, as_published=as_published))
    return chosen


def tables_of_mode(experiment: Experiment, *, quick: bool, as_published: bool) -> set[str]:
    """The names of the tables that `--quick` and `--as-published` leave in."""
    names = {table.name for table in experiment.tables if table.quick or not quick}
    if as_published and experiment.as_published is not None and experiment.as_published.tables:
        names &= set(experiment.as_published.tables)
    return names


def rows_of_mode(experiment: Experiment, *, quick: bool, as_published: bool) -> dict[str, tuple[str, ...]]:
    """The tables that print a condition in this mode, by its identity: of each table the levels that are left in."""
    printed = tables_of_mode(experiment, quick=quick, as_published=as_published)
    found: dict[str, tuple[str, ...]] = {}
    for table in experiment.tables:
        for condition in conditions_varied(experiment, table.varied(quick=quick)) if table.name in printed else ():
            key = identity(condition)
            found[key] = (*found.get(key, ()), table.name)
    return found


def _nothing_left(only: Only, meant: int, *, quick: bool, as_published: bool) -> str:
    levels = " ".join(f"--only {name}={','.join(map(level_text, chosen))}" for name, chosen in only.items())
    modes = " ".join(option for option, on in (("--quick", quick), ("--as-published", as_published)) if on)
    if meant and modes:
        return f"{f'{levels} {modes}'.strip()}: no condition is left; without {modes} there are {meant}"
    return f"{levels or modes}: no table and no comparison has such a condition; `loadstone show` lists what they vary"


def _every_condition(experiment: Experiment) -> Iterator[Condition]:
    """Every condition of every comparison and of all effects, in whatever mode; some come more than once."""
    for comparison in experiment.comparisons:
        for at in (comparison.at, comparison.quick_at):
            if at is not None:
                yield from conditions_of(_pairs(experiment, comparison, at))
    for effects in experiment.effects:
        yield from conditions_of_effects(experiment, effects)


def pairs_of_mode(
    experiment: Experiment, *, only: Only, quick: bool = False, as_published: bool = False
) -> dict[str, tuple[Pair, ...]]:
    """Comparison, or effects -> its pairs that the mode leaves in, of each that has any.

    A pair needs both of its conditions; the original compared nothing.
    """
    if as_published:
        return {}
    meant = [comparison for comparison in experiment.comparisons if comparison.quick or not quick]
    found = {
        comparison.name: tuple(
            pair
            for pair in _pairs(experiment, comparison, places(comparison, quick=quick))
            if has_levels(pair.a, only) and has_levels(pair.b, only)
        )
        for comparison in meant
    }
    found |= {
        effects.name: tuple(factorial_pairs(experiment, effects, only))
        for effects in experiment.effects
        if effects.quick or not quick
    }
    return {name: pairs for name, pairs in found.items() if pairs}


def chosen_levels(experiment: Experiment, only: Only) -> Only:
    """What `--only` names, and of each factor that it does not name the levels that are on by default."""
    by_default = {name: factor.on_by_default for name, factor in experiment.factors.items() if factor.off_by_default}
    return by_default | dict(only)


def places(comparison: Comparison, *, quick: bool) -> Mapping[str, tuple[Level, ...]]:
    """The levels of the other factors at which it is compared."""
    return comparison.quick_at if quick and comparison.quick_at is not None else comparison.at


def conditions_of(pairs: Iterable[Pair]) -> list[Condition]:
    """The conditions of the pairs; some come more than once."""
    return [condition for pair in pairs for condition in (pair.a, pair.b)]


def has_levels(condition: Condition, only: Only) -> bool:
    """Whether `--only` leaves a condition in."""
    return all(is_level(condition[factor], levels) for factor, levels in only.items())


def _pairs(experiment: Experiment, comparison: Comparison, at: Mapping[str, tuple[Level, ...]]) -> list[Pair]:
    """Every two levels, the earlier one first, or the baseline with each other level; once at each place."""
    baseline, between = comparison.baseline, comparison.between
    if baseline is None:
        twos = list(itertools.combinations(comparison.levels, 2))
    else:
        twos = [(baseline, level) for level in comparison.levels if not is_level(level, (baseline,))]
    return [
        Pair(a=there | {between: a}, b=there | {between: b})
        for there in conditions_varied(experiment, at)
        for a, b in twos
    ]
