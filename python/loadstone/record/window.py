"""What the monitors saw within a stretch of time."""

from collections.abc import Iterable
from itertools import pairwise

from loadstone.observe.sample import Sample

_COVERED = 0.5
"""A figure is reported only if samples lie around so much of the stretch."""


class Window:
    """The samples of a stretch of time, given by its ends in seconds since the epoch."""

    def __init__(self, samples: Iterable[Sample], start_s: float, end_s: float) -> None:
        self.start_s = start_s
        self.end_s = end_s
        self._series: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for sample in samples:
            self._series.setdefault((sample.part, sample.metric), []).append((sample.unix_s, sample.value))
        for series in self._series.values():
            series.sort()

    @property
    def length_s(self) -> float:
        """Length of the stretch in seconds."""
        return self.end_s - self.start_s

    def parts(self, metric: str) -> list[str]:
        """The parts of which this metric was observed at all, in order of their names."""
        return sorted(part for part, name in self._series if name == metric)

    def metrics(self, part: str) -> list[str]:
        """What was observed of this part at all, in order of names."""
        return sorted(metric for name, metric in self._series if name == part)

    def increase(self, part: str, metric: str) -> float | None:
        """How much a growing counter grew within the stretch; between samples it grows evenly.

        None where the samples do not lie around the stretch. A counter that falls started again.
        """
        grown, covered_s = 0.0, 0.0
        for (t0, v0), (t1, v1) in pairwise(self._series.get((part, metric), [])):
            inside_s = min(t1, self.end_s) - max(t0, self.start_s)
            if inside_s > 0:
                grown += (v1 - v0 if v1 >= v0 else v1) * inside_s / (t1 - t0)
                covered_s += inside_s
        if self.length_s <= 0 or covered_s < _COVERED * self.length_s:
            return None
        return grown * self.length_s / covered_s

    def main_thread_s(self, part: str) -> float | None:  # noqa: ARG002 (see `SlicedWindow`)
        """CPU seconds of a part's main thread, where the driver read its clock; else the monitors' figures stand."""
        return None

    def main_thread_disk_share(self, part: str) -> float | None:
        """For how much of the time a part's main thread waited for the disk."""
        return self.mean(part, "main_thread_disk_share")

    def mean(self, part: str, metric: str) -> float | None:
        """The mean of a rate or a share that each sample tells of the time since the one before."""
        observed = self._within(part, metric)
        covered_s = sum(inside_s for _, inside_s in observed)
        if self.length_s <= 0 or covered_s < _COVERED * self.length_s:
            return None
        return sum(value * inside_s for value, inside_s in observed) / covered_s

    def highest(self, part: str, metric: str) -> float | None:
        """The highest value of a rate or a share, of samples most of whose time lies within the stretch."""
        values = [
            v1
            for (t0, _), (t1, v1) in pairwise(self._series.get((part, metric), []))
            if min(t1, self.end_s) - max(t0, self.start_s) > (t1 - t0) / 2
        ]
        return max(values, default=None)

    def _within(self, part: str, metric: str) -> list[tuple[float, float]]:
        """Values with the seconds within the stretch that each speaks for."""
        found = []
        for (t0, _), (t1, v1) in pairwise(self._series.get((part, metric), [])):
            inside_s = min(t1, self.end_s) - max(t0, self.start_s)
            if inside_s > 0:
                found.append((v1, inside_s))
        return found
