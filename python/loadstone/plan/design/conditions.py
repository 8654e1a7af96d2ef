"""Factors, tables and comparisons become conditions: a level for each factor, each condition once."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.errors import UserError
from loadstone.plan.design.pairs import Only, conditions_of, every_condition, has_levels, pairs_of_mode
from loadstone.spec.experiment import Experiment, Table
from loadstone.spec.levels import Condition, Level, identity, level_text


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


def conditions_varied(experiment: Experiment, vary: Mapping[str, tuple[Level, ...]]) -> list[Condition]:
    """The product of what is varied, other factors at default: the first factor changes slowest."""
    usual = {name: factor.usual for name, factor in experiment.factors.items()}
    return [usual | dict(zip(vary, levels, strict=True)) for levels in itertools.product(*vary.values())]


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
    for condition in (*every_condition(experiment), *crashed, *saturated):
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
