"""Servers of known behaviour, and what a generator must observe on them: for the self-test, and the benches."""

import heapq
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FreezingServer:
    """Answers after `delay_s`, and freezes for `freeze_s` at the end of every `every_s`."""

    delay_s: float
    every_s: float
    freeze_s: float

    @property
    def options(self) -> dict[str, Any]:
        """Of the engine's null server."""
        return {"delay_us": self.delay_s * 1e6, "freeze_every_s": self.every_s, "freeze_s": self.freeze_s}

    def response_times_s(self, rate_per_s: float, seconds: float, connections: int) -> list[float]:
        """Of all requests of an open load at constant intervals, sorted, by simulation; whole periods from 0.

        A request that is intended at t waits for a free connection, and is answered after the delay, or after the
        delay from the end of the freeze that it fell into.
        """
        free_at = [0.0] * connections
        heapq.heapify(free_at)
        found = []
        for number in range(int(seconds * rate_per_s)):
            intended = number / rate_per_s
            ready = max(intended, heapq.heappop(free_at)) + self.delay_s
            frozen_from = ready // self.every_s * self.every_s + self.every_s - self.freeze_s
            answered = frozen_from + self.freeze_s if ready >= frozen_from else ready
            heapq.heappush(free_at, answered)
            found.append(answered - intended)
        return sorted(found)


def quantile(values: list[float], share: float) -> float:
    """Of sorted values."""
    return values[min(len(values) - 1, int(share * len(values)))]
