"""Declared comparisons become pairs of conditions."""

import itertools
from collections.abc import Iterable, Iterator, Mapping

from loadstone.plan.design.factorial import conditions_of_effects, factorial_pairs
from loadstone.plan.run_plan import Pair
from loadstone.spec.experiment import Comparison, Experiment
from loadstone.spec.levels import Condition, Level, is_level

Only = Mapping[str, tuple[Level, ...]]


def every_condition(experiment: Experiment) -> Iterator[Condition]:
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
    usual = {name: factor.usual for name, factor in experiment.factors.items()}
    baseline, between = comparison.baseline, comparison.between
    if baseline is None:
        twos = list(itertools.combinations(comparison.levels, 2))
    else:
        twos = [(baseline, level) for level in comparison.levels if not is_level(level, (baseline,))]
    return [
        Pair(a=there | {between: a}, b=there | {between: b})
        for levels in itertools.product(*at.values())
        for there in [usual | dict(zip(at, levels, strict=True))]
        for a, b in twos
    ]
