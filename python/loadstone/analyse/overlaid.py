"""Two runs laid over each other: the rate of every trial, and the response times of each condition as curves."""

import math
from collections.abc import Sequence

import numpy as np

from loadstone.analyse.between_runs import JudgedRun, Match
from loadstone.errors import DriveFailed
from loadstone.judge.validity.checks import forbidding
from loadstone.judge.verdict import Piece
from loadstone.plan.labels import label_of
from loadstone.record.histogram import SAMPLES_BEYOND
from loadstone.record.trial import TrialRecord

_POINTS = 80
"""Of a curve: more are not seen."""


class CurvePoint(Piece):
    """So large a share of the operations took longer than this."""

    beyond: float
    """1 down to where fewer than 100 operations lie beyond."""
    ns: float


class OverlaidSide(Piece):
    """A condition in one of the runs: its usable trials."""

    run: str
    """What the run is called, as in the verdicts."""
    rates_per_s: list[float]
    """Goodput of each trial, in the order in which they ran."""
    curve: tuple[CurvePoint, ...] = ()
    """Response times of all trials together; what failed counts as infinitely late, and ends the curve."""


class Overlaid(Piece):
    """A condition in both runs."""

    place: str
    a: OverlaidSide
    b: OverlaidSide


def overlaid(a: JudgedRun, matches: Sequence[Match], names: tuple[str, str]) -> list[Overlaid]:
    """The rates of each condition that both runs have, in the order of the matches."""
    return [
        Overlaid(
            place=label_of(a.run.experiment, match.condition),
            a=OverlaidSide(run=names[0], rates_per_s=[trial.goodput_per_s for trial in _usable(match.a)]),
            b=OverlaidSide(run=names[1], rates_per_s=[trial.goodput_per_s for trial in _usable(match.b)]),
        )
        for match in matches
    ]


def with_curves(one: Overlaid, match: Match, a: JudgedRun, b: JudgedRun) -> Overlaid:
    """The same with its latency curves, which are read from the logs of its trials."""
    sides = {}
    for name, side, judged, trials in (("a", one.a, a, match.a), ("b", one.b, b, match.b)):
        sides[name] = side.model_copy(update={"curve": _curve(judged, _usable(trials))})
    return one.model_copy(update=sides)


def _usable(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    return [trial for trial in trials if not forbidding(trial)]


def _curve(judged: JudgedRun, trials: Sequence[TrialRecord]) -> tuple[CurvePoint, ...]:
    """Empty where the logs are missing or damaged."""
    operations = sum(trial.counts.offered for trial in trials)
    if operations <= SAMPLES_BEYOND:
        return ()
    try:
        merged = judged.run.logs.merged([trial.trial for trial in trials], "response")
    except DriveFailed:
        return ()
    cumulated = np.frombuffer(merged.counts, dtype=np.uint64).cumsum()
    points = []
    for beyond in np.geomspace(1.0, SAMPLES_BEYOND / operations, _POINTS):
        rank = max(1, math.ceil(operations * (1 - float(beyond))))
        if rank > int(cumulated[-1]):
            break
        index = int(np.searchsorted(cumulated, rank))
        value = int(merged.get_highest_equivalent_value(merged.get_value_from_index(index)))
        points.append(CurvePoint(beyond=float(beyond), ns=value))
    return tuple(points)
