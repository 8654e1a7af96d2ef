"""Factors, tables, comparisons and effects become conditions, each once, and pairs of them."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loadstone.experiment.plan.group import Contrast, PairDesign
from loadstone.experiment.spec.experiment import (
    AA_FACTOR,
    TWIN_LEVELS,
    ComparisonSpec,
    Effects,
    Experiment,
    TableSpec,
    conditions_of_effects,
    conditions_varied,
)
from loadstone.experiment.spec.levels import Condition, Level, identity, is_level, level_text, same_level
from loadstone.safety.errors import UserError
from loadstone.text.message import AnyText, said

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


def table_conditions(experiment: Experiment, table: TableSpec) -> list[Condition]:
    """The conditions of one table in the order of its rows."""
    return conditions_varied(experiment, table.vary)


def all_conditions(experiment: Experiment) -> tuple[NumberedCondition, ...]:
    """Every condition of every table, comparison, crash and goal, and those that add-ons need.

    Each once, in this order and as they are written.
    """
    tables: dict[str, list[str]] = {}
    conditions: dict[str, Condition] = {}
    for table in experiment.tables:
        for condition in table_conditions(experiment, table):
            conditions.setdefault(identity(condition), condition)
            tables.setdefault(identity(condition), []).append(table.name)
    crashed = [condition for crash in experiment.crashes for condition in conditions_varied(experiment, crash.vary)]
    varied = [part.varied for part in experiment.parts.values() if part.varied is not None]
    of_add_ons = [condition for levels in varied for condition in conditions_varied(experiment, levels)]
    asked = [condition for goal in experiment.goals for condition in conditions_varied(experiment, goal.vary)]
    for condition in (*_every_condition(experiment), *crashed, *of_add_ons, *asked):
        conditions.setdefault(identity(condition), condition)
    return tuple(
        NumberedCondition(number, condition, tuple(tables.get(key, ())))
        for number, (key, condition) in enumerate(conditions.items(), start=1)
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
    meant = [condition for condition in all_conditions(experiment) if has_levels(condition.condition, only)]
    chosen = tuple(one for one in meant if one.identity in rows or one.identity in compared)
    if not chosen:
        raise UserError.of(_nothing_left(only, len(meant), quick=quick, as_published=as_published))
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
    tables_of: dict[str, tuple[str, ...]] = {}
    for table in experiment.tables:
        for condition in conditions_varied(experiment, table.varied(quick=quick)) if table.name in printed else ():
            key = identity(condition)
            tables_of[key] = (*tables_of.get(key, ()), table.name)
    return tables_of


def _nothing_left(only: Only, meant: int, *, quick: bool, as_published: bool) -> AnyText:
    levels = " ".join(f"--only {name}={','.join(map(level_text, chosen))}" for name, chosen in only.items())
    modes = " ".join(option for option, on in (("--quick", quick), ("--as-published", as_published)) if on)
    if meant and modes:
        return said(
            "{options}: no condition is left; without {modes} there are {meant}",
            options=f"{levels} {modes}".strip(),
            modes=modes,
            meant=meant,
        )
    return said(
        "{options}: no table and no comparison has such a condition; `loadstone show` lists what they vary",
        options=levels or modes,
    )


def _every_condition(experiment: Experiment) -> Iterator[Condition]:
    """Every condition of every comparison and of all effects, in whatever mode; some come more than once."""
    for comparison in experiment.comparisons:
        for at in (comparison.at, comparison.quick_at):
            if at is not None:
                pairs = _pairs(experiment, comparison, at)
                yield from conditions_of([*pairs, *aa_pairs(experiment, pairs)])
    for effects in experiment.effects:
        yield from conditions_of_effects(experiment, effects)


def pairs_of_mode(
    experiment: Experiment, *, only: Only, quick: bool = False, as_published: bool = False
) -> dict[str, tuple[PairDesign, ...]]:
    """Comparison, or effects -> its pairs that the mode leaves in, of each that has any.

    A pair needs both of its conditions; the original compared nothing.
    """
    if as_published:
        return {}
    meant = [comparison for comparison in experiment.comparisons if comparison.quick or not quick]
    by_name = {
        comparison.name: tuple(
            pair
            for pair in _pairs(experiment, comparison, places(comparison, quick=quick))
            if has_levels(pair.a, only) and has_levels(pair.b, only)
        )
        for comparison in meant
    }
    by_name |= {
        effects.name: tuple(factorial_pairs(experiment, effects, only))
        for effects in experiment.effects
        if effects.quick or not quick
    }
    for name in (comparison.name for comparison in meant):
        by_name[name] += tuple(aa_pairs(experiment, by_name[name][:1]))
    return {name: pairs for name, pairs in by_name.items() if pairs}


def aa_pairs(experiment: Experiment, pairs: Iterable[PairDesign]) -> list[PairDesign]:
    """The first condition of each of these pairs against itself, where `--twin` requests it."""
    if not experiment.has_twin:
        return []
    return [PairDesign(a=pair.a, b=pair.a | {AA_FACTOR: TWIN_LEVELS[1]}) for pair in pairs]


def chosen_levels(experiment: Experiment, only: Only) -> Only:
    """What `--only` names, and of each factor that it does not name the levels that are on by default."""
    by_default = {name: factor.on_by_default for name, factor in experiment.factors.items() if factor.off_by_default}
    return by_default | dict(only)


def places(comparison: ComparisonSpec, *, quick: bool) -> Mapping[str, tuple[Level, ...]]:
    """The levels of the other factors at which it is compared."""
    return comparison.quick_at if quick and comparison.quick_at is not None else comparison.at


def conditions_of(pairs: Iterable[PairDesign]) -> list[Condition]:
    """The conditions of the pairs; some come more than once."""
    return [condition for pair in pairs for condition in (pair.a, pair.b)]


def has_levels(condition: Condition, only: Only) -> bool:
    """Whether `--only` leaves a condition in."""
    return all(is_level(condition[factor], levels) for factor, levels in only.items())


def _pairs(experiment: Experiment, comparison: ComparisonSpec, at: Mapping[str, tuple[Level, ...]]) -> list[PairDesign]:
    """Every two levels, the earlier one first, or the baseline with each other level; once at each place."""
    baseline, between = comparison.baseline, comparison.between
    if baseline is None:
        twos = list(itertools.combinations(comparison.levels, 2))
    else:
        twos = [(baseline, level) for level in comparison.levels if not is_level(level, (baseline,))]
    return [
        PairDesign(a=there | {between: a}, b=there | {between: b})
        for there in conditions_varied(experiment, at)
        for a, b in twos
    ]


def factorial_pairs(
    experiment: Experiment, effects: Effects, only: Mapping[str, tuple[Level, ...]]
) -> list[PairDesign]:
    """Each level against the reference of its factor, at every combination of the other factors' levels.

    `only` names the levels that are left in. Where the reference is none of them, the first one left takes its place.
    """
    left = {name: _left(experiment.factors[name].levels, only.get(name)) for name in effects.factors}
    usual = {name: factor.usual for name, factor in experiment.factors.items()} | effects.where
    if any(name in only and not is_level(usual[name], only[name]) for name in usual.keys() - left.keys()):
        return []
    pairs = []
    for name, levels in left.items():
        reference = reference_of(experiment, effects, name, levels)
        others = {other: those for other, those in left.items() if other != name}
        for level in (level for level in levels if not same_level(level, reference)):
            for place in itertools.product(*others.values()):
                there = usual | dict(zip(others, place, strict=True))
                pairs.append(PairDesign(a=there | {name: reference}, b=there | {name: level}))
    return pairs


def reference_of(experiment: Experiment, effects: Effects, factor: str, levels: Sequence[Level]) -> Level:
    """With which level of a factor the others are compared; at least one must be given.

    Raises IndexError if none is.
    """
    reference = effects.reference.get(factor, experiment.factors[factor].usual)
    return reference if is_level(reference, levels) else levels[0]


def contrasts_of(effects: Effects, pairs: Sequence[PairDesign]) -> tuple[Contrast, ...]:
    """The main effects, then the interactions of each two factors; none of a factor that has one level left.

    One factor alone has no effects beside its pairs.
    """
    varied = [name for name in effects.factors if any(_differs(pair, name) for pair in pairs)]
    if len(varied) < 2:
        return ()
    mains = [contrast for name in varied for contrast in _mains(name, pairs)]
    both = itertools.combinations(varied, 2)
    return (*mains, *(contrast for one, other in both for contrast in _interactions(one, other, pairs)))


def _mains(factor: str, pairs: Sequence[PairDesign]) -> Iterator[Contrast]:
    for (reference, compared), numbers in _by_level(factor, pairs).items():
        yield Contrast("main", {factor: compared}, {factor: reference}, tuple((number,) for number in numbers))


def _interactions(varied: str, other: str, pairs: Sequence[PairDesign]) -> Iterator[Contrast]:
    """Yield the contrasts that show how the effect of `varied` depends on the level of `other`."""
    against = list(_by_level(other, pairs))
    for (reference, compared), numbers in _by_level(varied, pairs).items():
        for there, level in against:
            at = {_place(pairs[number], other): number for number in numbers if _is(pairs[number], other, level)}
            base = {_place(pairs[number], other): number for number in numbers if _is(pairs[number], other, there)}
            yield Contrast(
                "interaction",
                {varied: compared, other: level},
                {varied: reference, other: there},
                tuple((base[place], at[place]) for place in base if place in at),
            )


def _by_level(factor: str, pairs: Sequence[PairDesign]) -> dict[tuple[Level, Level], list[int]]:
    """Reference and level of a factor -> the pairs that differ in them."""
    by_level: dict[tuple[Level, Level], list[int]] = {}
    for number, pair in enumerate(pairs):
        if _differs(pair, factor):
            by_level.setdefault((pair.a[factor], pair.b[factor]), []).append(number)
    return by_level


def _differs(pair: PairDesign, factor: str) -> bool:
    return not same_level(pair.a[factor], pair.b[factor])


def _is(pair: PairDesign, factor: str, level: Level) -> bool:
    return same_level(pair.a[factor], level)


def _place(pair: PairDesign, without: str) -> str:
    return identity({name: level for name, level in pair.a.items() if name != without})


def _left(levels: Sequence[Level], only: Sequence[Level] | None) -> tuple[Level, ...]:
    return tuple(level for level in levels if only is None or is_level(level, only))
