"""Rates out of counters that only grow."""

import time
from collections.abc import Mapping

SHORTEST_S = 0.2
"""Rates are reported over stretches at least so long: the kernel counts much in ticks of 10 ms."""


class Rates:
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
