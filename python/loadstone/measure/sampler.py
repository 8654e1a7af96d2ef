"""Queries all monitors on a steady schedule, when the driver has a moment for it: in rounds between two slices."""

import math
import time
from collections.abc import Callable, Sequence
from typing import Self

from loadstone.machine import clock as steady_clock
from loadstone.monitors.monitor import Monitor, Sample
from loadstone.safety.bounds.deadlines import SAMPLE, deadline
from loadstone.safety.bounds.replies import shortened


class Sampler:
    """Hands all samples of one moment to `deliver`, every `interval_s`, whenever `rest` is called after that is over.

    It has no thread: Python that runs beside a slice takes CPU time from what is measured. The moments are `interval_s`
    apart from the first on: a late one makes none of the later ones late.
    """

    def __init__(
        self,
        monitors: Sequence[Monitor],
        deliver: Callable[[list[Sample]], None],
        interval_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.problems: list[str] = []
        """What monitors raised, the first of each; one line each."""
        self.missed = 0
        """Moments left out because no rest came before the next one."""
        self.cpu_s = 0.0
        """CPU time that the sampling took."""
        self._monitors = list(monitors)
        self._deliver = deliver
        self._interval_s = interval_s
        self._clock = clock
        self._reported: set[int] = set()
        self._start_s = clock()
        self._moment = 1
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def rest(self) -> None:
        """Ask all monitors if the next moment has come. Raises what `deliver` raises."""
        passed = int((self._clock() - self._start_s) / self._interval_s)
        if passed >= self._moment:
            self.missed += passed - self._moment
            self._moment = passed + 1
            self.now()

    def now(self) -> None:
        """Ask once more, beside the schedule: as where a phase begins. Raises what `deliver` raises."""
        cpu_start_s = time.thread_time()
        samples = self._ask()
        self.cpu_s += time.thread_time() - cpu_start_s
        self._deliver(samples)

    def begin_anew(self) -> None:
        """Ask now, and from now on every `interval_s`: what begins here is looked at as seldom as can be. Raises what
        `deliver` raises."""
        self._start_s, self._moment = self._clock(), 1
        self.now()

    def stop(self) -> None:
        """Take a last sample and end. May be called more than once. Raises what `deliver` raises."""
        if self._open:
            self._open = False
            try:
                self.now()
            finally:
                self._monitors.clear()  # what they keep open and look at ends now, and not when Python collects them

    def _ask(self) -> list[Sample]:
        unix_s = steady_clock.unix_s()
        samples: list[Sample] = []
        for index, monitor in enumerate(self._monitors):
            try:
                with deadline(SAMPLE):
                    samples.extend(sample for sample in monitor.sample(unix_s) if math.isfinite(sample.value))
            except Exception as error:
                if index not in self._reported:
                    self._reported.add(index)
                    self.problems.append(
                        f"{type(monitor).__name__}: {type(error).__name__}: {shortened(str(error), 200)}"
                    )
        return samples
