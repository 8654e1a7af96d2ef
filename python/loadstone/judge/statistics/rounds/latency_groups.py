"""Latency histograms of a few rounds each, paired so that labels may be swapped within a pair.

The engine delivers a histogram about once a second of measured time, which is ten slices of one condition. Swapping
the labels of A and B in all those rounds at once is one of the orders that might have been drawn, so a group is what a
block is to `permutation`: but only if both histograms are of the same rounds. Groups that end at different rounds are
merged until they end together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from loadstone.judge.statistics.histograms import Buckets, latency_blocks
from loadstone.judge.statistics.pair_evidence import NO_BLOCKS, Evidence, quantile_evidence
from loadstone.judge.statistics.rounds.round_interval import stretched_level
from loadstone.judge.statistics.settings import Settings


@dataclass(frozen=True)
class RoundGroup:
    """One condition's latencies of the rounds `first` to `last`, and the operations that never got one."""

    first: int
    last: int
    latencies: Buckets
    failed: int = 0


Groups = tuple[list[RoundGroup], list[RoundGroup]]


def round_quantile_evidence(
    a: Sequence[RoundGroup], b: Sequence[RoundGroup], quantile: float, settings: Settings, seed: int = 0
) -> Evidence:
    """A quantile (0 < quantile < 1, the median as well) of all groups merged; needs eight groups for an interval.

    As `quantile_evidence`, with rounds as the unit of `blocks` and `spread`, and as strict for few rounds as
    `round_interval` is. Raises ValueError as `paired_groups` does, and if a side has not a single operation.
    """
    groups_a, groups_b = paired_groups(a, b)
    if not groups_a:
        return NO_BLOCKS
    rounds = sum(group.last - group.first + 1 for group in groups_a)
    stretch = settings.stretch(rounds)
    strict = stretched_level(settings.interval_alpha, stretch) * settings.pairs
    latencies = latency_blocks(
        [group.latencies for group in groups_a],
        [group.latencies for group in groups_b],
        [group.failed for group in groups_a],
        [group.failed for group in groups_b],
    )
    found = quantile_evidence(latencies, quantile, replace(settings, alpha=strict), seed)
    per_group = math.sqrt(rounds / len(groups_a))
    return replace(
        found,
        blocks=rounds,
        p_value=stretched_level(found.p_value, 1 / stretch),
        spread=None if found.spread is None else found.spread * per_group,
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
    layouts = {group.latencies.layout for group in groups}
    if len(layouts) > 1:
        raise ValueError("the histograms differ in their lowest value or their digits: record them alike")
    places, index = np.unique(np.concatenate([group.latencies.places for group in groups]), return_inverse=True)
    counts = np.zeros(len(places), dtype=np.int64)
    np.add.at(counts, index, np.concatenate([group.latencies.counts for group in groups]))
    latencies = Buckets(places.astype(np.int64), counts, layouts.pop())
    return RoundGroup(groups[0].first, groups[-1].last, latencies, sum(group.failed for group in groups))
