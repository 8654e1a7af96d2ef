"""Starts of one version: how far apart two of them may be."""

import math
from statistics import NormalDist

LATENCY_STARTS_DIFFER = 0.30
"""Least standard deviation, as a share, of the P99 between starts of one version: what ratios of two starts of a Go
service spread by (`bench/results/gate-tail-2026-11-27.jsonl`, .22 to .57), over the root of two, is about that."""


def starts_reach(starts_differ: float, level: float | None, *, of_latency: bool = False) -> float:
    """Return how far apart (ln) two starts of one version may be at such a level, both normal; 0 where none is
    assumed."""
    if not starts_differ:
        return 0.0
    one = math.log1p(max(starts_differ, LATENCY_STARTS_DIFFER) if of_latency else starts_differ)
    return NormalDist().inv_cdf((1 + (level or 0.95)) / 2) * math.sqrt(2) * one
