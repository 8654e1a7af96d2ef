"""From measured rounds to what a verdict rests on: the same `Evidence` as from blocks.

Where processes are started once, a round is what a block is otherwise. Where servers are started for each block of
rounds, a block is the unit, for a start has a speed of its own: where its memory lies, which CPU its threads meet on.
With a standard deviation of 2 % from start to start, rounds taken as the unit call one in four pairs of equal servers
unequal, for all rounds of a block share its starts. So, as with whole trials, it is judged by the typical round of
each, and the exact signed-rank interval over blocks, at the looks and the level of blocks. The order of the rounds is
drawn and starts are independent of what they start, so a block's ratio lies on either side of nothing by a fair coin.
Level and power: `bench/judge/start_level.py`.

What the estimate does not notice are slices that one side loses, and work that was not done in total. A neighbour eats
one slice in twenty on a busy machine, by chance on either side. So other than whole trials (see `drift_guard`), slices
are counted as lost by their own spread, the two sides are compared as counts, and the ratio of the totals is taken with
its noise: it says little as long as few slices make it.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from loadstone.experiment.plan.look_schedule import BLOCKS_MIN
from loadstone.judge.statistics.drift_guard import EQUIVALENCE_BLOCKS, STALL_RESIDUAL, stall_counts
from loadstone.judge.statistics.effect import has_outliers, robust_spread
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence
from loadstone.judge.statistics.rounds.round_interval import round_interval
from loadstone.judge.statistics.rounds.slices import ROUNDS_MAX, Slices
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import Floats, signed_rank

LOST_SPREADS = 4.0
"""A round this many robust spreads off its estimate holds a lost slice: one in 16,000 of normal ones is so far off."""
UNEQUAL_BELOW = 0.01
"""The sides lose unequally many where chance does so less often."""
OPPOSED_LEVEL = 0.01
"""The total is opposed to the estimate where chance makes it so less often."""


class Total(NamedTuple):
    """ln of B's total rate over A's, and how far off chance may put it (at `OPPOSED_LEVEL`, one side)."""

    log_ratio: float
    noise: float


def lost_slices(
    log_ratios: Floats, estimate: float, spread: float, *, larger_is_faster: bool = True
) -> tuple[int, int]:
    """Slices that A lost, and that B lost: of a rate those that are too low, of a latency those that are too high."""
    beyond = max(STALL_RESIDUAL, LOST_SPREADS * spread)
    a, b = stall_counts(log_ratios, np.asarray(estimate), larger_is_faster=larger_is_faster, beyond=beyond)
    return int(a), int(b)


def lost_alike(lost_a: int, lost_b: int) -> bool:
    """Whether a fair coin may have dealt out the lost slices: the sign test, exact (Arbuthnot 1710)."""
    n, fewer = lost_a + lost_b, min(lost_a, lost_b)
    at_most = math.fsum(math.comb(n, k) / 2**n for k in range(fewer + 1))
    return 2 * at_most >= UNEQUAL_BELOW


def total_of(slices: Slices) -> Total:
    """The ratio of the totals, with the standard error of a ratio of sums (Cochran 1977, 6.4-6.5, in logarithms).

    Raises ValueError if one side did nothing at all.
    """
    log_ratio, parts = slices.total
    n = slices.rounds
    error = math.sqrt(n / (n - 1) * float(parts @ parts)) if n > 1 else math.inf
    return Total(log_ratio, NormalDist().inv_cdf(1 - OPPOSED_LEVEL) * error)


def total_allows_equivalence(total: Total, lost_a: int, lost_b: int, margin: float) -> bool:
    """Whether equivalence may be claimed: the totals within the margin (a log ratio), and losses by chance alone."""
    return abs(total.log_ratio) <= margin and lost_alike(lost_a, lost_b)


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
        pairing=slices.pairing,
    )


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
        pairing=every.pairing,
    )
