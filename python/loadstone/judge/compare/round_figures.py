"""The slices of a group as arrays: those of a pair round by round, and all of them in the order of time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from loadstone.judge.compare.blocks import GroupBlocks
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.statistics.rounds.pair_slices import PairSlices, log_rates
from loadstone.record.trial import TrialRecord

_COUNTED = {"goodput_per_s": "ok", "throughput_per_s": "completed"}
"""Metric -> what of a slice counts for it."""

Slice = Mapping[str, Any]
"""See `drive.outcome.SliceRecord`."""


class SlicesInTime(NamedTuple):
    """What `carry_over` takes: of each block the conditions by number, and the ln of their rates, slice after slice."""

    conditions: list[list[int]]
    log_rates: list[list[float]]


def pair_slices(blocks: Sequence[PairBlock], metric: str) -> PairSlices:
    """The slices of both, in rounds that have one of each. The metric is one that `plan.design.sliceable` lets pass."""
    both = [two for block in blocks for two in _of_block(block)]
    name = _COUNTED[metric]
    return PairSlices(
        done_a=[a[name] for a, _ in both],
        seconds_a=[_seconds(a) for a, _ in both],
        done_b=[b[name] for _, b in both],
        seconds_b=[_seconds(b) for _, b in both],
    )


def firsts(blocks: Sequence[PairBlock]) -> list[bool]:
    """Whether A was first, round by round."""
    return [a["position"] < b["position"] for block in blocks for a, b in _of_block(block)]


def slices_in_time(group: GroupBlocks, judged: Sequence[int], metric: str) -> SlicesInTime:
    """All slices of these blocks, of every condition: rounds that are not whole are left out."""
    conditions, rates = [], []
    for block in judged:
        members = [group.trials[block][key] for key in sorted(group.trials[block])]
        found = [_slices(trial) for trial in members]
        whole = sorted(set.intersection(*(set(one) for one in found))) if found else []
        turns = [
            (found[number][turn]["position"], number, found[number][turn])
            for turn in whole
            for number in sorted(range(len(found)), key=lambda number, turn=turn: found[number][turn]["position"])
        ]
        conditions.append([number for _, number, _ in turns])
        done = [one[_COUNTED[metric]] for _, _, one in turns]
        rates.append(list(map(float, log_rates(done, [_seconds(one) for _, _, one in turns]))))
    return SlicesInTime(conditions, rates)


def _of_block(block: PairBlock) -> Iterator[tuple[Slice, Slice]]:
    a, b = _slices(block.a), _slices(block.b)
    for number in sorted(a.keys() & b.keys()):
        yield a[number], b[number]


def _slices(trial: TrialRecord) -> dict[int, Slice]:
    """Round -> the slice of a trial in it."""
    drive = trial.facts.get("drive")
    slices = drive.get("slices", []) if isinstance(drive, dict) else []
    return {one["round"]: one for one in slices}


def _seconds(one: Slice) -> float:
    return float(one["end_s"] - one["begin_s"])
