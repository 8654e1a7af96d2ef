"""What stands behind the seams of a run for one day: time, a moment for each call of the run, and what breaks then."""

import random
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


class Killed(BaseException):
    """The process is no more: whatever it still tries does nothing, and raises this again."""


@dataclass
class World:
    """Everything around the runs of one day. Each call of a run through a seam is a moment, at which faults come."""

    rng: random.Random
    tell: Callable[[str], None] = lambda _: None
    """Takes the log of events."""
    monotonic: float = 1000.0
    """Seconds; stands still while the machine sleeps."""
    wall: float = 1_800_000_000.0
    """The steady time since 1970 of this process, in seconds."""
    drift: float = 0.0
    """Seconds that the wall clock gains in each."""
    dead: bool = False
    due: dict[tuple[str, int], Callable[[], None]] = field(default_factory=dict)
    """What happens at which moment of a kind in this session."""
    moments: Counter[str] = field(default_factory=Counter)
    """How many of each kind there were in this session."""
    happened: Counter[str] = field(default_factory=Counter)
    """The faults of the day that came."""

    def moment(self, kind: str, what: str, inside: Callable[[], None] = lambda: None) -> None:
        """The run calls through a seam. `inside`: half of what it does, which is all if it is killed within.

        Raises:
            Killed: the process is dead, or dies now.
            KeyboardInterrupt: the user asks a second time to stop.
        """
        if self.dead:
            raise Killed
        at = (kind, self.moments[kind])
        self.moments[kind] += 1
        self.tell(f"{kind} {at[1]}: {what}")
        if (fault := self.due.pop(at, None)) is not None:
            fault()
            if self.dead:
                if self.rng.random() < 0.5:
                    inside()
                raise Killed

    def passes(self, seconds: float) -> None:
        """Time goes by."""
        self.monotonic += seconds
        self.wall += seconds * (1 + self.drift)

    def monotonic_s(self) -> float:
        """Each look at a clock takes some time, so no two are alike."""
        self.passes(1e-6)
        return self.monotonic

    def unix_ns(self) -> int:
        self.passes(1e-6)
        return int(self.wall * 1e9)

    def note(self, fault: str) -> None:
        """A fault came."""
        self.happened[fault] += 1
        self.tell(f"*** {fault}")

    def kill(self) -> None:
        self.note("killed")
        self.dead = True

    def ask_to_stop(self, number: signal.Signals, times: int = 1) -> None:
        """As Ctrl-C does, or `kill`; the second time some moments later."""
        self.note(f"{number.name}{' again' if times == 0 else ''}")
        if times == 2:
            kind = self.rng.choice(("disk", "server", "drive"))
            later = (kind, self.moments[kind] + self.rng.randrange(12))
            self.due[later] = lambda: self.ask_to_stop(number, 0)
        signal.raise_signal(number)

    def sleep(self) -> None:
        """The machine sleeps: the time goes on, and the clock of the budget does not."""
        self.note("machine slept")
        self.wall += self.rng.uniform(60, 20_000)
