"""Every combination of a factorial against the mean of all: what a picture of its effects shows.

In rounds the machine's slow noise is the same for all combinations, so a combination's ratio to the mean of them all
has a narrow interval, where its rate has a wide one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from loadstone.judge.compare.cases import GroupCase
from loadstone.judge.compare.pairs import refusal_of
from loadstone.judge.compare.round_figures import contrast_slices, slices_of
from loadstone.judge.metrics import figure
from loadstone.judge.statistics.rounds.round_interval import round_interval
from loadstone.judge.statistics.signed_rank import signed_rank
from loadstone.judge.validity.checks import forbidding
from loadstone.record.trial import CheckResult, TrialRecord
from loadstone.spec.levels import Condition, identity

LEVEL = 0.05


@dataclass(frozen=True)
class Cell:
    """One combination, with its typical figure and the 95 % interval of that beside the mean of all combinations."""

    condition: Condition
    figure: float | None
    low: float | None
    high: float | None
    refusal: CheckResult | None
    """Why it has no figure."""


def cells_of(case: GroupCase) -> list[Cell]:
    """The combinations in the order of the pairs; what a check forbids has no figure."""
    conditions = {identity(one): one for pair in case.design.pairs for one in (pair.a, pair.b)}
    trials = {key: [case.blocks.trials[block][key] for block in case.judged] for key in conditions}
    refusals = {key: refusal_of(members) for key, members in trials.items()}
    usable = [key for key, members in trials.items() if members and refusals[key] is None]
    blocks = [
        case.blocks.trials[block]
        for block in case.judged
        if not any(forbidding(case.blocks.trials[block][key]) for key in usable)
    ]
    return [
        _cell(case.design.metric, condition, blocks, usable)
        if (key := identity(condition)) in usable and blocks
        else Cell(condition, None, None, None, refusals[key])
        for condition in conditions.values()
    ]


def _cell(
    metric: str, condition: Condition, blocks: Sequence[Mapping[str, TrialRecord]], usable: Sequence[str]
) -> Cell:
    key = identity(condition)
    weights = {one: (one == key) - 1 / len(usable) for one in usable}
    try:
        if all(slices_of(block[one]) for block in blocks for one in usable):
            slices = contrast_slices(blocks, weights, metric)
            ratios = slices.log_ratios
            centre = float(np.log(np.median(slices.done / slices.seconds, axis=1)).mean())
            found = round_interval(ratios, LEVEL)
            low, high, estimate = found.low, found.high, found.estimate
        else:
            logs = np.array([[math.log(figure(block[one], metric) or 0) for one in usable] for block in blocks])
            ratios = logs @ np.array(list(weights.values()))
            centre = float(np.median(logs, axis=0).mean())
            ranks = signed_rank(ratios, LEVEL)
            estimate = float(ranks.estimate)
            low, high = (None if end is None else float(end) for end in (ranks.low, ranks.high))
    except ValueError:
        return Cell(condition, None, None, None, None)
    ends = [None if end is None else math.exp(centre + end) for end in (low, high)]
    return Cell(condition, math.exp(centre + estimate), ends[0], ends[1], None)
