"""Latency histograms of trials, each decoded once however many comparisons it stands in."""

from collections.abc import Callable, Sequence

from hdrh.histogram import HdrHistogram

from loadstone.judge.statistics.histograms import Buckets, LatencyBlocks, buckets_of, latency_blocks
from loadstone.record.reading import LatencyKind
from loadstone.record.trial import TrialRecord

HistogramReader = Callable[[str, LatencyKind], HdrHistogram]
"""From a trial's name to all its latencies; raises DriveFailed where they are missing or damaged."""


class Latencies:
    """The histograms of a run's trials."""

    def __init__(self, read: HistogramReader) -> None:
        self._read = read
        self._known: dict[tuple[str, LatencyKind], Buckets] = {}

    def blocks(self, a: Sequence[TrialRecord], b: Sequence[TrialRecord], kind: LatencyKind) -> LatencyBlocks:
        """The latencies of A and B in the same blocks, with what failed as infinitely late. Raises DriveFailed."""
        buckets_a, buckets_b = ([self._buckets(trial, kind) for trial in side] for side in (a, b))
        return latency_blocks(buckets_a, buckets_b, _failed(a, buckets_a, kind), _failed(b, buckets_b, kind))

    def _buckets(self, trial: TrialRecord, kind: LatencyKind) -> Buckets:
        key = (trial.trial, kind)
        if key not in self._known:
            self._known[key] = buckets_of(self._read(*key))
        return self._known[key]


def _failed(trials: Sequence[TrialRecord], buckets: Sequence[Buckets], kind: LatencyKind) -> list[int]:
    """Operations of each trial that never got a latency."""
    return [
        max(0, operations_of(trial, kind) - recorded.total) for trial, recorded in zip(trials, buckets, strict=True)
    ]


def operations_of(trial: TrialRecord, kind: LatencyKind) -> int:
    """How many operations a quantile of the trial is over: response time counts from when they were due."""
    return trial.counts.offered if kind == "response" else trial.counts.sent
