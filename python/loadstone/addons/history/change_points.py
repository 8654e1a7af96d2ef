"""Where the log figures of runs in a row change: a hint, since runs share no block and machines change, too.

A run's figure is its level, plus an error of its own (its interval), plus what whole runs differ by. The latter is read
off the differences of neighbouring runs, of which a change spoils one. Runs weigh by both. The greatest difference
between runs of a part (all from one on, or some in between) and the rest, of the normal scores of their ranks, is held
against the same of the runs in random order, each with its weight (a permutation test: no distribution is assumed).
What is found splits the runs, and each part is looked at with half of the level; place and size are those of the log
figures. Drift makes neighbouring runs alike and so looks like
changes: the statistic is divided by what the correlation of neighbours adds to the variance of a mean, in the runs as
they are and in each order.

Sources: Worsley 1986 (the greatest likelihood ratio of a shift of the mean); Olshen et al. 2004 (parts in between);
Matteson & James 2014 (splitting, by permutation); Birge 1932 (the interval grows where the runs scatter by more than
was expected); Hansen 2000 (7.35: the likelihood ratio within which the place lies 19 times in 20).
"""

import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from loadstone.judge.statistics.signed_rank import Floats

LEVEL = 0.01
"""Share of histories without a change that get a hint at most, in a family of histories."""
SEGMENT_MIN = 2
"""Runs before and after a change."""
RUNS_MIN = 8
"""Fewer have too few orders for the level."""
_MEDIAN_CHI2 = 0.4549
"""Median of a squared standard normal."""
_PLACE = 7.35
"""Critical value of the likelihood ratio, which bounds the places of a change, see Hansen."""
_BEYOND = 3
"""Number of drawn orders that lie beyond the level, by which the number of draws is chosen."""
_ORDERS_MIN, _ORDERS_MAX = 2_000, 200_000
_CHUNK_FLOATS = 400_000
"""Numbers of the orders that are looked at together."""
_NOTHING = 12.0
"""About the greatest of `_steps` in one row of a hundred without a change."""
_GRID = 16
"""About so many places are tried as ends of a change that was taken back."""
_ENDS = 1.96
_NORMAL = NormalDist()
Ints = np.ndarray[tuple[int, ...], np.dtype[np.intp]]


class ChangePoint(NamedTuple):
    """A change between two runs that follow each other."""

    at: int
    """The first run of the new level, counted from 0."""
    earliest: int
    latest: int
    """The change lies between these two 19 times in 20: each the first run of the new level."""
    estimate: float
    """ln(level after / level before), and its 95 % interval."""
    low: float
    high: float
    p_value: float


def changes(logs: Sequence[float], errors: Sequence[float | None], level: float) -> list[ChangePoint]:
    """The changes in a row of log figures; none where they are too few.

    Args:
        logs: natural logarithms of the figures, the oldest first.
        errors: the standard error of each; None: as those of the others.
        level: of this row, its share of the family's.
    """
    y = np.asarray(logs, dtype=np.float64)
    if len(y) < RUNS_MIN:
        return []
    weights = _weights(y, errors)
    found: dict[int, float] = {}
    _split(y, weights, 0, len(y), level, found)
    places, p_values = _kept(y, weights, found)
    return [_change(y, weights, (0, *places, len(y)), number, p) for number, p in enumerate(p_values, start=1)]


def _weights(y: Floats, errors: Sequence[float | None]) -> Floats:
    known = [error for error in errors if error is not None]
    usual = float(np.median(known)) if known else 0.0
    own = np.asarray([usual if error is None else error for error in errors], dtype=np.float64) ** 2
    between = _between_runs(np.diff(y) ** 2, own[:-1] + own[1:])
    least = max(1e-12, float(np.median(own)) * 1e-3)
    return np.asarray(1 / (own + between + least))


def _between_runs(squares: Floats, own: Floats) -> float:
    """The variance of runs beside their own errors, by the median squared difference of neighbours."""
    low, high = 0.0, float(squares.max()) / _MEDIAN_CHI2 + 1e-12
    if float(np.median(squares / np.maximum(own, 1e-300))) <= _MEDIAN_CHI2:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if float(np.median(squares / (own + 2 * middle))) > _MEDIAN_CHI2:
            low = middle
        else:
            high = middle
    return high


