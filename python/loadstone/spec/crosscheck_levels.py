"""Whether factors and levels that an experiment names are its own. Each problem is one UserError with its line."""

from collections.abc import Iterable, Mapping
from typing import Any

from loadstone.spec.experiment import Experiment
from loadstone.spec.levels import Level, is_level, level_text
from loadstone.spec.problems import listed, nearest, shown
from loadstone.spec.yaml_text import Path


def check_when(experiment: Experiment, path: Path, when: object) -> None:
    """The factors and levels of a `when`, of one that was read as any data, too."""
    if not isinstance(when, Mapping):
        raise experiment.source.error(path, f"{shown(when)} is not a mapping; write factor: level")
    for factor, required in when.items():
        levels = required if isinstance(required, list | tuple) else (required,)
        for level in levels:
            if not isinstance(level, Level):
                raise experiment.source.error((*path, factor), f"{shown(level)} is no level; write a text or a number")
        check_levels(experiment, (*path, factor), factor, levels)


def check_levels_once(experiment: Experiment, path: Path, factor: str, levels: tuple[Level, ...]) -> None:
    """Levels of a factor that is varied: at least one, and each once."""
    check_levels(experiment, path, factor, levels)
    if not levels:
        raise experiment.source.error(path, "has no level; write the levels to vary, or remove the factor")
    for place, level in enumerate(levels):
        if is_level(level, levels[:place]):
            raise experiment.source.error((*path, place), f"'{level_text(level)}' is given twice; remove it")


def check_levels(experiment: Experiment, path: Path, factor: str, levels: Iterable[Any]) -> None:
    """The factor must exist, and each level must be one of its levels."""
    if factor not in experiment.factors:
        known = experiment.factors
        problem = f"'{factor}' is no factor; {nearest(factor, known)}factors are: {listed(known)}"
        raise experiment.source.error(path, problem)
    for level in levels:
        if not is_level(level, experiment.factors[factor].levels):
            raise experiment.source.error(path, no_level(level, factor, experiment.factors[factor].levels))


def no_level(level: Level, factor: str, levels: Iterable[Level]) -> str:
    """That a level is none of a factor's, and which there are."""
    texts = [level_text(known) for known in levels]
    text = level_text(level)
    hint = "write it without quotes; " if isinstance(level, str) and text in texts else nearest(text, texts)
    return f"'{text}' is no level of {factor}; {hint}levels are: {listed(texts)}"
