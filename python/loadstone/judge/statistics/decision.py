"""From evidence to the verdict. The first rule that applies counts.

Sources: equivalence by an interval inside the margin, Schuirmann 1987; ratios with intervals over
repeated runs, Kalibera & Jones 2013; the guard and the levels are ours, by simulation.

Several comparisons at once are decided by Holm's step-down procedure (Holm 1979, A simple sequentially rejective
multiple test procedure); directions may be claimed with it (Shaffer 1980). The interval that agrees with it is the one
at alpha / m, cut off at zero where only Holm rejects (Guilbaud 2008; Strassburger & Bretz 2008).
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loadstone.experiment.plan.look_schedule import BLOCKS_MIN
from loadstone.judge.statistics.effect import blocks_needed, detectable_effect
from loadstone.judge.statistics.pair_evidence import Evidence, block_evidence
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import Floats
from loadstone.judge.verdict import Side, Verdict, VerdictKind
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import Message


def holm_adjusted(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p-values of the m comparisons along the last axis: real where <= alpha."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, axis=-1, kind="stable")
    factors = np.arange(p.shape[-1], 0, -1)
    steps = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.minimum(steps, 1.0), axis=-1)
    return adjusted


def holm_rejected(p_values: ArrayLike, alpha: float) -> NDArray[np.bool_]:
    """Which of the m comparisons along the last axis differ, with a family-wise error of alpha."""
    return holm_adjusted(p_values) <= alpha


UNDECIDED, EQUIVALENT, FASTER, MIXED = range(4)
"""Codes of `classify`, which works on arrays."""
_KINDS: tuple[VerdictKind, ...] = ("undecided", "equivalent", "faster", "mixed")
BUDGETS_MAX = 4
LOOK_GROWTH = 1.5
"""Beyond the last look the next one worth its time has so many times the blocks."""

Pair = TypeVar("Pair", bound=Hashable)


def verdict_of_blocks(blocks_a: Sequence[float], blocks_b: Sequence[float], settings: Settings) -> Verdict:
    """Compare one figure a block (goodput, p50), A and B in the same order of blocks.

    Raises ValueError for figures without a ratio.
    """
    return verdict_of(block_evidence(blocks_a, blocks_b, settings), settings)


def verdicts_of_pairs(evidence: Mapping[Pair, tuple[Evidence, Settings]]) -> dict[Pair, Verdict]:
    """The verdicts of all comparisons that an experiment declares, by Holm's procedure.

    Each Settings must say in `pairs` how many there are. Raises ValueError if one does not.
    """
    for pair, (_, settings) in evidence.items():
        if settings.pairs != len(evidence):
            raise ValueError(f"{pair}: settings.pairs is {settings.pairs}, but {len(evidence)} pairs are compared")
    if not evidence:
        return {}
    alpha = min(settings.alpha for _, settings in evidence.values())
    rejected = holm_rejected([item.p_value for item, _ in evidence.values()], alpha)
    return {
        pair: verdict_of(item, settings, rejected=bool(holm))
        for (pair, (item, settings)), holm in zip(evidence.items(), rejected, strict=True)
    }


def refused(check: CheckResult, blocks: int, settings: Settings) -> Verdict:
    """INVALID by this check: no ratio is given."""
    return _without_ratio("invalid", blocks, settings).model_copy(update={"refusal": check})


def without_verdict(carried: Message, blocks: int, settings: Settings, more_minutes: float | None) -> Verdict:
    """UNDECIDED, and no ratio either: something reached from one slice into the next, as `carried` says.

    `more_minutes`: until the first look with longer slices; None: there are none.
    """
    found = {"carried": carried, "more_minutes": more_minutes}
    return _without_ratio("undecided", blocks, settings).model_copy(update=found)


def doubted(found: Verdict, settings: Settings) -> Verdict:
    """UNDECIDED with its ratio: what carries over might explain it, and the next look shows whether it does."""
    least = settings.next_look(found.blocks) or math.ceil(LOOK_GROWTH * found.blocks)
    more_minutes = (least - found.blocks) * settings.block_minutes
    kind: VerdictKind = "undecided"
    changes = {"kind": kind, "winner": None, "materially": False, "doubted": True, "more_minutes": more_minutes}
    return found.model_copy(update=changes)


def not_steady(found: Verdict, why: Message) -> Verdict:
    """UNDECIDED with its ratio: it is one of the moment, as `why` says with what decides; more of the same does not."""
    kind: VerdictKind = "undecided"
    changes = {"kind": kind, "winner": None, "materially": False, "unsteady": why, "more_minutes": None}
    return found.model_copy(update=changes)


def _without_ratio(kind: VerdictKind, blocks: int, settings: Settings) -> Verdict:
    return Verdict(
        kind=kind,
        a=Side(name=settings.names[0], gain=settings.widening[0]),
        b=Side(name=settings.names[1], gain=settings.widening[1]),
        metric=settings.metric,
        larger_is_faster=settings.larger_is_faster,
        margin=settings.margin,
        blocks=blocks,
        blocks_min=settings.blocks_min,
        unit=settings.unit,
        quick=settings.quick,
        started_once=settings.started_once,
        rate_per_s=settings.rate_per_s,
    )


def cut_at_zero(
    estimate: Floats, low: Floats, high: Floats, rejected: NDArray[np.bool_]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Intervals that agree with Holm's decision, and whether the difference is real.

    Where only Holm rejects, the interval ends at zero on the side of the estimate.
    """
    excludes = (low > 0) | (high < 0)
    only_holm = rejected & ~excludes
    low = np.where(only_holm & (estimate > 0), 0.0, low)
    high = np.where(only_holm & (estimate < 0), 0.0, high)
    return low, high, np.asarray(excludes | rejected)


