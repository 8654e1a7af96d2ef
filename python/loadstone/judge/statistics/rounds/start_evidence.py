"""From blocks of rounds on servers that were started for each of them to what a verdict rests on.

A start has a speed of its own: where its memory lies, which CPU its threads meet on. With a standard deviation of 2 %
from start to start, rounds taken as the unit call one in four pairs of equal servers unequal, for all rounds of a block
share its starts. So a block is the unit, as with whole trials: the typical round of each, and the exact signed-rank
interval over blocks, at the looks and the level of blocks. The order of the rounds is drawn and starts are independent
of what they start, so a block's ratio lies on either side of nothing by a fair coin. Level and power:
`bench/start_level.py`.
"""

from collections.abc import Sequence

import numpy as np

from loadstone.judge.statistics.drift_guard import EQUIVALENCE_BLOCKS
from loadstone.judge.statistics.effect import has_outliers, robust_spread
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence
from loadstone.judge.statistics.rounds.lost_slices import lost_slices, total_allows_equivalence, total_of
from loadstone.judge.statistics.rounds.pair_slices import Slices
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import signed_rank
from loadstone.plan.looks import BLOCKS_MIN


def start_evidence(blocks: Sequence[Slices], settings: Settings) -> Evidence:
    """One rate of a pair (goodput, throughput), from the slices of each block in the order of time.

    Slices are counted as lost by the rounds of all blocks, and the totals are those of all slices. Raises ValueError if
    a side did nothing at all.
    """
    some = [block for block in blocks if block.rounds]
    if not some:
        return NO_BLOCKS
    every = type(some[0]).joined(some)
    total = total_of(every)
    typical = [float(signed_rank(block.log_ratios, settings.interval_alpha).estimate) for block in some]
    d = np.array(typical, dtype=np.float64)
    found = signed_rank(d, settings.interval_alpha)
    estimate = float(found.estimate)
    spread = float(robust_spread(d)) if len(d) > 1 else None
    around = np.concatenate([block.log_ratios - middle for block, middle in zip(some, typical, strict=True)])
    lost_a, lost_b = lost_slices(around, 0.0, float(robust_spread(around)) if len(around) > 1 else 0.0)
    enough = len(d) >= BLOCKS_MIN and found.low is not None and found.high is not None
    return Evidence(
        blocks=len(d),
        estimate=estimate,
        low=float(found.low) if enough and found.low is not None else None,
        high=float(found.high) if enough and found.high is not None else None,
        p_value=float(found.p_value) if enough else 1.0,
        spread=spread,
        outliers=spread is not None and has_outliers(d, estimate, spread),
        stalls_a=lost_a,
        stalls_b=lost_b,
        total=total.log_ratio,
        total_noise=total.noise,
        guard=len(d) >= EQUIVALENCE_BLOCKS and total_allows_equivalence(total, lost_a, lost_b, settings.log_margin),
        typical=every.typical,
    )
