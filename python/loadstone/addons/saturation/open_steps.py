"""Where a condition saturates, in the open model: one bisection locates the highest rate that keeps the objective, then
blocks of bisections lie around it.

The range follows from a closed search: what the system does at most, and a share of that which any system keeps. Which
rate comes next follows from the trials so far alone.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.addons.saturation.bisection import (
    BLOCK_STEPS,
    BLOCKS,
    LOCATE_STEPS,
    Bisection,
    around,
    locate,
    trial_length_s,
)
from loadstone.addons.saturation.levels import in_one_stretch, step_trial, with_arrivals
from loadstone.addons.saturation.open_trials import BisectionStep, HistogramOf, rate_steps, replayed
from loadstone.addons.saturation.recorded_steps import number_of
from loadstone.addons.saturation.spec import SaturationSettings, SaturationStep
from loadstone.experiment.plan.design.randomisation import derived_seed
from loadstone.experiment.plan.run_plan import Block, PlannedTrial
from loadstone.measure.goals.goal import LabelledBlock, MeasureBlocks
from loadstone.run_folder.trial import TrialRecord
from loadstone.text.language import _
from loadstone.text.problem import Problem

LOW, HIGH = 1 / 32, 1.25
"""Shares of what the closed search brought: where the bisection begins."""
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
    steps: tuple[BisectionStep, ...]


def rate_search(
    settings: SaturationSettings,
    capacity_per_s: float,
    trials: Sequence[TrialRecord],
    histogram: HistogramOf,
    seed: int,
) -> RateSearch:
    """The next trial, or what the finished ones say. `capacity_per_s`: what the closed search brought at most."""
    required = settings.required
    if required is None:
        raise Problem("the open model needs an objective")
    first = rate_steps(trials, "locate", required, histogram)
    located = replayed(locate(LOW * capacity_per_s, HIGH * capacity_per_s), first)
    if not located.done:
        return RateSearch(RateTrial("locate", located.rate_per_s, 0, len(first) + 1), None, (), tuple(first))
    done: list[Bisection] = []
    steps = list(first)
    later = rate_steps(trials, "bisect", required, histogram)
    for block in range(1, BLOCKS + 1):
        own = [one for one in later if number_of(one.trial) == block]
        steps += own
        dither = random.Random(derived_seed(seed, "dither", block)).uniform(-1, 1)
        found = replayed(around(located.rate_per_s, done, dither), own)
        if not found.done:
            following = RateTrial("bisect", found.rate_per_s, block, len(own) + 1)
            return RateSearch(following, located.rate_per_s, tuple(done), tuple(steps))
        done.append(found)
    return RateSearch(None, located.rate_per_s, tuple(done), tuple(steps))


def length_s(settings: SaturationSettings, capacity_per_s: float, rate_per_s: float) -> float:
    """Return how long a rate is measured: until a queue forgot its start, and a P99 has its operations."""
    if settings.trial_s is not None:
        return settings.trial_s
    settled_s = trial_length_s(1, 1 / capacity_per_s, UTILISATION)
    needed_s = max(settled_s, OPERATIONS / rate_per_s)
    most_s = LENGTH_MAX_S / 3 if settings.quick else LENGTH_MAX_S
    return math.ceil(10 * min(most_s, max(LENGTH_MIN_S, needed_s))) / 10


def measure_rate(
    template: PlannedTrial, step: RateTrial, measure_s: float, users: int, label: str, run_seed: int
) -> MeasureBlocks:
    """One rate; its pool is large enough for `users`."""
    rate_per_s = float(f"{step.rate_per_s:.6g}")
    plan = in_one_stretch(
        with_arrivals(template.plan, rate_per_s, users), measure_s, application=bool(template.subjects)
    )
    of_step = SaturationStep(
        phase="locate" if step.phase == "locate" else "bisect",
        rate_per_s=rate_per_s,
        number=step.number if step.phase == "locate" else step.block,
    )
    where = "locate" if step.phase == "locate" else f"block{step.block}"
    trial = step_trial(
        template,
        plan,
        of_step,
        name=f"{template.name}-{where}-{step.number}",
        block=step.block + 1,
        order=step.number,
        seed=derived_seed(run_seed, template.name, where, step.number),
    )
    return MeasureBlocks(
        (
            LabelledBlock(
                Block.alone(trial), label, _("{place}: {rate:,.0f} a second", place=_place(step), rate=rate_per_s)
            ),
        )
    )


def _place(step: RateTrial) -> str:
    if step.phase == "locate":
        return _("locating the rate, step {number} of {steps}", number=step.number, steps=LOCATE_STEPS)
    return _(
        "bisection {block} of {blocks}, step {number} of {steps}",
        block=step.block,
        blocks=BLOCKS,
        number=step.number,
        steps=BLOCK_STEPS,
    )