def _split(y: Floats, w: Floats, begin: int, end: int, level: float, found: dict[int, float]) -> None:
    """Add the changes of a segment, at half of the level in each part of it."""
    if end - begin < RUNS_MIN:
        return
    p_value, first, last = _tested(y[begin:end], w[begin:end], level)
    if p_value > level:
        return
    ends = [begin + at for at in (0, first, last, end - begin)]
    for at in ends[1:-1]:
        if at < end:
            found[at] = p_value
    for part in itertools.pairwise(ends):
        _split(y, w, *part, level / 2, found)


def _tested(y: Floats, w: Floats, level: float) -> tuple[float, int, int]:
    """The p-value of the greatest difference, and its runs. Orders are drawn until it is clear that it is above."""
    parts = _parts(len(y))
    y = _scores(y)
    observed, places = _greatest(y[None, :], w[None, :], parts)
    orders = min(_ORDERS_MAX, max(_ORDERS_MIN, math.ceil(_BEYOND / level)))
    chunk = max(1, _CHUNK_FLOATS // (len(y) + parts.shape[1]))
    random = np.random.default_rng(20261126)  # the same runs get the same answer
    drawn = greater = 0
    while drawn < orders and greater < level * (orders + 1):  # beyond it, it is clear
        number = min(chunk, orders - drawn)
        order = random.permuted(np.tile(np.arange(len(y)), (number, 1)), axis=1)
        greater += int(np.count_nonzero(_greatest(y[order], w[order], parts)[0] >= observed[0]))
        drawn += number
    return (greater + 1) / (drawn + 1), int(parts[0, places[0]]), int(parts[1, places[0]])


def _scores(y: Floats) -> Floats:
    """Normal scores of the ranks: a few wild runs, or a machine that got restless, hide no change."""
    _, place, equal = np.unique(y, return_inverse=True, return_counts=True)
    middle = np.cumsum(equal) - (equal + 1) / 2
    return np.asarray([_NORMAL.inv_cdf((middle[one] + 0.5) / len(y)) for one in place], dtype=np.float64)


def _parts(runs: int) -> Ints:
    """First run and end of the parts that are held against the rest: all from a run on, and some in between.

    A part in between is a change that was taken back: no single step shows it. Its ends are settled afterwards.
    """
    steps = [(at, runs) for at in range(SEGMENT_MIN, runs - SEGMENT_MIN + 1)]
    grid = range(SEGMENT_MIN, runs - SEGMENT_MIN + 1, max(1, math.ceil(runs / _GRID)))
    between = [(first, end) for first in grid for end in grid if end - first >= SEGMENT_MIN]
    return np.asarray([*steps, *between], dtype=np.intp).T


def _ratios(y: Floats, w: Floats, parts: Ints) -> Floats:
    """Rows of histories -> for each part the squared difference between it and the rest, in standard errors."""
    weight, total = (np.pad(np.cumsum(one, axis=1), ((0, 0), (1, 0))) for one in (w, w * y))
    inside = weight[:, parts[1]] - weight[:, parts[0]]
    outside = weight[:, -1:] - inside
    sum_inside = total[:, parts[1]] - total[:, parts[0]]
    difference = sum_inside / inside - (total[:, -1:] - sum_inside) / outside
    return np.asarray(difference**2 * inside * outside / weight[:, -1:])


def _greatest(y: Floats, w: Floats, parts: Ints) -> tuple[Floats, Ints]:
    """The greatest of each row by what runs scatter beside it, less what neighbours that are alike add to that, and
    which part it is."""
    ratios = _ratios(y, w, parts)
    at = ratios.argmax(axis=1)
    between = ratios[np.arange(len(ratios)), at]
    mean = (w * y).sum(axis=1, keepdims=True) / w.sum(axis=1, keepdims=True)
    within = np.maximum((w * (y - mean) ** 2).sum(axis=1) - between, 1e-9)
    return between / within / _inflation(y, w, parts[:, at]), at


def _inflation(y: Floats, w: Floats, part: Ints) -> Floats:
    """What the correlation of neighbours, with the part taken out, adds to the variance of a mean."""
    places = np.arange(y.shape[1])[None, :]
    inside = (places >= part[0][:, None]) & (places < part[1][:, None])
    level, rest = ((w * y * of).sum(axis=1) / (w * of).sum(axis=1) for of in (inside, ~inside))
    left = (y - np.where(inside, level[:, None], rest[:, None])) * np.sqrt(w)
    squares = np.maximum((left**2).sum(axis=1), 1e-300)
    correlation = (left[:, 1:] * left[:, :-1]).sum(axis=1) / squares
    rho = np.clip(correlation + 2 / y.shape[1], 0, 0.9)  # two means are taken off: it is too low by about so much
    return np.asarray((1 + rho) / (1 - rho))


def _steps(y: Floats, w: Floats, begin: int, end: int) -> Floats:
    """Return the ratio for each first run of a new level within a segment, from the earliest that may be."""
    places = np.asarray([(at, end - begin) for at in range(SEGMENT_MIN, end - begin - SEGMENT_MIN + 1)], dtype=np.intp)
    return np.asarray(_ratios(y[None, begin:end], w[None, begin:end], places.T)[0])


def _kept(y: Floats, w: Floats, found: dict[int, float]) -> tuple[list[int], list[float]]:
    """The changes where they are best, with their p-values, without ends of parts at which nothing changes."""
    p_values = [found[at] for at in sorted(found)]
    places = _settled(y, w, sorted(found))
    while places:
        sizes = []
        for number, at in enumerate(places):
            begin, end = _around(len(y), places, number)
            sizes.append(float(_steps(y, w, begin, end)[at - begin - SEGMENT_MIN]) / _scatter(y, w, begin, at, end))
        least = min(range(len(places)), key=sizes.__getitem__)
        if sizes[least] >= _NOTHING:
            break
        del places[least], p_values[least]
        places = _settled(y, w, places)
    return places, p_values


def _scatter(y: Floats, w: Floats, begin: int, at: int, end: int) -> float:
    """Return how many times more than their weights say the runs about a change scatter, at least 1."""
    rest = 0.0
    for one, other in ((begin, at), (at, end)):
        rest += float((w[one:other] * (y[one:other] - np.average(y[one:other], weights=w[one:other])) ** 2).sum())
    return max(1.0, rest / max(1, end - begin - 2))


def _settled(y: Floats, w: Floats, places: list[int]) -> list[int]:
    """Return the changes, each moved to where it is best between its neighbours."""
    for _ in range(3):
        before = list(places)
        for number in range(len(places)):
            begin, end = _around(len(y), places, number)
            places[number] = begin + SEGMENT_MIN + int(_steps(y, w, begin, end).argmax())
        if places == before:
            break
    return places


def _around(runs: int, places: Sequence[int], number: int) -> tuple[int, int]:
    """The runs between the changes beside one."""
    return (
        places[number - 1] if number else 0,
        places[number + 1] if number + 1 < len(places) else runs,
    )


def _change(y: Floats, w: Floats, ends: Sequence[int], number: int, p_value: float) -> ChangePoint:
    begin, at, end = ends[number - 1 : number + 2]
    parts = [(y[one:other], w[one:other]) for one, other in ((begin, at), (at, end))]
    means = [float(np.average(values, weights=weights)) for values, weights in parts]
    rest = sum(
        float((weights * (values - mean) ** 2).sum()) for (values, weights), mean in zip(parts, means, strict=True)
    )
    scatter = max(1.0, rest / max(1, end - begin - 2))
    error = math.sqrt(scatter * sum(1 / float(weights.sum()) for _, weights in parts))
    estimate = means[1] - means[0]
    ratios = _steps(y, w, begin, end) / scatter
    likely = np.flatnonzero(ratios >= ratios.max() - _PLACE) + begin + SEGMENT_MIN
    return ChangePoint(
        at=at,
        earliest=int(likely[0]),
        latest=int(likely[-1]),
        estimate=estimate,
        low=estimate - _ENDS * error,
        high=estimate + _ENDS * error,
        p_value=p_value,
    )
