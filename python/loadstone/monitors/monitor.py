"""A sample, the monitor seam, and rates out of counters."""

import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from loadstone.monitors.metric import Metric

OTHER_MACHINE = ".host"
"""End of the name of the part of another machine, which a monitor of a fleet observes."""


class Sample(NamedTuple):
    """One value that a monitor observed, in the unit that its metric declares."""

    unix_s: float
    part: str
    metric: str
    value: float


class Monitor(Protocol):
    """Yields samples of one part on request, about once a second. Must not raise for a part that died."""

    METRICS: Mapping[str, Metric]
    """All that it reports, by name."""

    def sample(self, unix_s: float) -> Iterable[Sample]: ...


SHORTEST_S = 0.2
"""Rates are reported over stretches at least so long: the kernel counts much in ticks of 10 ms."""


class CounterRates:
    """Growth a second since rates were last reported."""

    def __init__(self, counters: Mapping[str, float]) -> None:
        self._before = dict(counters)
        self._before_s = time.monotonic()

    def of(self, counters: Mapping[str, float]) -> dict[str, float]:
        """The rate of each counter that was observed before; nothing if that is too short ago.

        A counter that falls (a thread ended and took its share along) has the rate 0.
        """
        now_s = time.monotonic()
        elapsed_s = now_s - self._before_s
        if elapsed_s < SHORTEST_S:
            return {}
        before, self._before, self._before_s = self._before, dict(counters), now_s
        return {name: max(0.0, value - before[name]) / elapsed_s for name, value in counters.items() if name in before}
