"""The time line of a run: a point an interval, bounded in number."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil

from loadstone.judge.analysis.analysis import TimelinePoint
from loadstone.monitors.monitor import Sample
from loadstone.run_folder.reading import IntervalLine, RecordedRun
from loadstone.run_folder.trial import TrialRecord
from loadstone.run_folder.window import Window

POINTS_MAX = 5_000
_DRIVER = "generator"
_SHARE = "cpu_share"


def make_timeline(run: RecordedRun, trials: Iterable[TrialRecord], points_max: int = POINTS_MAX) -> list[TimelinePoint]:
    """Points in the order of time. Where there are too many, neighbours of one trial and phase are put together."""
    trials = list(trials)
    blocks: dict[object, Sequence[Sample]] = {}
    for trial in trials:
        if samples := run.samples.get(trial.trial):
            blocks.setdefault(_block(trial), samples)
    points = [point for trial in trials for point in _of_trial(run, trial, blocks.get(_block(trial), ()))]
    points.sort(key=lambda point: point.unix_s)
    step = ceil(len(points) / points_max)
    return points if step <= 1 else _thinned(points, step)


def _block(trial: TrialRecord) -> object:
    """What a trial has samples in common with, where they are of parts that its whole block shares."""
    return trial.group, trial.stage, trial.block


def _of_trial(run: RecordedRun, trial: TrialRecord, of_block: Sequence[Sample]) -> Iterator[TimelinePoint]:
    shares = [sample for sample in run.samples.get(trial.trial, of_block) if sample.metric == _SHARE]
    lines = sorted(run.intervals.get(trial.trial, ()), key=lambda line: line.index)
    for _, group in groupby(lines, key=lambda line: line.index):
        operations = list(group)
        if operations[0].duration_s > 0:
            yield _point(operations, shares)


def _point(operations: Sequence[IntervalLine], shares: Sequence[Sample]) -> TimelinePoint:
    """One interval, all operations together. Of several operations a percentile is the slowest one's."""
    line = operations[0]
    start_s = line.start_unix_ns / 1e9
    window = Window(shares, start_s, start_s + line.duration_s)
    cpu = {part: window.mean(part, _SHARE) for part in window.parts(_SHARE)}
    cpu[_DRIVER] = sum(line.cpu_s) / line.duration_s
    completed = sum(o.ok + sum(o.errors.values()) for o in operations)
    answered = [o.response_ns for o in operations if o.response_ns.count]
    errors = sum((Counter({**o.errors, "timeouts": o.timeouts}) for o in operations), Counter[str]())
    return TimelinePoint(
        unix_s=start_s,
        trial=line.trial,
        phase=line.phase,
        throughput_per_s=completed / line.duration_s,
        goodput_per_s=sum(o.ok for o in operations) / line.duration_s,
        p50_ns=max((latency.p50 for latency in answered), default=None),
        p95_ns=max((latency.p95 for latency in answered), default=None),
        p99_ns=max((latency.p99 for latency in answered), default=None),
        errors_per_s={kind: round(count / line.duration_s, 3) for kind, count in sorted(errors.items())},
        cpu_share={part: round(share, 4) for part, share in sorted(cpu.items()) if share is not None},
    )


def _thinned(points: list[TimelinePoint], step: int) -> list[TimelinePoint]:
    """Each `step` neighbours of a trial and phase as one."""
    found: list[TimelinePoint] = []
    for _, group in groupby(points, key=lambda point: (point.trial, point.phase)):
        stretch = list(group)
        found += [together(stretch[first : first + step]) for first in range(0, len(stretch), step)]
    return found


def together(points: list[TimelinePoint]) -> TimelinePoint:
    """Several as one, at the time of the first: mean rates and shares, the highest percentiles."""
    parts = {part for point in points for part in point.cpu_share}
    kinds = sorted({kind for point in points for kind in point.errors_per_s})
    return points[0].model_copy(
        update={
            "throughput_per_s": sum(p.throughput_per_s for p in points) / len(points),
            "goodput_per_s": sum(p.goodput_per_s for p in points) / len(points),
            "p50_ns": max((p.p50_ns for p in points if p.p50_ns is not None), default=None),
            "p95_ns": max((p.p95_ns for p in points if p.p95_ns is not None), default=None),
            "p99_ns": max((p.p99_ns for p in points if p.p99_ns is not None), default=None),
            "errors_per_s": {kind: _mean([p.errors_per_s.get(kind, 0.0) for p in points]) for kind in kinds},
            "cpu_share": {part: _mean([p.cpu_share[part] for p in points if part in p.cpu_share]) for part in parts},
        }
    )


def _mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 4)