def widened(
    low: Floats, high: Floats, real: NDArray[np.bool_], gains: tuple[float, float]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The interval of what the systems would do with a generator that costs nothing, and whether it leaves out zero.

    A may be faster by ln(1 + gain of A), which lowers B / A, and B by ln(1 + gain of B).
    """
    if not any(gains):
        return low, high, real
    low, high = low - math.log1p(gains[0]), high + math.log1p(gains[1])
    return low, high, np.asarray(real & ((low > 0) | (high < 0)))


def classify(
    low: Floats,
    high: Floats,
    total: Floats,
    guard: NDArray[np.bool_],
    real: NDArray[np.bool_],
    margin: float,
    total_noise: Floats | float = 0.0,
) -> NDArray[np.int64]:
    """The rule for intervals that exist, on arrays: EQUIVALENT, FASTER, MIXED, else UNDECIDED.

    Ratios and margin are logarithms; intervals and `real` come from `cut_at_zero`. A total on the other side makes a
    difference MIXED where it is beyond its noise; within that, the question is still open.
    """
    inside = (low >= -margin) & (high <= margin) & guard
    same_sign = np.where(low >= 0, total > 0, total < 0)
    opposed = np.where(low >= 0, total <= -total_noise, total >= total_noise)
    return np.select([inside, real & same_sign, real & opposed], [EQUIVALENT, FASTER, MIXED], UNDECIDED)


def verdict_of(evidence: Evidence, settings: Settings, *, rejected: bool | None = None) -> Verdict:
    """Judge the evidence, with `rejected` as Holm's decision: the first rule that applies."""
    base = _open(evidence, settings)
    if evidence.estimate is None or evidence.low is None or evidence.high is None:
        return _too_few(base, settings)
    found = _decided(base, evidence, settings, rejected=bool(rejected))
    return found if found.kind != "undecided" else _undecided(found, evidence, settings)


def _open(evidence: Evidence, settings: Settings) -> Verdict:
    """Undecided, with all that is known beside the interval."""
    names, typical, gains = settings.names, evidence.typical, settings.widening
    return Verdict(
        kind="undecided",
        a=Side(name=names[0], typical=typical[0], gain=gains[0]),
        b=Side(name=names[1], typical=typical[1], gain=gains[1]),
        metric=settings.metric,
        larger_is_faster=settings.larger_is_faster,
        margin=settings.margin,
        blocks=evidence.blocks,
        blocks_min=settings.blocks_min,
        unit=settings.unit,
        estimate=_finite(evidence.estimate),
        level=1 - settings.interval_alpha,
        p_value=evidence.p_value,
        stalls_a=evidence.stalls_a,
        stalls_b=evidence.stalls_b,
        total=evidence.total,
        detectable=_finite(_detectable(evidence.blocks, evidence, settings)),
        quick=settings.quick,
        started_once=settings.started_once,
        rate_per_s=settings.rate_per_s,
        pairing=evidence.pairing,
    )


def _finite(value: float | None) -> float | None:
    """What is endless (a quantile among the failures) has no figure."""
    return value if value is not None and math.isfinite(value) else None


def _decided(base: Verdict, evidence: Evidence, settings: Settings, *, rejected: bool) -> Verdict:
    """The kind of a verdict that has an interval, and who wins."""
    estimate = np.asarray(evidence.estimate)
    low, high, real = cut_at_zero(estimate, np.asarray(evidence.low), np.asarray(evidence.high), np.asarray(rejected))
    low, high, real = widened(low, high, real, settings.widening)
    total = estimate if evidence.total is None else np.asarray(evidence.total)
    guard, noise = np.asarray(evidence.guard), evidence.total_noise
    code = classify(low, high, total, guard, real, settings.log_margin, noise)
    kind = _KINDS[int(code)]
    found: dict[str, object] = {"kind": kind, "low": _finite(float(low)), "high": _finite(float(high))}
    if kind == "equivalent":
        found["negligible"] = bool(real)
    elif kind != "undecided":
        b_faster = bool(estimate > 0) == settings.larger_is_faster
        beyond_margin = min(abs(float(low)), abs(float(high))) > settings.log_margin
        found |= {"winner": "b" if b_faster else "a", "materially": kind == "faster" and beyond_margin}
    return base.model_copy(update=found)


def _detectable(blocks: int, evidence: Evidence, settings: Settings) -> float | None:
    """The minimum detectable effect with so many blocks like these."""
    if evidence.spread is None or blocks < BLOCKS_MIN:
        return None
    spread = evidence.spread * settings.stretch(blocks)
    return detectable_effect(blocks, spread, settings.interval_alpha, evidence.outliers)


def _too_few(base: Verdict, settings: Settings) -> Verdict:
    """Without an interval: the time until there is one, where more blocks help."""
    missing = settings.blocks_min - base.blocks
    return base.model_copy(update={"more_minutes": missing * settings.block_minutes}) if missing > 0 else base


def _hidden(evidence: Evidence, settings: Settings) -> bool:
    """Whether no number of blocks could decide: wherever in its interval the ratio lies, the gains hide the answer."""
    if evidence.low is None or evidence.high is None or not any(settings.widening):
        return False
    down, up = (math.log1p(gain) for gain in settings.widening)
    margin = settings.log_margin
    faster = evidence.high - down > 0 or evidence.low + up < 0
    equivalent = max(evidence.low, down - margin) <= min(evidence.high, margin - up)
    return not (faster or equivalent)


def _undecided(found: Verdict, evidence: Evidence, settings: Settings) -> Verdict:
    """Return the verdict with how much longer it would take; not decidable here if that is beyond four budgets."""
    estimate, spread = evidence.estimate, evidence.spread
    if _hidden(evidence, settings):
        return found.model_copy(update={"kind": "not_decidable", "hidden": True})
    least = settings.next_look(found.blocks) or math.ceil(LOOK_GROWTH * found.blocks)
    if estimate is None or spread is None or math.isinf(estimate):
        return found.model_copy(update={"more_minutes": (least - found.blocks) * settings.block_minutes})
    needed = blocks_needed(estimate, spread, settings.log_margin, settings.interval_alpha)
    more = (max(needed, least) - found.blocks) * settings.block_minutes
    budget = settings.budget_minutes
    if budget is None or needed * settings.block_minutes <= BUDGETS_MAX * budget:
        return found.model_copy(update={"more_minutes": more})
    affordable = max(int(budget / settings.block_minutes), found.blocks)
    floor = _finite(_detectable(affordable, evidence, settings))
    return found.model_copy(update={"kind": "not_decidable", "more_minutes": more, "noise_floor": floor})
