"""Latency histograms of a few rounds each, paired so that labels may be swapped within a pair.

The engine delivers a histogram every few rounds, at the same ones for all conditions of a block. Swapping
the labels of A and B in all those rounds at once is one of the orders that might have been drawn, so a group is what a
block is to `permutation`: but only if both histograms are of the same rounds. Groups that end at different rounds are
merged until they end together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadstone.drivers.histogram import Histogram, added
from loadstone.experiment.plan.look_schedule import BLOCKS_MIN
from loadstone.judge.statistics.drift_guard import EQUIVALENCE_BLOCKS, stall_counts
from loadstone.judge.statistics.effect import has_outliers, robust_spread
from loadstone.judge.statistics.histogram_arrays import LatencyBlocks, latency_blocks, quantiles_ns, table_of
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence, quantile_evidence
from loadstone.judge.statistics.rounds.round_interval import round_interval, stretched_level
from loadstone.judge.statistics.settings import Settings
from loadstone.judge.statistics.signed_rank import Floats

LEFT_OUT = 0.25
"""Share of a block's slices that are left out, those with the highest quantile."""
BEYOND_MIN = 2.0
"""Fewest operations that are to lie beyond the quantile of what is left, or it is that of one accident."""


def low_noise_quantile_ns(slices: Sequence[Histogram], failed: Sequence[int], quantile: float) -> float | None:
    """The quantile (0 < quantile < 1) in ns of the quieter slices together, infinite where it falls among failures.

    `failed`: of each slice the operations that never got a latency. None: they hold too few operations. Raises
    ValueError if the histograms differ in their buckets.
    """
    if not slices:
        return None
    values_ns, counts = table_of(slices)
    lost = np.asarray(failed, dtype=np.int64)
    own = quantiles_ns(values_ns, counts, lost, quantile)
    kept = np.argsort(own, kind="stable")[: len(slices) - int(LEFT_OUT * len(slices))]
    if (1 - quantile) * (counts[kept].sum() + lost[kept].sum()) < BEYOND_MIN:
        return None
    return float(quantiles_ns(values_ns, counts[kept].sum(axis=0), lost[kept].sum(), quantile))


MEDIAN = 0.5
GROUPS_MAX = 40
"""Most groups: of more neighbours are merged, since they would take longer, and say little more."""


@dataclass(frozen=True)
class RoundGroup:
    """One condition's latencies of the rounds `first` to `last`, and the operations that never got one."""

    first: int
    last: int
    latencies: Histogram
    failed: int = 0


Groups = tuple[list[RoundGroup], list[RoundGroup]]


def round_quantile_evidence(
    a: Sequence[RoundGroup], b: Sequence[RoundGroup], quantile: float, settings: Settings
) -> Evidence:
    """A quantile (0 < quantile < 1) of latencies in rounds; needs eight groups for an interval.

    Up to the median it is that of the typical group: the ratios of the groups' own quantiles, as blocks have them; of
    two sides here and now beyond it, too, where each group holds enough operations (why: `quiet`). Else it is that of
    all groups merged (`quantile_evidence`). Rounds are the unit of `blocks` and `spread`, and few of them are judged as
    strictly as `round_interval` does. Raises ValueError as `paired_groups` does, and if a side has not a single
    operation.
    """
    groups_a, groups_b = _few_groups(a, b)
    if not groups_a:
        return NO_BLOCKS
    latencies = _as_blocks(groups_a, groups_b)
    rounds = sum(group.last - group.first + 1 for group in groups_a)
    a_ns, b_ns = latencies.quantiles_ns(quantile)
    by_itself = quantile <= MEDIAN or (not settings.compares_runs and _hold_enough(latencies, quantile))
    if by_itself and np.isfinite(a_ns).all() and np.isfinite(b_ns).all():
        found = _of_typical_groups(np.log(b_ns / a_ns), rounds, settings)
        if quantile <= MEDIAN:
            return found
        return replace(found, typical=(float(np.median(a_ns)), float(np.median(b_ns))), requests="typical")
    stretch = settings.stretch(rounds)
    strict = strict_level(rounds, settings) * settings.pairs
    found = quantile_evidence(latencies, quantile, replace(settings, alpha=strict))
    per_group = math.sqrt(rounds / len(groups_a))
    return replace(
        found,
        blocks=rounds,
        p_value=stretched_level(found.p_value, 1 / stretch),
        spread=None if found.spread is None else found.spread * per_group,
    )


