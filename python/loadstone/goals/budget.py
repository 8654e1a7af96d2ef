"""How long a run has lasted, and what is left of the time that it may take."""

import math
import time
from collections.abc import Callable, Iterable

from loadstone.goals.passes import ended_unix_s
from loadstone.record.trial import TrialRecord

SESSION_GAP_S = 180.0
"""A longer pause between two trials is no time of the run: it ended there and was gone on with later. A shorter
one may be the start and the warm-up of an application."""


class Budget:
    """The clock of a run, from its command to its report. Earlier sessions of a resumed run count."""

    def __init__(
        self,
        budget_s: float,
        earlier: Iterable[TrialRecord] = (),
        clock: Callable[[], float] = time.monotonic,
        *,
        began_s: float | None = None,
    ) -> None:
        """`budget_s` is for all sessions together; 0: there is no end. `earlier` are their trials, every attempt.

        `began_s`: when the command began, by `clock`; None: now.
        """
        self.budget_s = budget_s
        self._clock = clock
        self._began_s = clock() if began_s is None else began_s
        self._ending_s = 0.0
        self._earlier_s = lasted_s(earlier)

    def keep(self, ending_s: float) -> None:
        """So many seconds are kept from now on for what comes after the trials."""
        self._ending_s = ending_s

    def elapsed_s(self) -> float:
        """Seconds since the run began, all sessions together."""
        return self._earlier_s + self._clock() - self._began_s

    def left_s(self) -> float:
        """Seconds that are left for trials, 0 at least; infinite without a budget."""
        return max(0.0, self.budget_s - self._ending_s - self.elapsed_s()) if self.budget_s > 0 else math.inf

    def share_left(self) -> float:
        """The same as a share of the whole budget; 1 without one."""
        return self.left_s() / self.budget_s if self.budget_s > 0 else 1.0


def lasted_s(trials: Iterable[TrialRecord]) -> float:
    """What these trials took with the pauses between them, in seconds, by their own clocks.

    Those that took turns lasted together, and count once.
    """
    lasted, until_s = 0.0, -math.inf
    for start_s, end_s in sorted((trial.started_unix_ns / 1e9, ended_unix_s(trial)) for trial in trials):
        paused = start_s - until_s <= SESSION_GAP_S
        lasted += max(0.0, end_s - until_s) if paused else end_s - start_s
        until_s = max(until_s, end_s)
    return lasted
