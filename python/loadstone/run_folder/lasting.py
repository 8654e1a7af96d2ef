"""Sums up how long the trials of a run took, over all of its sessions."""

import math
from collections.abc import Iterable

from loadstone.run_folder.trial import TrialRecord

SESSION_GAP_S = 180.0
"""A longer pause between two trials is no time of the run: it ended there and was gone on with later. A shorter
one may be the start and the warm-up of an application."""
SET_BACK_S = 60.0
"""A trial that ended by more before one that was recorded earlier shows that the clock was set back between them."""


def lasted_s(trials: Iterable[TrialRecord]) -> float:
    """Seconds that these trials took with the pauses between them, by their own clocks, in the order of their lines.

    Those that took turns lasted together, and count once. What was measured before the clock was set back, and what
    after it, counts each for itself.
    """
    stretches: list[list[tuple[float, float]]] = [[]]
    ended_s = -math.inf
    for trial in trials:
        if trial.ended_unix_s < ended_s - SET_BACK_S:
            stretches.append([])
            ended_s = -math.inf
        stretches[-1].append((trial.started_unix_ns / 1e9, trial.ended_unix_s))
        ended_s = max(ended_s, trial.ended_unix_s)
    return sum(map(_lasted_s, stretches))


def _lasted_s(spans: Iterable[tuple[float, float]]) -> float:
    lasted, until_s = 0.0, -math.inf
    for start_s, end_s in sorted(spans):
        paused = start_s - until_s <= SESSION_GAP_S
        lasted += max(0.0, end_s - until_s) if paused else end_s - start_s
        until_s = max(until_s, end_s)
    return lasted
