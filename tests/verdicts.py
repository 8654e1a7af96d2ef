"""Verdicts for tests, by their figures in per cent."""

import math
from typing import Any

from loadstone.judge.verdict import Side, Verdict
from loadstone.run_folder.trial import CheckResult
from loadstone.text.message import verbatim


def verdict(kind: Any, *percents: float, names: tuple[str, str] = ("json", "string"), **more: Any) -> Verdict:
    """A verdict on B against A: estimate and ends of the interval in `percents`, larger figures being faster."""
    ratios = [math.log1p(percent / 100) for percent in percents]
    known: dict[str, Any] = dict(zip(("estimate", "low", "high"), ratios, strict=False))
    if kind in ("faster", "mixed"):
        known["winner"] = "b" if ratios[0] > 0 else "a"
    sides = {"a": Side(name=names[0]), "b": Side(name=names[1])}
    base = {"larger_is_faster": True, "margin": 0.05, "blocks": 12, "blocks_min": 8}
    return Verdict(kind=kind, **(base | sides | known | more))


def refused_by(check: str, measured: float = 4.0, limit: float = 1.0, unit: str = "%") -> Verdict:
    """INVALID by a check."""
    failed = CheckResult(
        name=check, verdict="invalid", measured=measured, limit=limit, unit=unit, reason=verbatim("So.")
    )
    return verdict("invalid", refusal=failed)