def _hold_enough(latencies: LatencyBlocks, quantile: float) -> bool:
    """Whether the typical group of either side has a quantile of its own."""
    operations = (latencies.counts_a.sum(axis=1), latencies.counts_b.sum(axis=1))
    return all((1 - quantile) * float(np.median(of_side)) >= BEYOND_MIN for of_side in operations)


def _of_typical_groups(log_ratios: Floats, rounds: int, settings: Settings) -> Evidence:
    """From the ratio of each group, in the order of time."""
    found = round_interval(log_ratios, settings.interval_alpha)
    enough = len(log_ratios) >= BLOCKS_MIN
    spread = float(robust_spread(log_ratios)) if len(log_ratios) > 1 else None
    stalls_a, stalls_b = stall_counts(log_ratios, np.asarray(found.estimate), larger_is_faster=False)
    return Evidence(
        blocks=rounds,
        estimate=found.estimate,
        low=found.low if enough else None,
        high=found.high if enough else None,
        p_value=found.p_value if enough else 1.0,
        spread=None if spread is None else spread * math.sqrt(found.rounds_in_one * rounds / len(log_ratios)),
        outliers=spread is not None and has_outliers(log_ratios, found.estimate, spread),
        stalls_a=int(stalls_a),
        stalls_b=int(stalls_b),
        total=None,
        guard=len(log_ratios) >= EQUIVALENCE_BLOCKS,
    )


def strict_level(rounds: int, settings: Settings) -> float:
    """The level of an interval of so many rounds: as strict for few of them as `round_interval` is."""
    return stretched_level(settings.interval_alpha, settings.stretch(rounds))


def latencies_of_groups(a: Sequence[RoundGroup], b: Sequence[RoundGroup]) -> LatencyBlocks:
    """What `round_quantile_evidence` takes of these groups, as blocks. Raises ValueError as that does."""
    return _as_blocks(*_few_groups(a, b))


def _as_blocks(a: Sequence[RoundGroup], b: Sequence[RoundGroup]) -> LatencyBlocks:
    return latency_blocks(
        [group.latencies for group in a],
        [group.latencies for group in b],
        [group.failed for group in a],
        [group.failed for group in b],
    )


def paired_groups(a: Sequence[RoundGroup], b: Sequence[RoundGroup]) -> Groups:
    """Groups of A and of B that are of the same rounds, as fine as the given ones allow.

    Both are in the order of rounds, numbered through all blocks of the run. Rounds that only one side has are left
    out, with the groups that they stand in. Raises ValueError for groups that overlap.
    """
    for name, groups in (("A", a), ("B", b)):
        _must_ascend(name, groups)
    starts = {group.first for group in a} & {group.first for group in b}
    ends = sorted({group.last for group in a} & {group.last for group in b})
    paired: Groups = ([], [])
    after = -1
    for end in ends:
        begins = [start for start in starts if after < start <= end]
        if begins:
            spans = [[group for group in side if min(begins) <= group.first and group.last <= end] for side in (a, b)]
            if all(_covers(span, min(begins), end) for span in spans):
                paired[0].append(_merged(spans[0]))
                paired[1].append(_merged(spans[1]))
        after = end
    return paired


def _few_groups(a: Sequence[RoundGroup], b: Sequence[RoundGroup]) -> Groups:
    """Paired, and neighbours merged until there are at most `GROUPS_MAX`."""
    paired = paired_groups(a, b)
    together = math.ceil(len(paired[0]) / GROUPS_MAX)
    if together <= 1:
        return paired
    few_a, few_b = ([_merged(side[at : at + together]) for at in range(0, len(side), together)] for side in paired)
    return few_a, few_b


def _must_ascend(name: str, groups: Sequence[RoundGroup]) -> None:
    last = -1
    for group in groups:
        if not last < group.first <= group.last:
            raise ValueError(
                f"{name}: rounds {group.first} to {group.last} after round {last}: groups must not overlap"
            )
        last = group.last


def _covers(groups: Sequence[RoundGroup], first: int, last: int) -> bool:
    """Whether the groups hold every round from the first to the last."""
    return sum(group.last - group.first + 1 for group in groups) == last - first + 1


def _merged(groups: Sequence[RoundGroup]) -> RoundGroup:
    """Several groups as one. Raises ValueError if their histograms differ in their buckets."""
    latencies = added(group.latencies for group in groups)
    return RoundGroup(groups[0].first, groups[-1].last, latencies, sum(group.failed for group in groups))
