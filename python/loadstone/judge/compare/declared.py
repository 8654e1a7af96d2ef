"""What a group of conditions was declared as: a comparison, or effects."""

from dataclasses import dataclass

from loadstone.spec.experiment import Experiment


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
