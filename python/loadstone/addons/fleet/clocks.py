"""Measures how far each member's CLOCK_MONOTONIC is from this machine's; the wall clock has no say.

Many exchanges are made, and the one with the least round trip counts: a member read its clock somewhere between the
question and the answer, so the offset is that reading less the middle, wrong by half of the round trip at most. Two
clocks drift apart meanwhile, by what NTP may slew them (`DRIFT`); the bound grows by it with an offset's age.

A clock may do otherwise: its machine was suspended, it is slewed faster, or the name is another machine's by now. Then
two measurements contradict each other: the earlier ones are forgotten, and the trial does not count (`moved_ns`).
"""

import contextlib
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from loadstone.addons.fleet.cluster_seam import (
    NO_MESSAGE,
    TICKS_END,
    AgentFailed,
    AgentLost,
    ClockOffset,
    Cluster,
    Member,
)
from loadstone.text.message import said

EXCHANGES = 30
AGAIN_S = 10.0
EXCHANGE_S = 2.0
"""How long one exchange may take."""
CALLERS = 4
"""Members that are measured at once: more would lengthen each other's round trips."""
KEPT = 100
DRIFT = 500e-6
"""A kernel's clock is slewed by at most 500 parts in a million; of two, each against the other by twice as much."""


def read_clock() -> int:
    """On a member: its CLOCK_MONOTONIC, ns."""
    return time.monotonic_ns()


@dataclass(frozen=True)
class ClockMeasurement:
    """One measurement of an offset."""

    at_ns: int
    """When, on this machine's CLOCK_MONOTONIC."""
    offset: ClockOffset
    """As it was then."""
    round_trip_ns: int

    def at(self, now_ns: int) -> ClockOffset:
        """The offset at another time, with a bound that holds then."""
        drift_ns = round(abs(now_ns - self.at_ns) * 2 * DRIFT)
        return ClockOffset(self.offset.offset_ns, self.offset.bound_ns + drift_ns)


def measure_clock_offset(
    cluster: Cluster, member: Member, exchanges: int = EXCHANGES, clock: Callable[[], int] = time.monotonic_ns
) -> ClockMeasurement:
    """Its offset now. Takes a few ms an exchange. Raises AgentLost and AgentFailed."""
    best: ClockMeasurement | None = None
    for _ in range(exchanges):
        asked = clock()
        theirs: object = cluster.call(member, read_clock, timeout_s=EXCHANGE_S)
        answered = clock()
        if not isinstance(theirs, int) or abs(theirs) >= TICKS_END:
            raise AgentFailed(member.name, NO_MESSAGE)
        trip = answered - asked
        if best is None or trip < best.round_trip_ns:
            middle = (asked + answered) // 2
            best = ClockMeasurement(middle, ClockOffset(theirs - middle, (trip + 1) // 2 + 1), trip)
    assert best is not None, "exchanges must be 1 or more"
    return best


def disagreement_ns(earlier: ClockMeasurement, later: ClockMeasurement) -> int:
    """Return the nanoseconds by which two measurements contradict each other beyond their bounds and the drift allowed;
    0: not at all.

    More than 0 means that a clock was set, or that the member is another machine.
    """
    allowed = earlier.at(later.at_ns).bound_ns + later.offset.bound_ns
    return max(0, abs(later.offset.offset_ns - earlier.offset.offset_ns) - allowed)


class ClocksOfMembers:
    """The offsets of a cluster's members: measured when asked, and again every 10 s from then on while it is used."""

    def __init__(self, cluster: Cluster, again_s: float = AGAIN_S) -> None:
        self._cluster = cluster
        self._again_s = again_s
        self._lock = threading.Lock()
        self._measured: dict[str, deque[ClockMeasurement]] = {}
        self._moved: dict[str, int] = {}
        self._members: tuple[Member, ...] = ()
        self._thread: threading.Thread | None = None

    def measure(self, members: Sequence[Member]) -> None:
        """Measure these now, as before a beginning and at an end. Raises AgentLost and AgentFailed."""
        with ThreadPoolExecutor(CALLERS, "fleet-clocks") as pool:
            found = list(pool.map(lambda member: measure_clock_offset(self._cluster, member), members))
        for member, measured in zip(members, found, strict=True):
            self._add(member, measured)
        with self._lock:
            self._members = tuple(members)
            if self._thread is None:
                again = (weakref.ref(self), self._again_s)
                self._thread = threading.Thread(target=_again, args=again, name="fleet-clocks", daemon=True)
                self._thread.start()

    def offset(self, member: Member, at_ns: int | None = None) -> ClockOffset:
        """The offset that is known best for a time of this machine's CLOCK_MONOTONIC; None: now.

        Raises AgentLost for a member whose clock was never measured.
        """
        at = time.monotonic_ns() if at_ns is None else at_ns
        with self._lock:
            known = [measured.at(at) for measured in self._measured.get(member.name, ())]
        if not known:
            raise AgentLost(member.name, said("its clock was never compared"))
        return min(known, key=lambda offset: offset.bound_ns)

    def history(self, member: Member) -> tuple[ClockMeasurement, ...]:
        """The newest measurements of a member, the newest last."""
        with self._lock:
            return tuple(self._measured.get(member.name, ()))

    def moved_ns(self, member: Member) -> int:
        """Return the nanoseconds by which its measurements contradicted each other since the last call; 0: not at
        all."""
        with self._lock:
            return self._moved.pop(member.name, 0)

    def again(self) -> None:
        """Measure all of the last time once more. One that is lost is left out: its driver notices by itself."""
        with self._lock:
            members = self._members
        with ThreadPoolExecutor(CALLERS, "fleet-clocks") as pool:
            list(pool.map(self._again, members))

    def _again(self, member: Member) -> None:
        with contextlib.suppress(AgentLost, AgentFailed):
            self._add(member, measure_clock_offset(self._cluster, member, EXCHANGES // 3))

    def _add(self, member: Member, measured: ClockMeasurement) -> None:
        with self._lock:
            known = self._measured.setdefault(member.name, deque(maxlen=KEPT))
            moved_ns = disagreement_ns(known[-1], measured) if known else 0
            if moved_ns:
                known.clear()
                self._moved[member.name] = max(moved_ns, self._moved.get(member.name, 0))
            known.append(measured)


def _again(clocks: "weakref.ref[ClocksOfMembers]", again_s: float) -> None:
    """As long as someone has them."""
    while True:
        time.sleep(again_s)
        of_members = clocks()
        if of_members is None:
            return
        of_members.again()
        del of_members
