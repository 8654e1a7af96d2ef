"""The verdict of a comparison, and its sentence in fixed words."""

import math
from dataclasses import dataclass, replace
from typing import Literal

from loadstone.judge.statistics import wording
from loadstone.judge.statistics.drift_guard import EQUIVALENCE_BLOCKS
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import fewest_blocks
from loadstone.plan.looks import BLOCKS_MIN
from loadstone.record.trial import CheckResult

Kind = Literal["invalid", "equivalent", "faster", "mixed", "undecided", "not_decidable"]


@dataclass(frozen=True)
class Verdict:
    """What may be said of conditions A and B. Ratios are ln(B / A); None where the data cannot tell."""

    kind: Kind
    words: str
    blocks: int
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    alpha: float | None = None
    """Level of the interval."""
    p_value: float | None = None
    winner: Literal["a", "b"] | None = None
    """The faster one; for `mixed` the one that is typically faster."""
    materially: bool = False
    negligible: bool = False
    """Equivalent, and yet the difference is real."""
    stalls_a: int = 0
    stalls_b: int = 0
    total: float | None = None
    """ln of the ratio of the totals over all blocks."""
    mde: float | None = None
    """Minimum detectable effect: the log ratio that so many blocks see 8 times in 10."""
    more_minutes: float | None = None
    """Estimate of the time still needed; printed as half to twice of it."""
    noise_floor: float | None = None
    """The log ratio that the whole budget would see 8 times in 10."""
    hidden: bool = False
    """Not decidable because of what a generator that costs nothing might gain, however many blocks there are."""


def blocks_min(settings: Settings) -> int:
    """The fewest blocks that get an interval at the settings' level."""
    return max(BLOCKS_MIN, fewest_blocks(settings.interval_alpha))


def invalid(check: CheckResult, blocks: int) -> Verdict:
    """The verdict of a comparison whose trials a check has found invalid: no ratio is given."""
    unit = f" {check.unit}" if check.unit else ""
    if check.measured is None or check.limit is None:
        return Verdict("invalid", f"INVALID: {check.name}, {check.reason}", blocks)
    measured, limit = wording.figure_text(check.measured), wording.figure_text(check.limit)
    return Verdict("invalid", f"INVALID: {check.name}, measured {measured}{unit}, limit {limit}{unit}", blocks)


def worded(found: Verdict, settings: Settings) -> Verdict:
    """The verdict with its sentence."""
    return replace(found, words=_sentence(found, settings) + (" (quick)" if settings.quick else ""))


def _sentence(found: Verdict, settings: Settings) -> str:
    winner = settings.names[0 if found.winner == "a" else 1]
    if found.kind == "equivalent":
        negligible = ", real but negligible" if found.negligible else ""
        return f"EQUIVALENT within {wording.percent_text(settings.log_margin)}{negligible}: {_ratio(found)}"
    if found.kind == "faster":
        return f"{winner} FASTER by {_lead(found)}{', materially' if found.materially else ''}"
    if found.kind == "mixed":
        less = "less total work" if settings.larger_is_faster else "more total time"
        return f"MIXED: typically faster, {less} ({winner} by {_lead(found)}, in total {_total(found)})"
    if found.kind == "not_decidable" and found.hidden:
        most = wording.percent_text(math.log1p(max(settings.widening)))
        return f"NOT DECIDABLE HERE: {_ratio(found)}; the generator may hide up to {most}"
    if found.kind == "not_decidable":
        floor = "unknown" if found.noise_floor is None else f"+-{wording.percent_text(found.noise_floor)}"
        return f"NOT DECIDABLE HERE: noise floor {floor}"
    parts = [_finding(found, settings)]
    if found.more_minutes is not None:
        parts.append(wording.minutes_text(found.more_minutes))
    return "UNDECIDED: " + "; ".join([*parts, *_objections(found, settings)])


def _finding(found: Verdict, settings: Settings) -> str:
    """What an undecided comparison has so far."""
    if found.low is not None:
        return _ratio(found)
    least = blocks_min(settings)
    if found.blocks < least:
        return f"no interval from {wording.blocks_text(found.blocks)}, at least {least} are needed"
    return "both conditions fail so often that the quantile falls among the failures"


def _objections(found: Verdict, settings: Settings) -> list[str]:
    """Why an interval inside the margin is not yet equivalence."""
    margin = settings.log_margin
    if found.low is None or found.high is None or found.low < -margin or found.high > margin:
        return []
    if found.blocks < EQUIVALENCE_BLOCKS:
        return [f"equivalence needs {EQUIVALENCE_BLOCKS} blocks"]
    if found.total is not None and abs(found.total) > margin:
        return [f"in total {_total(found)}"]
    a, b = settings.names
    return [f"stalls: {a} {found.stalls_a}, {b} {found.stalls_b}"]


def _ratio(found: Verdict) -> str:
    """B against A."""
    return wording.ratio_text(found.estimate or 0.0, found.low, found.high, sign=True)


def _total(found: Verdict) -> str:
    return wording.ratio_text(found.total or 0.0, None, None, sign=True)


def _lead(found: Verdict) -> str:
    """How far the faster one leads: the larger over the smaller figure."""
    assert found.estimate is not None
    assert found.low is not None
    assert found.high is not None
    if found.estimate > 0:
        return wording.ratio_text(found.estimate, found.low, found.high)
    return wording.ratio_text(-found.estimate, -found.high, -found.low)
