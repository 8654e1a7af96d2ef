"""The slices of a group as arrays: those of a pair round by round, and all of them in the order of time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from loadstone.drivers.slices import Slice
from loadstone.judge.compare.blocks import GroupBlocks
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.statistics.rounds.slices import ContrastSlices, PairSlices, log_rates
from loadstone.judge.statistics.signed_rank import Floats
from loadstone.run_folder.trial import TrialRecord

_UNITS = "units_per_s"
_COUNTED: dict[str, Callable[[Slice], int]] = {
    "goodput_per_s": lambda one: one.ok,
    "throughput_per_s": lambda one: one.completed,
    _UNITS: lambda one: one.ok,
}
"""Rate -> what of a slice counts for it."""
_MEAN = "response_ns.mean"


class Turn(NamedTuple):
    """A slice of a trial, and what its operations are made of: ten keys of an MGET are ten units."""

    slice: Slice
    units_per_operation: float


class SlicesInTime(NamedTuple):
    """What `carry_over` takes: of each block the conditions by number, and the ln of their rates, slice after slice."""

    names: list[str]
    """Identities of the conditions, by their numbers."""
    conditions: list[list[int]]
    log_rates: list[list[float]]
    log_halves: list[list[float]] | None
    """ln of the rate in the second half of a slice over that in the first; None of slices whose halves are unknown, and
    where no rate is compared."""


def pair_slices(blocks: Sequence[PairBlock], metric: str) -> PairSlices:
    """The slices of both, in rounds that have one of each.

    A rate is operations (or their units) over seconds; the mean response time is nanoseconds over the operations that
    ended, without rounds in which none did. Raises ValueError where no slice has what the metric needs.
    """
    both = [two for block in blocks for two in _of_block(block)]
    if metric not in _COUNTED:
        if metric != _MEAN:
            raise ValueError(f"{metric}: is no figure of single slices")
        both = [(a, b) for a, b in both if a.slice.ended and b.slice.ended]
        if not both:
            raise ValueError("no slice says how long its operations took")
    a, b = [first for first, _ in both], [second for _, second in both]
    return PairSlices(*_done(a, metric), *_done(b, metric))


def contrast_slices(
    blocks: Sequence[Mapping[str, TrialRecord]], weights: Mapping[str, float], metric: str
) -> ContrastSlices:
    """The slices of several conditions, in rounds that have one of each; as `pair_slices`.

    `blocks` have the trial of each condition by its identity, `weights` how much it counts.
    """
    every = [of_round for block in blocks for of_round in _in_common([_turns_of(block[key]) for key in weights])]
    if metric not in _COUNTED:
        if metric != _MEAN:
            raise ValueError(f"{metric}: is no figure of single slices")
        every = [of_round for of_round in every if all(one.slice.ended for one in of_round)]
    if not every:
        raise ValueError("no round has a slice of each condition")
    figures = [_done([of_round[place] for of_round in every], metric) for place in range(len(weights))]
    done, parts = (np.array([both[number] for both in figures]) for number in (0, 1))
    return ContrastSlices(done, parts, np.array(list(weights.values())))


def _in_common(conditions: Sequence[Mapping[int, Turn]]) -> list[list[Turn]]:
    """The slices of all conditions, round by round."""
    numbers = sorted(set.intersection(*(set(condition) for condition in conditions)))
    return [[slices[number] for slices in conditions] for number in numbers]


def in_rounds(blocks: Sequence[PairBlock], metric: str) -> bool:
    """Whether both conditions were measured in slices in every block, by which this metric is known."""
    return metric in _COUNTED and all(map(in_slices, blocks))


def in_slices(block: PairBlock) -> bool:
    """Whether both of a block's trials were measured in slices."""
    return all(slices_of(trial) for trial in (block.a, block.b))


