"""Offsets of clocks: the truth lies within the bound, whatever way a message takes."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from loadstone.addons.fleet import clocks
from loadstone.addons.fleet.clocks import ClockMeasurement, ClocksOfMembers, disagreement_ns, measure_clock_offset
from loadstone.addons.fleet.cluster_seam import AgentLost, ClockOffset, Cluster, Member

T = TypeVar("T")
MEMBER = Member("agent-1", "tls://127.0.0.1:1", "agent", "here")


@dataclass
class TwoClocks:
    """A machine's clock and a member's, and the ways between them, which take as long as `way_ns` says."""

    way_ns: Callable[[], int]
    ahead_ns: int
    now_ns: int = 10**12
    drift: float = 0.0
    lost_why: str = ""
    calls: int = field(default=0)

    @property
    def members(self) -> tuple[Member, ...]:
        return (MEMBER,)

    def read(self) -> int:
        return self.now_ns

    def truth_ns(self) -> int:
        return self.ahead_ns + round((self.now_ns - 10**12) * self.drift)

    def call(self, member: Member, function: Callable[..., T], *args: object, timeout_s: float) -> T:
        assert (member, function, args) == (MEMBER, clocks.read_clock, ())
        assert timeout_s > 0
        if self.lost_why:
            raise AgentLost(member.name, self.lost_why)
        self.calls += 1
        self.now_ns += self.way_ns()
        theirs: Any = self.now_ns + self.truth_ns()
        self.now_ns += self.way_ns()
        return theirs  # type: ignore[no-any-return]

    def send(self, *_: object) -> None:
        raise AssertionError

    def listen(self, *_: object) -> None:
        raise AssertionError

    def lost(self) -> Mapping[str, str]:
        return {}

    def close(self) -> None:
        pass


@pytest.mark.parametrize("seed", range(20))
def test_the_truth_lies_within_the_bound(seed: int) -> None:
    """Ways there and back of quite different lengths, and clocks that drift as fast as they may."""
    draw = random.Random(seed)
    for _ in range(20):
        slow = draw.choice([1, 1000, 10**6])
        cluster = TwoClocks(
            lambda slow=slow: draw.randrange(1, 5 * 10**6) if draw.random() < 0.5 else draw.randrange(1, 50) * slow,  # type: ignore[misc]
            draw.randrange(-(10**15), 10**15),
            drift=draw.choice([-1, 0, 1]) * 2 * clocks.DRIFT,
        )
        measured = measure_clock_offset(cluster, MEMBER, exchanges=10, clock=cluster.read)
        # Between the exchange and now the clocks drifted; the bound for now knows it.
        offset = measured.at(cluster.now_ns)
        assert abs(offset.offset_ns - cluster.truth_ns()) <= offset.bound_ns + measured.round_trip_ns * 2 * clocks.DRIFT


def test_the_exchange_with_the_least_round_trip_counts() -> None:
    ways = iter([900, 100, 10, 12, 5000, 1])
    cluster = TwoClocks(lambda: next(ways), 10**9)
    measured = measure_clock_offset(cluster, MEMBER, exchanges=3, clock=cluster.read)
    assert measured.round_trip_ns == 22
    assert measured.offset == ClockOffset(10**9 - 1, 12)
    assert cluster.calls == 3


def test_a_bound_grows_with_its_age() -> None:
    measured = ClockMeasurement(0, ClockOffset(7, 100), 200)
    assert measured.at(10**10) == ClockOffset(7, 100 + 10**7)
    assert measured.at(-(10**10)) == measured.at(10**10)


def test_a_clock_that_was_set_contradicts_itself() -> None:
    earlier = ClockMeasurement(0, ClockOffset(0, 10**6), 2 * 10**6)
    drifted = ClockMeasurement(10**10, ClockOffset(11 * 10**6, 10**6), 2 * 10**6)
    assert disagreement_ns(earlier, drifted) == 0
    stepped = ClockMeasurement(10**10, ClockOffset(10**9, 10**6), 2 * 10**6)
    assert disagreement_ns(earlier, stepped) == 10**9 - 12 * 10**6


def test_the_best_known_offset_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10**12]
    monkeypatch.setattr(clocks.time, "monotonic_ns", lambda: now[0])
    offsets = iter([ClockOffset(5, 10), ClockOffset(6, 1000)])
    monkeypatch.setattr(clocks, "measure_clock_offset", lambda *_: ClockMeasurement(now[0], next(offsets), 0))
    cluster: Cluster = TwoClocks(lambda: 1, 0)
    them = ClocksOfMembers(cluster, again_s=3600)
    them.measure([MEMBER])
    now[0] += 1000
    them.measure([MEMBER])
    assert them.offset(MEMBER) == ClockOffset(5, 11)
    now[0] += 10**9
    assert them.offset(MEMBER).bound_ns > 10**6
    assert len(them.history(MEMBER)) == 2
    assert them.moved_ns(MEMBER) == 0


def test_what_was_measured_before_a_clock_moved_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a suspended machine, or of another one under its name."""
    offsets = iter([ClockOffset(5, 10), ClockOffset(10**9, 10**6), ClockOffset(10**9, 10**6)])
    monkeypatch.setattr(clocks, "measure_clock_offset", lambda *_: ClockMeasurement(10**12, next(offsets), 0))
    monkeypatch.setattr(clocks.time, "monotonic_ns", lambda: 10**12)
    cluster: Cluster = TwoClocks(lambda: 1, 0)
    them = ClocksOfMembers(cluster, again_s=3600)
    for _ in range(3):
        them.measure([MEMBER])
    assert them.offset(MEMBER) == ClockOffset(10**9, 10**6)
    assert them.moved_ns(MEMBER) == 10**9 - 5 - 10 - 10**6
    assert them.moved_ns(MEMBER) == 0, "it was told"


def test_a_clock_that_was_never_compared_is_not_guessed() -> None:
    cluster: Cluster = TwoClocks(lambda: 1, 0)
    with pytest.raises(AgentLost, match="agent agent-1: its clock was never compared"):
        ClocksOfMembers(cluster).offset(MEMBER)


def test_one_that_is_lost_is_named_and_measured_no_more() -> None:
    cluster = TwoClocks(lambda: 1, 0)
    them = ClocksOfMembers(cluster, again_s=3600)
    them.measure([MEMBER])
    cluster.lost_why = "its link is down"
    with pytest.raises(AgentLost, match="its link is down"):
        them.measure([MEMBER])
    them.again()
    assert len(them.history(MEMBER)) == 1
