"""Tells how far storing and removing a plan's keys got, where these are so many that it takes a while."""

import time
from collections.abc import Callable

from loadstone.experiment.plan.key_time import LOADED_PER_S, MANY, REMOVED_PER_S
from loadstone.machine.start_context import LastingStep, Step
from loadstone.text.english.announcement import count_text, duration
from loadstone.text.language import _

EVERY_S = 1.0
CLEAN = "loadstone clean"


class KeyProgress:
    """Tells `tell` how many of `count` keys are done, about once a second; nothing of few keys."""

    def __init__(
        self,
        tell: Callable[[str], None],
        count: int,
        per_s: float,
        what: Callable[[str, str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`what` makes the line of a number of keys and of how far they are; `per_s` is what is guessed at first."""
        self._tell, self._count, self._what, self._clock = tell, count, what, clock
        self._began_s = self._told_s = clock()
        self._per_s = per_s

    def begin(self, *, lasting: bool = False) -> None:
        """Say what begins, and how long it is expected to take; `lasting`: where a person waits for its end."""
        if self._count >= MANY:
            self._say(0, LastingStep if lasting else Step)

    def done(self, keys: int) -> None:
        """Tell that this many are done, where the last line is old."""
        now_s = self._clock()
        if self._count >= MANY and now_s - self._told_s >= EVERY_S:
            self._told_s = now_s
            self._per_s = keys / (now_s - self._began_s) or self._per_s
            self._say(keys, Step)

    def _say(self, keys: int, kind: type[Step]) -> None:
        left_s = (self._count - keys) / self._per_s
        told = _("about {left}", left=duration(left_s))
        if keys:
            told = _("{share} % done, about {left} left", share=int(100 * keys / self._count), left=duration(left_s))
        line = self._what(count_text(self._count), told)
        self._tell(kind(line, about=f"{self._what(count_text(self._count), '')}{kind.__name__}"))


def storing(tell: Callable[[str], None], count: int) -> KeyProgress:
    """Progress of the load that stores the keys."""

    def what(keys: str, told: str) -> str:
        return _("storing {keys} keys: {told}", keys=keys, told=told)

    return KeyProgress(tell, count, LOADED_PER_S, what)


def removing(tell: Callable[[str], None], count: int, server: str, ending: Callable[[], bool]) -> KeyProgress:
    """Progress of what removes the keys from a server; `ending`: whether the user waits for it to end the run."""

    def what(keys: str, told: str) -> str:
        line = _("removing {keys} keys from {server}: {told}", keys=keys, server=server, told=told)
        if not ending():
            return line
        return _("{line}; Ctrl-C again leaves them to {command}", line=line, command=CLEAN)

    return KeyProgress(tell, count, REMOVED_PER_S, what)
