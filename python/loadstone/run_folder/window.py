"""What the monitors observed within a stretch of time, or within the slices of a drive."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from loadstone.drivers.outcome import CpuTimes
from loadstone.drivers.slices import PartSlice, Slice
from loadstone.monitors import catalogue
from loadstone.monitors.monitor import Sample

_COVERED = 0.5
"""A figure is reported only if samples lie around so much of the stretch."""


class Window:
    """The samples of a stretch of time, given by its ends in seconds since the epoch."""

    in_slices = False
    """Whether others had their turns in between: then what is not read at the ends of slices is of all together."""

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
        """Return how much a growing counter grew within the stretch; between samples it grows evenly.

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
        values = []
        for (t0, _), (t1, v1) in pairwise(self._series.get((part, metric), [])):
            inside_s = min(t1, self.end_s) - max(t0, self.start_s)
            if inside_s > 0:
                values.append((v1, inside_s))
        return values


_PERCENT = 100.0
_LONG_S = 0.99
"""The shortest time of which a part's CPU is called a maximum, as monitors look once a second."""
_ALONE = 0.8
"""From this share of the whole stretch on, the slices are nearly all of it."""
_OF_EVENTS = "of the reads"
"""In the unit of what is a share of events, of which there are none while a part stands still, and not of time."""
_WAITS = frozenset(
    {"disk_wait_share", *(name for lock in catalogue.LOCKS for name in (lock.waiters, lock.busy) if name)}
)
"""What a part waits for while it works: nothing of it while it has no load."""
_OF_THE_MACHINE = ("host", "cpu<number>", "others", "kernel")


class SlicedWindow(Window):
    """The measured parts of the slices, one after the other; CPU by the clocks that the driver read at their changes.

    Monitors look once a second, and a slice may be shorter: of gauges, and of what the machine does, the mean over the
    whole stretch stands for the slices, which are spread evenly over it. The rates of a part do not: it stands still
    while others have their turn, or works for them.
    """

    in_slices = True

    def __init__(
        self,
        samples: Iterable[Sample],
        started_s: float,
        slices: Sequence[Slice],
        cpus: Mapping[str, CpuTimes],
    ) -> None:
        """`started_s`: when the load began, since the epoch; `cpus`: what the CPUs did in all slices together."""
        super().__init__(samples, started_s + slices[0].begin_s, started_s + slices[-1].end_s)
        self._slices = slices
        self._cpus = cpus
        self._measured_s = sum(turn.end_s - turn.begin_s for turn in slices)

    @property
    def length_s(self) -> float:
        """Return how much of the time was measured."""
        return self._measured_s

    def parts(self, metric: str) -> list[str]:
        """See `Window.parts`."""
        own = self._slices[0].parts if metric == "cpu_s" else ()
        return sorted({*super().parts(metric), *own})

    def increase(self, part: str, metric: str) -> float | None:
        """See `Window.increase`."""
        known = None
        if metric == "cpu_s":
            known = self._sum(part, lambda used: used.cpu_s)
        elif metric == "main_thread_wait_s":
            known = self._sum(part, lambda used: used.main_wait_s)
        elif metric == "system_s":  # what the monitors saw is of all that took turns together
            return self._sum(part, lambda used: used.system_s)
        return super().increase(part, metric) if known is None else known

    def main_thread_s(self, part: str) -> float | None:
        """See `Window.main_thread_s`."""
        return self._sum(part, lambda used: used.main_s)

    def main_thread_disk_share(self, part: str) -> float | None:
        """See `Window.main_thread_disk_share`."""
        return self._share(self._sum(part, lambda used: used.main_disk_s))

    def _sum(self, part: str, read: Callable[[PartSlice], float | None]) -> float | None:
        """Seconds over all slices; None where one of them has none."""
        seconds = [read(turn.parts[part]) for turn in self._slices if part in turn.parts]
        return sum(value for value in seconds if value is not None) if seconds and None not in seconds else None

    def mean(self, part: str, metric: str) -> float | None:
        """See `Window.mean`. None of a rate of what stood still between the slices."""
        if metric in _WAITS:
            return self._while_driven(part, metric)
        known = self._of_cpu(part, metric)
        if known is None and metric == "cpu_share":
            known = self._share(self._sum(part, lambda used: used.cpu_s))
        if known is None and metric == "main_thread_share":
            known = self._share(self._sum(part, lambda used: used.main_s))
        if known is None and not self._holds(metric):
            return None
        return super().mean(part, metric) if known is None else known

    def highest(self, part: str, metric: str) -> float | None:
        """See `Window.highest`; of a part's CPU that of its busiest slices that make up a second."""
        if metric == "cpu_share" and (most := max(self._shares(part), default=None)) is not None:
            return most
        if metric in _WAITS or not self._holds(metric):
            return self.mean(part, metric)
        found, known = super().highest(part, metric), self._of_cpu(part, metric)
        return found if known is None else max(known, found or 0.0)

    def _while_driven(self, part: str, metric: str) -> float | None:
        """The mean over the slices of what is nothing between them; None of a part that others use there."""
        whole = super().mean(part, metric)
        alone = all(turn.parts[part].paused_cpu_s is not None for turn in self._slices[1:] if part in turn.parts)
        if whole is None or not alone or self._measured_s <= 0:
            return None
        return whole * (self.end_s - self.start_s) / self._measured_s

    def _holds(self, metric: str) -> bool:
        """Whether what the monitors saw of a metric over the whole stretch holds for the slices, too."""
        declared = catalogue.METRICS.get(metric)
        if declared is None or declared.kind != "rate" or declared.part in _OF_THE_MACHINE:
            return True
        if _OF_EVENTS in declared.unit:
            return True
        return self._measured_s >= _ALONE * (self.end_s - self.start_s)

    def _share(self, seconds: float | None) -> float | None:
        return None if seconds is None or self._measured_s <= 0 else seconds / self._measured_s

    def _shares(self, part: str) -> Iterator[float]:
        """The part's CPU, as a share of one core, in every second of slices that follow each other."""
        used_s, length_s = 0.0, 0.0
        for one in self._slices:
            seconds = one.parts[part].cpu_s if part in one.parts else None
            if seconds is None:
                return
            used_s, length_s = used_s + seconds, length_s + one.end_s - one.begin_s
            if length_s >= _LONG_S:
                yield used_s / length_s
                used_s, length_s = 0.0, 0.0

    def _of_cpu(self, part: str, metric: str) -> float | None:
        """A share of one CPU in per cent; None where the driver did not read it."""
        times = self._cpus.get(part.removeprefix("cpu")) if part.startswith("cpu") else None
        if times is None:
            return None
        whole_s = times.busy_s + times.idle_s + times.steal_s
        if whole_s <= 0 or metric not in ("busy", "stolen"):
            return None
        return _PERCENT * (times.steal_s if metric == "stolen" else times.busy_s + times.steal_s) / whole_s
