"""What the analysis keeps of a verdict: its two conditions, and its blocks with their figures."""

import math
from collections.abc import Sequence

from loadstone.judge.compare.blocks import PairDesign
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.metrics import figure, tail_of
from loadstone.judge.validity.checks import forbidding
from loadstone.judge.verdict import BlockPoint, Side, Verdict
from loadstone.message import message
from loadstone.record.trial import TrialRecord
from loadstone.spec.levels import Condition


def published(found: Verdict, pair: PairDesign, points: Sequence[BlockPoint] = ()) -> Verdict:
    """The verdict on a pair's primary metric, as the analysis holds it."""
    sides = {"a": _side(found.a, pair.a), "b": _side(found.b, pair.b)}
    return found.model_copy(update={**sides, "points": list(points)})


def exploratory(found: Verdict, pair: PairDesign) -> Verdict:
    """The verdict on another metric of a pair: labelled, and without the blocks that the primary one shows."""
    return published(found, pair).model_copy(update={"role": "exploratory"})


def _side(side: Side, condition: Condition) -> Side:
    return side.model_copy(update={"condition": condition})


def block_points(blocks: Sequence[PairBlock], metric: str, *, ratios: bool) -> list[BlockPoint]:
    """Every block with the figures of the metric; an invalid trial has none. Without `ratios` no ratio is given.

    A quantile of merged histograms uses blocks that are too short to have it by themselves.
    """
    return [_point(block, metric, ratios=ratios) for block in sorted(blocks, key=lambda block: block.block)]


def _point(block: PairBlock, metric: str, *, ratios: bool) -> BlockPoint:
    a, b = (_usable_figure(trial, metric) for trial in (block.a, block.b))
    known = bool(a and b)
    why = block.why if block.why or known or tail_of(metric) else message("block_without_figure")
    return BlockPoint(
        block=block.block,
        trial_a=block.a.trial,
        trial_b=block.b.trial,
        a=a,
        b=b,
        log_ratio=math.log(b / a) if ratios and a and b else None,
        used=why is None,
        why=why,
    )


def _usable_figure(trial: TrialRecord, metric: str) -> float | None:
    return None if forbidding(trial) else figure(trial, metric)
