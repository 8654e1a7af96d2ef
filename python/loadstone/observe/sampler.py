"""Queries all monitors on a steady schedule, in a thread of its own."""

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

from loadstone.bounds.conversation import SAMPLE, conversation
from loadstone.bounds.replies import shortened
from loadstone.machine import steady_clock
from loadstone.observe.sample import Monitor, Sample


class Sampler:
    """Hands all samples of one moment to `deliver`, every `interval_s`, until it is stopped.

    The moments are `interval_s` apart from the first on: a slow monitor makes the next moment late
    or left out, never the whole schedule. `deliver` is called in the sampler's thread.
    """

    def __init__(
        self, monitors: Sequence[Monitor], deliver: Callable[[list[Sample]], None], interval_s: float = 1.0
    ) -> None:
        self.problems: list[str] = []
        """What monitors raised, the first of each; one line each."""
        self.missed = 0
        """Moments left out because the one before took too long."""
        self.cpu_s = 0.0
        """CPU time that the sampling took."""
        self._monitors = list(monitors)
        self._deliver = deliver
        self._interval_s = interval_s
        self._reported: set[int] = set()
        self._stopping = False
        self._wake = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin; the first moment is one interval from now."""
        self._thread.start()

    def now(self) -> None:
        """Ask once more, at once, beside the schedule: as where a phase begins. Does not wait for it."""
        self._wake.set()

    def stop(self) -> None:
        """Take a last sample and end. May be called more than once.

        Raises:
            Exception: what `deliver` raised, which ended the sampling.
        """
        self._stopping = True
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._monitors.clear()  # what they keep open and look at ends now, and not when Python collects them
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _run(self) -> None:
        cpu_start = time.thread_time()
        start, moment = time.monotonic(), 1
        try:
            while True:
                woken = self._wake.wait(max(0.0, start + moment * self._interval_s - time.monotonic()))
                self._wake.clear()
                last = self._stopping
                self._deliver(self._ask())
                self.cpu_s = time.thread_time() - cpu_start
                if last:
                    return
                if not woken:
                    late = int((time.monotonic() - start) / self._interval_s)
                    self.missed += max(0, late - moment)
                    moment = max(moment, late) + 1
        except Exception as error:
            self._failure = error

    def _ask(self) -> list[Sample]:
        unix_s = steady_clock.unix_s()
        samples: list[Sample] = []
        for index, monitor in enumerate(self._monitors):
            try:
                with conversation(SAMPLE):
                    samples.extend(sample for sample in monitor.sample(unix_s) if math.isfinite(sample.value))
            except Exception as error:
                if index not in self._reported:
                    self._reported.add(index)
                    self.problems.append(
                        f"{type(monitor).__name__}: {type(error).__name__}: {shortened(str(error), 200)}"
                    )
        return samples
