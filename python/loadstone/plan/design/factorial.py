"""A full factorial: its conditions as pairs that differ in one factor, and its effects as sums over these pairs."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from loadstone.plan.contrast import Contrast
from loadstone.plan.run_plan import Pair
from loadstone.spec.effects_spec import Effects
from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import Level, identity, is_level, same_level


def factorial_pairs(experiment: Experiment, effects: Effects, only: Mapping[str, tuple[Level, ...]]) -> list[Pair]:
    """Each level against the reference of its factor, at every combination of the other factors' levels.

    `only` names the levels that are left in. Where the reference is none of them, the first one left takes its place.
    """
    left = {name: _left(experiment.factors[name].levels, only.get(name)) for name in effects.factors}
    usual = {name: factor.usual for name, factor in experiment.factors.items()} | effects.where
    if any(name in only and not is_level(usual[name], only[name]) for name in usual.keys() - left.keys()):
        return []
    found = []
    for name, levels in left.items():
        reference = reference_of(experiment, effects, name, levels)
        others = {other: those for other, those in left.items() if other != name}
        for level in (level for level in levels if not same_level(level, reference)):
            for place in itertools.product(*others.values()):
                there = usual | dict(zip(others, place, strict=True))
                found.append(Pair(a=there | {name: reference}, b=there | {name: level}))
    return found


def reference_of(experiment: Experiment, effects: Effects, factor: str, levels: Sequence[Level]) -> Level:
    """With which level of a factor the others are compared; at least one must be given.

    Raises IndexError if none is.
    """
    reference = effects.reference.get(factor, experiment.factors[factor].usual)
    return reference if is_level(reference, levels) else levels[0]


def contrasts_of(effects: Effects, pairs: Sequence[Pair]) -> tuple[Contrast, ...]:
    """The main effects, then the interactions of each two factors; none of a factor that has one level left.

    One factor alone has no effects beside its pairs.
    """
    varied = [name for name in effects.factors if any(_differs(pair, name) for pair in pairs)]
    if len(varied) < 2:
        return ()
    mains = [contrast for name in varied for contrast in _mains(name, pairs)]
    both = itertools.combinations(varied, 2)
    return (*mains, *(contrast for one, other in both for contrast in _interactions(one, other, pairs)))


def _mains(factor: str, pairs: Sequence[Pair]) -> Iterator[Contrast]:
    for (reference, compared), numbers in _by_level(factor, pairs).items():
        yield Contrast("main", {factor: compared}, {factor: reference}, tuple((number,) for number in numbers))


def _interactions(varied: str, other: str, pairs: Sequence[Pair]) -> Iterator[Contrast]:
    """How the effect of `varied` depends on the level of `other`."""
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


def _by_level(factor: str, pairs: Sequence[Pair]) -> dict[tuple[Level, Level], list[int]]:
    """Reference and level of a factor -> the pairs that differ in them."""
    found: dict[tuple[Level, Level], list[int]] = {}
    for number, pair in enumerate(pairs):
        if _differs(pair, factor):
            found.setdefault((pair.a[factor], pair.b[factor]), []).append(number)
    return found


def _differs(pair: Pair, factor: str) -> bool:
    return not same_level(pair.a[factor], pair.b[factor])


def _is(pair: Pair, factor: str, level: Level) -> bool:
    return same_level(pair.a[factor], level)


def _place(pair: Pair, without: str) -> str:
    return identity({name: level for name, level in pair.a.items() if name != without})


def _left(levels: Sequence[Level], only: Sequence[Level] | None) -> tuple[Level, ...]:
    return tuple(level for level in levels if only is None or is_level(level, only))
