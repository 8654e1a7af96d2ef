"""What must fit together in declared effects. Each problem is one UserError with its line."""

from typing import get_args

from loadstone.spec.crosscheck_levels import check_levels
from loadstone.spec.effects_spec import Effects
from loadstone.spec.experiment import Experiment
from loadstone.spec.problems import listed
from loadstone.spec.yaml_text import Path

_METRICS = tuple(name for one in get_args(Effects.model_fields["metric"].annotation) for name in get_args(one))


def check_effects(experiment: Experiment) -> None:
    """Raises UserError for the first thing that does not fit, with its line."""
    for index, effects in enumerate(experiment.effects):
        at: Path = ("effects", index)
        _factors(experiment, at, effects)
        for factor, level in effects.reference.items():
            check_levels(experiment, (*at, "reference", factor), factor, (level,))
            if factor not in effects.factors:
                problem = f"'{factor}' is none of the factors that are combined; they are: {listed(effects.factors)}"
                raise experiment.source.error((*at, "reference", factor), problem)
        for factor, level in effects.where.items():
            check_levels(experiment, (*at, "where", factor), factor, (level,))
            if factor in effects.factors:
                problem = f"'{factor}' is combined with the others; remove it here, or from factors"
                raise experiment.source.error((*at, "where", factor), problem)
        if effects.metric is None and experiment.primary_metric not in _METRICS:
            problem = f"is missing, and {experiment.primary_metric} has no effects; write one of: {listed(_METRICS)}"
            raise experiment.source.error((*at, "metric"), problem)


def _factors(experiment: Experiment, at: Path, effects: Effects) -> None:
    for place, name in enumerate(effects.factors):
        check_levels(experiment, (*at, "factors", place), name, ())
        if name in effects.factors[:place]:
            raise experiment.source.error((*at, "factors", place), f"'{name}' is given twice; remove it")
        if len(experiment.factors[name].levels) < 2:
            problem = f"'{name}' has one level only, which changes nothing; remove it, or give it another level"
            raise experiment.source.error((*at, "factors", place), problem)
