"""Factors and tables become conditions: a level for each factor, each condition once."""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.errors import UserError
from loadstone.spec.experiment import Experiment, Table
from loadstone.spec.levels import Condition, Level, is_level, level_text


@dataclass(frozen=True)
class NumberedCondition:
    """A condition and where it stands. The number counts all conditions of the experiment from 1, selected or not."""

    number: int
    condition: Condition
    tables: tuple[str, ...]
    """The tables that print it."""

    @property
    def identity(self) -> str:
        """The condition as text: the same for the same levels, whatever else the experiment holds."""
        return identity(self.condition)


def identity(condition: Condition) -> str:
    """A condition as canonical JSON, which tells `1` from `"1"` and from `true`."""
    return json.dumps(condition, sort_keys=True, ensure_ascii=False)


def table_conditions(experiment: Experiment, table: Table) -> list[Condition]:
    """The conditions of one table in the order of its rows: the first factor it varies changes slowest."""
    usual = {name: factor.usual for name, factor in experiment.factors.items()}
    return [usual | dict(zip(table.vary, levels, strict=True)) for levels in itertools.product(*table.vary.values())]


def all_conditions(experiment: Experiment) -> tuple[NumberedCondition, ...]:
    """Every condition of every table, each once, in the order of the tables."""
    tables: dict[str, list[str]] = {}
    found: dict[str, Condition] = {}
    for table in experiment.tables:
        for condition in table_conditions(experiment, table):
            found.setdefault(identity(condition), condition)
            tables.setdefault(identity(condition), []).append(table.name)
    return tuple(
        NumberedCondition(number, condition, tuple(tables[key]))
        for number, (key, condition) in enumerate(found.items(), start=1)
    )


def select(
    experiment: Experiment,
    *,
    only: Mapping[str, tuple[Level, ...]],
    quick: bool = False,
    as_published: bool = False,
) -> tuple[NumberedCondition, ...]:
    """The conditions to run: those of the tables that the mode asks for, with the levels of `only`.

    Raises UserError if nothing is left.
    """
    printed = tables_of_mode(experiment, quick=quick, as_published=as_published)
    everything = all_conditions(experiment)
    meant = [one for one in everything if _has_levels(one.condition, only)]
    chosen = tuple(one for one in meant if printed & set(one.tables))
    if not chosen:
        raise UserError(_nothing_left(only, len(meant), quick=quick, as_published=as_published))
    return chosen


def tables_of_mode(experiment: Experiment, *, quick: bool, as_published: bool) -> set[str]:
    """The names of the tables that `--quick` and `--as-published` leave in."""
    names = {table.name for table in experiment.tables if table.quick or not quick}
    if as_published and experiment.as_published is not None and experiment.as_published.tables:
        names &= set(experiment.as_published.tables)
    return names


def _has_levels(condition: Condition, only: Mapping[str, tuple[Level, ...]]) -> bool:
    return all(is_level(condition[factor], levels) for factor, levels in only.items())


def _nothing_left(only: Mapping[str, tuple[Level, ...]], meant: int, *, quick: bool, as_published: bool) -> str:
    levels = " ".join(f"--only {name}={','.join(map(level_text, chosen))}" for name, chosen in only.items())
    modes = " ".join(option for option, on in (("--quick", quick), ("--as-published", as_published)) if on)
    if meant and modes:
        return f"{f'{levels} {modes}'.strip()}: no condition is left; without {modes} there are {meant}"
    return f"{levels or modes}: no table has such a condition; `loadstone show` lists what each table varies"
