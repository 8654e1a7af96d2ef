"""What is known of a run just now: told once (`progress.py`), and read here by the terminal and the file of events."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from loadstone.monitors import catalogue
from loadstone.monitors.metrics.host import PROGRAMS
from loadstone.monitors.monitor import Sample

RECENT_S = 3.0
"""What was observed longer ago is not now."""
PARTS_MAX = 64
CPU, MEMORY, HELD = "cpu_share", "rss_bytes", "stopped"
CONNECTIONS = frozenset(kind.connections for kind in catalogue.PART_KINDS.values() if kind.connections is not None)
SHOWN = {CPU: "cpus", PROGRAMS: "cpus", MEMORY: "rss_bytes", HELD: "held"} | dict.fromkeys(CONNECTIONS, "connections")
"""A monitor's metric -> what it is called where it is shown."""


class LiveParts:
    """The newest figures of each part, from the monitors' threads."""

    def __init__(self) -> None:
        self._newest: dict[str, dict[str, Sample]] = {}

    def add(self, samples: Iterable[Sample]) -> None:
        """What the monitors observed. From any thread."""
        for one in samples:
            if one.metric in SHOWN and (one.part in self._newest or len(self._newest) < PARTS_MAX):
                self._newest.setdefault(one.part, {})[SHOWN[one.metric]] = one

    def now(self) -> dict[str, dict[str, float]]:
        """Part -> what is shown of it, by `SHOWN`, without what was observed a while ago."""
        there = {part: dict(found) for part, found in list(self._newest.items())}
        newest_s = max((one.unix_s for found in there.values() for one in found.values()), default=0.0)
        return {
            part: {name: one.value for name, one in found.items() if newest_s - one.unix_s <= RECENT_S}
            for part, found in there.items()
        }

    def is_held(self, part: str) -> bool:
        """Whether it does not have its turn, as far as it was said: what it used before is not now."""
        held = self._newest.get(part, {}).get(SHOWN[HELD])
        return held is not None and held.value > 0


@dataclass
class LiveState:
    """Where a run is, and what its parts do."""

    place: str = ""
    label: str = ""
    """Label of the trial."""
    decided: tuple[int, int] = (0, 0)
    """Number of comparisons that are decided, and of all."""
    invalid: int = 0
    at_most: bool = False
    """Whether it may well end before what is left."""
    parts: LiveParts = field(default_factory=LiveParts)
    _left: tuple[float, float] | None = None
    """Seconds that were left, and when that was said."""

    def leave(self, seconds: float, at_most: bool, now_s: float) -> None:
        """Set that `seconds` are left from now on; infinite: that is not known."""
        self._left, self.at_most = None if math.isinf(seconds) else (seconds, now_s), at_most

    @property
    def is_left(self) -> bool:
        """Whether it was said that something is left."""
        return self._left is not None and self._left[0] > 0

    def left_s(self, now_s: float) -> float | None:
        """Counted down since it was said; None before."""
        return None if self._left is None else max(0.0, self._left[0] - (now_s - self._left[1]))
