"""Saturation of the open model: the highest rate that keeps its objective.

A bisection finds where it lies; then every block has a short bisection of its own around that rate, and gives
one estimate. A single bisection is no measurement: near the limit a trial passes or fails by chance, and the
steps after one wrong answer all go astray.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loadstone.addons.saturation.closed_estimate import Saturation, at_least, hodges_lehmann, no_point
from loadstone.text.message import Message, message

LOCATE_STEPS = 8
BLOCK_STEPS = 4
BLOCKS = 8
REACH = 1.22
"""A block's bisection looks from the located rate / 1.22 to 1.22 times of it."""
DITHER = 0.05
RELAXATIONS = 100.0
BACKLOG_SHARE = 0.01


@dataclass(frozen=True)
class RateObjective:
    """What a rate must keep: the latency's quantile, the share of arrivals answered rightly, and no growing backlog."""

    latency_s: float
    quantile: float = 0.99
    goodput_share: float = 0.99


@dataclass(frozen=True)
class OpenTrial:
    """One trial of the open model."""

    rate_per_s: float
    offered: int
    ok: int
    latency_s: float | None
    """The objective's quantile of the response time, failures counted as infinite; None if it falls among them."""
    backlogs: tuple[int, ...] = ()
    """Arrivals that were not answered yet, at equal distances over the measure phase."""


def failing(trial: OpenTrial, objective: RateObjective) -> Message | None:
    """Which part of the objective a trial misses; None if it keeps it."""
    if trial.latency_s is None or trial.latency_s > objective.latency_s:
        known = {"latency_s": trial.latency_s, "objective_s": objective.latency_s}
        return message("latency_missed", quantile=objective.quantile, **known)
    if trial.ok < objective.goodput_share * trial.offered:
        return message("goodput_missed", share=trial.ok / trial.offered, objective_share=objective.goodput_share)
    third = len(trial.backlogs) // 3
    if third:
        growth = (sum(trial.backlogs[-third:]) - sum(trial.backlogs[:third])) / third
        if growth > BACKLOG_SHARE * trial.offered * (1 - third / len(trial.backlogs)):
            return message("backlog_grew", arrivals=growth)
    return None


@dataclass(frozen=True)
class Bisection:
    """Halves the range of rates, on the log scale, until its steps are used up."""

    low: float
    high: float
    steps_left: int
    passed: int = 0
    failed: int = 0

    @property
    def rate_per_s(self) -> float:
        """The rate to try next; when it is done, the estimate."""
        return math.sqrt(self.low * self.high)

    @property
    def done(self) -> bool:
        """Whether no step is left."""
        return self.steps_left == 0

    def after(self, *, keeps: bool) -> "Bisection":
        """After a trial at `rate_per_s` that kept its objective or did not."""
        middle, left = self.rate_per_s, self.steps_left - 1
        if keeps:
            return replace(self, low=middle, steps_left=left, passed=self.passed + 1)
        return replace(self, high=middle, steps_left=left, failed=self.failed + 1)


def locate(low_per_s: float, high_per_s: float) -> Bisection:
    """The first bisection. A range of 256 to 1 ends 2.2 % wide."""
    return Bisection(low_per_s, high_per_s, LOCATE_STEPS)


def around(located_per_s: float, finished: Sequence[Bisection] = (), dither: float = 0.0) -> Bisection:
    """The bisection of one block; its estimate is at most 1.3 % from what its trials said.

    Its middle is the median of where the limit was located and of the blocks `finished` before it, moved by
    `dither` (-1 to 1, to be drawn again for each block) times 5 %: were the blocks' steps the same rates, all of
    them would err by the same rounding, and their interval would not know it.
    """
    rates = sorted([located_per_s, *(block.rate_per_s for block in finished)])
    middle = math.sqrt(rates[(len(rates) - 1) // 2] * rates[len(rates) // 2]) * math.exp(dither * DITHER)
    return Bisection(middle / REACH, middle * REACH, BLOCK_STEPS)


def open_saturation(blocks: Sequence[Bisection], objective: RateObjective) -> Saturation:
    """The limit from the finished bisections of the blocks."""
    if len(blocks) < BLOCKS:
        return no_point(message("too_few_bisections", blocks=len(blocks), blocks_min=BLOCKS))
    kept = message("latency_objective", quantile=objective.quantile, latency_s=objective.latency_s)
    half = len(blocks) / 2
    if sum(not block.failed for block in blocks) >= half:
        return at_least(
            sorted(block.low for block in blocks)[len(blocks) // 2],
            message("kept_at_every_rate", objective=kept),
        )
    if sum(not block.passed for block in blocks) >= half:
        return no_point(message("missed_at_every_rate", objective=kept))
    limit = hodges_lehmann([block.rate_per_s for block in blocks])
    said = message("saturation_limit", objective=kept, per_s=limit.figures)
    return Saturation("limit", said, limit, method="bisection", repeats=len(blocks))


def trial_length_s(servers: int, service_s: float, utilisation: float) -> float:
    """The shortest useful trial: 100 / (c mu (1 - sqrt rho)^2), a hundred relaxation times of the queue.

    So slowly a queue forgets its start (Morse 1955). Ten are enough for a mean, but the P99 of a trial of twenty
    is mostly too small, and the limit comes out 2 % too high (`bench/capacity/saturation.py`); of a hundred, .2 %.
    Raises ValueError unless 0 <= utilisation < 1.
    """
    if not 0 <= utilisation < 1:
        raise ValueError(f"utilisation {utilisation}: a queue that is full never settles")
    return RELAXATIONS * service_s / (servers * (1 - math.sqrt(utilisation)) ** 2)
