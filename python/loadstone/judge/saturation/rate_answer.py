"""The open model's answer, from the bisections of one condition."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.judge.saturation.rate_trials import Histogram, RateStep, objective_of, rate_steps, replayed
from loadstone.judge.statistics.saturation_model import Saturation, at_least, no_point
from loadstone.judge.statistics.saturation_open import (
    BLOCK_STEPS,
    LOCATE_STEPS,
    REACH,
    Bisection,
    open_saturation,
)
from loadstone.message import message
from loadstone.plan.saturation.saturation_settings import SaturationSettings
from loadstone.record.trial import TrialRecord


@dataclass(frozen=True)
class RateAnswer:
    """What was found, and what it rests on."""

    saturation: Saturation
    located: tuple[RateStep, ...]
    steps: tuple[RateStep, ...]
    """Of the blocks."""
    blocks: int


def rate_answer(trials: Sequence[TrialRecord], settings: SaturationSettings, histogram: Histogram) -> RateAnswer | None:
    """The answer of one condition's trials; None where it did not come to a rate."""
    required = settings.required
    if required is None:
        return None
    located, later = (rate_steps(trials, phase, required, histogram) for phase in ("locate", "bisect"))
    if not located:
        return None
    blocks: list[Bisection] = []
    for number in sorted({_block(step) for step in later}):
        own = [step for step in later if _block(step) == number]
        if len(own) == BLOCK_STEPS:
            first = _rate(own[0])
            blocks.append(replayed(Bisection(first / REACH, first * REACH, BLOCK_STEPS), own))
    return RateAnswer(_saturation(located, later, blocks, settings), tuple(located), tuple(later), len(blocks))


def _saturation(
    located: Sequence[RateStep], later: Sequence[RateStep], blocks: Sequence[Bisection], settings: SaturationSettings
) -> Saturation:
    required = settings.required
    assert required is not None
    steps = [*located, *later]
    best = max((_rate(step) for step in steps if step.why is None), default=0.0)
    missed = [step for step in steps if step.why is not None and _rate(step) > best]
    kept = message("latency_objective", quantile=required.quantile, latency_s=required.latency_s)
    if missed and 2 * sum(step.by_generator for step in missed) > len(missed):
        return at_least(best, message("generator_gave_out", limit=message("generator_late")))
    if len(located) >= LOCATE_STEPS and not best:
        return no_point(message("missed_at_every_rate", objective=kept))
    if len(located) < LOCATE_STEPS:
        return at_least(best, message("search_of_rate_not_ended", steps=len(located), of=LOCATE_STEPS))
    return open_saturation(blocks, objective_of(required))


def _block(step: RateStep) -> int:
    return 0 if step.trial.saturation is None else step.trial.saturation.number


def _rate(step: RateStep) -> float:
    found = step.trial.saturation
    return found.rate_per_s if found is not None and found.rate_per_s is not None else 0.0
