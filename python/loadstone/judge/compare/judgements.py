"""From a verdict of the statistics to what the analysis holds of one metric."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loadstone.judge.compare.blocks import PairDesign
from loadstone.judge.compare.measure import Typical
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.judgement import BlockPoint, Judgement, Side
from loadstone.judge.metrics import figure, less_is_better, metric_words, tail_of
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.verdict import Verdict, invalid
from loadstone.judge.validity.checks import forbidding
from loadstone.record.trial import CheckResult, TrialRecord

Role = Literal["primary", "exploratory"]


@dataclass(frozen=True)
class Finding:
    """One metric of a pair, judged."""

    metric: str
    role: Role
    settings: Settings
    verdict: Verdict
    typical: Typical = (None, None)


def refused(check: CheckResult, blocks: int, settings: Settings) -> Verdict:
    """INVALID by this check, without a ratio."""
    found = invalid(check, blocks)
    return replace(found, words=f"{found.words} (quick)") if settings.quick else found


def judgement(finding: Finding, pair: PairDesign, points: Sequence[BlockPoint] = ()) -> Judgement:
    """As `analysis.json` holds it. What is endless there (a quantile among the failures) has no figure."""
    found, settings = finding.verdict, finding.settings
    typical = finding.typical if found.kind != "invalid" else (None, None)
    return Judgement(
        metric=finding.metric,
        metric_words=metric_words(finding.metric),
        larger_is_faster=settings.larger_is_faster,
        role=finding.role,
        margin=settings.margin,
        kind=found.kind,
        words=found.words,
        winner=found.winner,
        materially=found.materially,
        negligible=found.negligible,
        blocks=found.blocks,
        estimate=_finite(found.estimate),
        low=_finite(found.low),
        high=_finite(found.high),
        level=None if found.alpha is None else 1 - found.alpha,
        p_value=found.p_value,
        stalls_a=found.stalls_a,
        stalls_b=found.stalls_b,
        total=found.total,
        detectable=_finite(found.mde),
        more_minutes=found.more_minutes,
        noise_floor=_finite(found.noise_floor),
        a=Side(condition=pair.a, name=settings.names[0], typical=typical[0], gain=settings.widening[0]),
        b=Side(condition=pair.b, name=settings.names[1], typical=typical[1], gain=settings.widening[1]),
        points=list(points),
    )


def block_points(blocks: Sequence[PairBlock], metric: str, *, ratios: bool) -> list[BlockPoint]:
    """Every block with the figures of the metric; an invalid trial has none. Without `ratios` no ratio is given.

    A quantile of merged histograms uses blocks that are too short to tell it by themselves.
    """
    return [_point(block, metric, ratios=ratios) for block in sorted(blocks, key=lambda block: block.block)]


def _point(block: PairBlock, metric: str, *, ratios: bool) -> BlockPoint:
    a, b = (_usable_figure(trial, metric) for trial in (block.a, block.b))
    known = bool(a and b)
    why = block.why if block.why or known or tail_of(metric) else "a trial gives no such figure"
    return BlockPoint(
        block=block.block,
        trial_a=block.a.trial,
        trial_b=block.b.trial,
        a=a,
        b=b,
        log_ratio=math.log(b / a) if ratios and a and b else None,
        used=not why,
        why=why,
    )


def _usable_figure(trial: TrialRecord, metric: str) -> float | None:
    return None if forbidding(trial) else figure(trial, metric)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def settings_of_metric(settings: Settings, metric: str, margin: float) -> Settings:
    """The same comparison, judged by another metric."""
    return replace(settings, larger_is_faster=not less_is_better(metric), margin=margin)
