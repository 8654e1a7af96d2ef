"""The slices of a group as arrays: those of a pair round by round, and all of them in the order of time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from loadstone.judge.compare.blocks import GroupBlocks
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.statistics.rounds.pair_slices import PairSlices, log_rates
from loadstone.judge.statistics.signed_rank import Floats
from loadstone.record.trial import TrialRecord

_COUNTED = {"goodput_per_s": "ok", "throughput_per_s": "completed"}
"""Metric -> what of a slice counts for it."""

Slice = Mapping[str, Any]
"""See `drive.outcome.Slice`."""


class SlicesInTime(NamedTuple):
    """What `carry_over` takes: of each block the conditions by number, and the ln of their rates, slice after slice."""

    conditions: list[list[int]]
    log_rates: list[list[float]]


def pair_slices(blocks: Sequence[PairBlock], metric: str) -> PairSlices:
    """The slices of both, in rounds that have one of each. The metric is one that `plan.design.sliceable` lets pass."""
    both = [two for block in blocks for two in _of_block(block)]
    a, b = [first for first, _ in both], [second for _, second in both]
    return PairSlices(*_done(a, metric), *_done(b, metric))


def row_slices(trials: Sequence[TrialRecord], metric: str) -> tuple[Floats, Floats, Floats] | None:
    """Operations, seconds and begins (on one clock) of all slices of a condition, in the order of time.

    None where one of its trials was measured in one stretch.
    """
    found = [(trial.started_unix_ns / 1e9, list(_slices(trial).values())) for trial in trials]
    if not found or not all(slices for _, slices in found):
        return None
    ordered = sorted(found, key=lambda one: one[0])
    begins_s = [started_s + one["begin_s"] for started_s, slices in ordered for one in slices]
    done, seconds = _done([one for _, slices in ordered for one in slices], metric)
    return done, seconds, np.array(begins_s, dtype=np.float64)


def firsts(blocks: Sequence[PairBlock]) -> list[bool]:
    """Whether A was first, round by round."""
    return [a["position"] < b["position"] for block in blocks for a, b in _of_block(block)]


def slices_in_time(group: GroupBlocks, judged: Sequence[int], metric: str) -> SlicesInTime:
    """All slices of these blocks, of every condition: rounds that are not whole are left out."""
    conditions: list[list[int]] = []
    rates: list[list[float]] = []
    for block in judged:
        turns = _in_turn([_slices(group.trials[block][key]) for key in sorted(group.trials[block])])
        conditions.append([number for number, _ in turns])
        rates.append(log_rates(*_done([one for _, one in turns], metric)).tolist())
    return SlicesInTime(conditions, rates)


def _in_turn(found: Sequence[Mapping[int, Slice]]) -> list[tuple[int, Slice]]:
    """The slices of all conditions in the order of time, with the numbers of their conditions."""
    turns = []
    for number in sorted(set.intersection(*(set(one) for one in found)) if found else ()):
        of_round = [(place, slices[number]) for place, slices in enumerate(found)]
        turns += sorted(of_round, key=_position)
    return turns


def _position(turn: tuple[int, Slice]) -> int:
    return int(turn[1]["position"])


def _done(slices: Sequence[Slice], metric: str) -> tuple[Floats, Floats]:
    """Operations that count for the metric, and seconds, of each slice."""
    name = _COUNTED[metric]
    done = np.array([one[name] for one in slices], dtype=np.float64)
    return done, np.array([one["end_s"] - one["begin_s"] for one in slices], dtype=np.float64)


def _of_block(block: PairBlock) -> Iterator[tuple[Slice, Slice]]:
    a, b = _slices(block.a), _slices(block.b)
    for number in sorted(a.keys() & b.keys()):
        yield a[number], b[number]


def _slices(trial: TrialRecord) -> dict[int, Slice]:
    """Round -> the slice of a trial in it."""
    drive = trial.facts.get("drive")
    slices = drive.get("slices", []) if isinstance(drive, dict) else []
    return {one["round"]: one for one in slices}
