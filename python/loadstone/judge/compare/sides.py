"""What a group of conditions was declared as, and what the two sides of a pair or an effect are called."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loadstone.experiment.plan.group import Contrast, GroupDesign, PairDesign
from loadstone.experiment.plan.labels import condition_label
from loadstone.experiment.spec.experiment import Experiment
from loadstone.experiment.spec.levels import Level, same_level
from loadstone.text.language import author_text


@dataclass(frozen=True)
class Declared:
    """What both kinds have in common."""

    name: str
    question: str
    note: str
    at: tuple[str, ...]
    """Factors whose levels are named with each pair, usual ones, too."""


def declared_as(experiment: Experiment, name: str) -> Declared | None:
    """The comparison, or the effects, of this name; None if there are none."""
    for comparison in experiment.comparisons:
        if comparison.name == name:
            return Declared(name, comparison.question, comparison.note, tuple(comparison.at))
    for effects in experiment.effects:
        if effects.name == name:
            return Declared(name, effects.question, effects.note, effects.factors)
    return None


def differing(pair: PairDesign) -> list[str]:
    """The factors in which the two conditions differ."""
    return [name for name in pair.a if name in pair.b and not same_level(pair.a[name], pair.b[name])]


def side_names(experiment: Experiment, pair: PairDesign) -> tuple[str, str]:
    """What the two are called, by what differs: `json` and `string`."""
    factors = differing(pair)
    a, b = (condition_label(experiment, condition, factors) for condition in (pair.a, pair.b))
    return (a, b) if a != b else ("A", "B")


def place_of(experiment: Experiment, declared: Declared | None, pair: PairDesign) -> str:
    """What both have in common and needs saying: the levels that the comparison names, and unusual ones; of a condition
    against itself what is compared otherwise, too."""
    apart = set(differing(pair))
    named = set(declared.at) if declared is not None else set()
    if pair.is_twin and declared is not None:
        named |= {comparison.between for comparison in experiment.comparisons if comparison.name == declared.name}
    shown = [
        name
        for name, factor in experiment.factors.items()
        if name in pair.a and name not in apart and (name in named or not _usual(pair.a, name, factor.usual))
    ]
    return condition_label(experiment, pair.a, shown)


def pair_names(experiment: Experiment, comparison: str, pairs: Iterable[PairDesign]) -> list[str]:
    """What the pairs of a comparison are called: `string against json, 1 kB`, B against A as the ratio has it."""
    declared = declared_as(experiment, comparison)
    names = []
    for pair in pairs:
        a, b = side_names(experiment, pair)
        names.append(
            ", ".join(
                filter(
                    None, (author_text("{side} against {side2}", side=b, side2=a), place_of(experiment, declared, pair))
                )
            )
        )
    return names


def effect_sides(experiment: Experiment, design: Contrast) -> list[tuple[str, str]]:
    """Return the labels of the reference level and of the tested level, for each factor of an effect."""
    return [
        (condition_label(experiment, design.references, [name]), condition_label(experiment, design.levels, [name]))
        for name in design.levels
    ]


def effect_names(experiment: Experiment, contrasts: Iterable[Contrast]) -> list[str]:
    """What effects are called: `cluster-2 against one`; an interaction by both of its factors, with `x` between."""
    return [
        " x ".join(
            author_text("{side} against {side2}", side=level, side2=reference)
            for reference, level in effect_sides(experiment, contrast)
        )
        for contrast in contrasts
    ]


def names_shown(experiment: Experiment, group: GroupDesign) -> list[str]:
    """What a look at a group names: its pairs and main effects. An interaction has no faster side, which needs room."""
    mains = [contrast for contrast in group.contrasts if contrast.kind == "main"]
    return [*pair_names(experiment, group.name, group.pairs), *effect_names(experiment, mains)]


def _usual(condition: Mapping[str, Level], name: str, usual: Level) -> bool:
    return same_level(condition[name], usual)
