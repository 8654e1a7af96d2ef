"""Latency histograms of trials, each decoded once however many comparisons it stands in."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from loadstone.drivers.histogram import Histogram
from loadstone.drivers.slices import Slice
from loadstone.judge.compare.pairs import PairBlock
from loadstone.judge.compare.round_figures import slices_of
from loadstone.judge.statistics.histogram_arrays import LatencyBlocks, latency_blocks
from loadstone.judge.statistics.rounds.latency_groups import RoundGroup, low_noise_quantile_ns
from loadstone.run_folder.latency_logs import LatencyKind
from loadstone.run_folder.trial import TrialRecord

Span = tuple[int, int]
"""First and last round."""
HistogramReader = Callable[[str, LatencyKind], Histogram]
"""From a trial's name to all its latencies; raises DriveFailed where they are missing or damaged."""
RoundHistogramReader = Callable[[str, LatencyKind], Mapping[Span, Histogram]]
"""Reader of the histograms of a trial in rounds, by the rounds of its block that they are of."""


class HistogramCache:
    """The histograms of a run's trials."""

    def __init__(self, read: HistogramReader, read_rounds: RoundHistogramReader) -> None:
        self._read, self._read_rounds = read, read_rounds
        self._known: dict[tuple[str, LatencyKind], Histogram] = {}
        self._known_rounds: dict[tuple[str, LatencyKind], Mapping[Span, Histogram]] = {}

    def blocks(self, a: Sequence[TrialRecord], b: Sequence[TrialRecord], kind: LatencyKind) -> LatencyBlocks:
        """The latencies of A and B in the same blocks, with what failed as infinitely late. Raises DriveFailed."""
        whole_a, whole_b = ([self._whole(trial, kind) for trial in side] for side in (a, b))
        return latency_blocks(whole_a, whole_b, failed_of(a, whole_a, kind), failed_of(b, whole_b, kind))

    def rounds(self, blocks: Sequence[PairBlock], kind: LatencyKind) -> tuple[list[RoundGroup], list[RoundGroup]]:
        """The latencies of A and B by rounds, which are numbered through all blocks. Raises DriveFailed."""
        counts = [max(_rounds(block.a), _rounds(block.b)) for block in blocks]
        firsts = list(accumulate(counts, initial=0))[:-1]
        a = [group for block, first in zip(blocks, firsts, strict=True) for group in self._groups(block.a, kind, first)]
        b = [group for block, first in zip(blocks, firsts, strict=True) for group in self._groups(block.b, kind, first)]
        return a, b

    def quiet_ns(self, trial: TrialRecord, kind: LatencyKind, quantile: float) -> float | None:
        """A quantile of a trial's quieter slices; None where these are too few operations. Raises DriveFailed."""
        groups = self._groups(trial, kind, 0)
        return low_noise_quantile_ns([one.latencies for one in groups], [one.failed for one in groups], quantile)

    def _whole(self, trial: TrialRecord, kind: LatencyKind) -> Histogram:
        key = (trial.trial, kind)
        if key not in self._known:
            self._known[key] = self._read(*key)
        return self._known[key]

    def _groups(self, trial: TrialRecord, kind: LatencyKind, first: int) -> list[RoundGroup]:
        """Those of one trial, whose first round is number `first` of the run."""
        key = (trial.trial, kind)
        if key not in self._known_rounds:
            self._known_rounds[key] = self._read_rounds(*key)
        slices = slices_of(trial)
        return [
            RoundGroup(first + begin, first + end, found, failed_in(slices, (begin, end), found, kind))
            for (begin, end), found in self._known_rounds[key].items()
        ]


def _rounds(trial: TrialRecord) -> int:
    return max(slices_of(trial), default=-1) + 1


def failed_in(slices: Mapping[int, Slice], span: Span, latencies: Histogram, kind: LatencyKind) -> int:
    """Operations of these rounds that never got a latency: of the response time also what was never sent."""
    within = [slices[number] for number in range(span[0], span[1] + 1) if number in slices]
    if kind == "service":
        return sum(one.failed for one in within)
    return max(0, sum(one.offered for one in within) - latencies.total)


def failed_of(trials: Sequence[TrialRecord], latencies: Sequence[Histogram], kind: LatencyKind) -> list[int]:
    """Operations of each trial that never got a latency."""
    return [
        max(0, operations_of(trial, kind) - recorded.total) for trial, recorded in zip(trials, latencies, strict=True)
    ]


def operations_of(trial: TrialRecord, kind: LatencyKind) -> int:
    """Return how many operations a quantile of the trial is over: response time counts from when they were due."""
    return trial.counts.offered if kind == "response" else trial.counts.sent
