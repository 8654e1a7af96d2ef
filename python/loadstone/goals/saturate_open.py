"""Which step of the open model comes next, from the trials so far: one bisection to locate the rate, then blocks. Pure.

The range follows from a closed search: what the system does at most, and a share of that which any system keeps.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.judge.saturation.rate_trials import Histogram, RateStep, rate_steps, replayed
from loadstone.judge.statistics.saturation_open import BLOCKS, Bisection, around, locate, trial_length_s
from loadstone.plan.design.order import derived_seed
from loadstone.plan.saturation.saturation_settings import SaturationSettings
from loadstone.record.trial import TrialRecord

LOW, HIGH = 1 / 32, 1.25
"""Of what the closed search brought: where the bisection begins."""
UTILISATION = 0.9
"""For which a trial is long enough: near the limit of most objectives."""
LENGTH_MIN_S, LENGTH_MAX_S = 1.0, 15.0
OPERATIONS = 12_000
"""A P99 needs so many, and some more."""


@dataclass(frozen=True)
class RateTrial:
    """Measure at this rate next."""

    phase: str
    rate_per_s: float
    block: int
    """0: the first bisection."""
    number: int
    """Which step of its bisection, from 1."""


@dataclass(frozen=True)
class RateSearch:
    """What the trials so far say."""

    next: RateTrial | None
    located_per_s: float | None
    """None as long as the first bisection is not done."""
    blocks: tuple[Bisection, ...]
    """Those that are done."""
    steps: tuple[RateStep, ...]


def rate_search(
    settings: SaturationSettings, capacity_per_s: float, trials: Sequence[TrialRecord], histogram: Histogram, seed: int
) -> RateSearch:
    """The next trial, or what the finished ones say. `capacity_per_s`: what the closed search brought at most."""
    required = settings.required
    if required is None:
        raise ValueError("the open model needs an objective")
    first = rate_steps(trials, "locate", required, histogram)
    located = replayed(locate(LOW * capacity_per_s, HIGH * capacity_per_s), first)
    if not located.done:
        return RateSearch(RateTrial("locate", located.rate_per_s, 0, len(first) + 1), None, (), tuple(first))
    done: list[Bisection] = []
    steps = list(first)
    later = rate_steps(trials, "bisect", required, histogram)
    for block in range(1, BLOCKS + 1):
        own = [one for one in later if one.trial.saturation is not None and one.trial.saturation.number == block]
        steps += own
        dither = random.Random(derived_seed(seed, "dither", block)).uniform(-1, 1)
        found = replayed(around(located.rate_per_s, done, dither), own)
        if not found.done:
            following = RateTrial("bisect", found.rate_per_s, block, len(own) + 1)
            return RateSearch(following, located.rate_per_s, tuple(done), tuple(steps))
        done.append(found)
    return RateSearch(None, located.rate_per_s, tuple(done), tuple(steps))


def length_s(settings: SaturationSettings, capacity_per_s: float, rate_per_s: float) -> float:
    """How long a rate is measured: until a queue forgot its start, and a P99 has its operations."""
    if settings.trial_s is not None:
        return settings.trial_s
    settled_s = trial_length_s(1, 1 / capacity_per_s, UTILISATION)
    needed_s = max(settled_s, OPERATIONS / rate_per_s)
    most_s = LENGTH_MAX_S / 3 if settings.quick else LENGTH_MAX_S
    return math.ceil(10 * min(most_s, max(LENGTH_MIN_S, needed_s))) / 10
