"""From measured rounds to what a verdict rests on: the same `Evidence` as from blocks, a round for a block."""

import math

from loadstone.judge.statistics.effect import has_outliers, robust_spread
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence
from loadstone.judge.statistics.rounds.lost_slices import lost_slices, total_allows_equivalence, total_of
from loadstone.judge.statistics.rounds.pair_slices import ROUNDS_MAX, Slices
from loadstone.judge.statistics.rounds.round_interval import round_interval
from loadstone.judge.statistics.settings import Settings


def round_evidence(slices: Slices, settings: Settings) -> Evidence:
    """One rate of a pair (goodput, throughput), its mean latency, or an effect on it, from slices in the order of time.

    `blocks` is the number of rounds. `spread` is that of one round times sqrt(tau), so that what is computed from it
    for n rounds (the minimum detectable effect, the rounds still needed) holds for rounds that depend on each other.
    Beyond `ROUNDS_MAX` rounds, neighbours are merged. Raises ValueError if a side did nothing at all.
    """
    rounds = slices.rounds
    if not rounds:
        return NO_BLOCKS
    total = total_of(slices)
    merged = math.ceil(rounds / ROUNDS_MAX)
    d = slices.merged(merged).log_ratios if merged > 1 else slices.log_ratios
    found = round_interval(d, settings.interval_alpha)
    enough = rounds >= settings.blocks_min
    spread = float(robust_spread(d)) if len(d) > 1 else None
    lost_a, lost_b = lost_slices(d, found.estimate, spread or 0.0, larger_is_faster=settings.larger_is_faster)
    return Evidence(
        blocks=rounds,
        estimate=found.estimate,
        low=found.low if enough else None,
        high=found.high if enough else None,
        p_value=found.p_value if enough else 1.0,
        spread=None if spread is None else spread * math.sqrt(merged * found.rounds_in_one),
        outliers=spread is not None and has_outliers(d, found.estimate, spread),
        stalls_a=lost_a,
        stalls_b=lost_b,
        total=total.log_ratio,
        total_noise=total.noise,
        guard=enough and total_allows_equivalence(total, lost_a, lost_b, settings.log_margin),
        typical=slices.typical,
    )