def row_slices(trials: Sequence[TrialRecord], metric: str) -> tuple[Floats, Floats] | None:
    """Operations and seconds of all slices of a condition.

    None where one of its trials was measured in one stretch.
    """
    turns = [list(_turns_of(trial).values()) for trial in trials]
    if not turns or not all(turns):
        return None
    return _done([one for slices in turns for one in slices], metric)


def firsts(blocks: Sequence[PairBlock]) -> list[bool]:
    """Whether A was first, round by round."""
    return [a.slice.position < b.slice.position for block in blocks for a, b in _of_block(block)]


def slices_in_time(group: GroupBlocks, judged: Sequence[int], metric: str) -> SlicesInTime:
    """All slices of these blocks, of every condition: rounds that are not whole are left out.

    Of a latency what carries over shows in its mean.
    """
    conditions: list[list[int]] = []
    rates: list[list[float]] = []
    halves: list[list[float] | None] = []
    names = sorted(set.intersection(*(set(group.trials[block]) for block in judged)) if judged else ())
    for block in judged:
        turns = _in_turn([_turns_of(group.trials[block][key]) for key in names])
        slices = [one for _, one in turns]
        if not slices:  # of a block that failed
            continue
        conditions.append([number for number, _ in turns])
        rates.append(log_rates(*_done(slices, metric)).tolist())
        halves.append(_log_halves(slices))
    known = [block for block in halves if block is not None] if metric in _COUNTED else []
    return SlicesInTime(names, conditions, rates, known if known and len(known) == len(halves) else None)


def _log_halves(turns: Sequence[Turn]) -> list[float] | None:
    """Return how the rate of correct replies changes within each slice, whatever decides: what reaches into a slice
    shows in both kinds of rate."""
    halves = [turn.slice.ok_first_half for turn in turns]
    if None in halves:
        return None
    first = np.array(halves, dtype=np.float64)
    second = np.array([turn.slice.ok for turn in turns], dtype=np.float64) - first
    halves_s = np.ones(len(turns))
    changes: list[float] = (log_rates(second, halves_s) - log_rates(first, halves_s)).tolist()
    return changes


def _in_turn(conditions: Sequence[Mapping[int, Turn]]) -> list[tuple[int, Turn]]:
    """The slices of all conditions in the order of time, with the numbers of their conditions."""
    turns = []
    for number in sorted(set.intersection(*(set(condition) for condition in conditions)) if conditions else ()):
        of_round = [(place, slices[number]) for place, slices in enumerate(conditions)]
        turns += sorted(of_round, key=_position)
    return turns


def _position(turn: tuple[int, Turn]) -> int:
    return turn[1].slice.position


def _done(turns: Sequence[Turn], metric: str) -> tuple[Floats, Floats]:
    """What the metric is a ratio of, of each slice: see `pair_slices`."""
    count = _COUNTED.get(metric)
    if count is None:
        ended = np.array([max(1, turn.slice.ended or 0) for turn in turns], dtype=np.float64)
        return np.array([turn.slice.response_sum_ns or 0 for turn in turns], dtype=np.float64), ended
    done = np.array([count(turn.slice) for turn in turns], dtype=np.float64)
    long_s = np.array([turn.slice.end_s - turn.slice.begin_s for turn in turns], dtype=np.float64)
    if metric == _UNITS:  # an operation of ten keys is ten: as if a tenth of the time had brought it
        long_s /= np.array([turn.units_per_operation for turn in turns])
    return done, long_s


def _of_block(block: PairBlock) -> Iterator[tuple[Turn, Turn]]:
    a, b = _turns_of(block.a), _turns_of(block.b)
    for number in sorted(a.keys() & b.keys()):
        yield a[number], b[number]


def slices_of(trial: TrialRecord) -> dict[int, Slice]:
    """Round -> the slice of a trial in it."""
    return {} if trial.facts.drive is None else {one.round: one for one in trial.facts.drive.slices}


def _turns_of(trial: TrialRecord) -> dict[int, Turn]:
    units = 1.0 if trial.units is None else trial.units.per_operation
    return {number: Turn(one, units) for number, one in slices_of(trial).items()}
