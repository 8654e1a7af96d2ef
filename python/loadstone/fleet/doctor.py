"""What one machine of a fleet can do: a row for each of its own facts, how far it is, and its clock."""

import statistics
import time
from collections.abc import Mapping

from loadstone.deploy.installed import Fact
from loadstone.fleet.clocks import EXCHANGES, disagreement_ns, measure
from loadstone.fleet.seam import Cluster, Member

FACTS_S = 60.0
TRIP_MS = 50.0
"""A longer way makes a display late, and an instant of beginning uncertain."""
BOUND_MS = 5.0
SENT_BYTES = 2_000_000
SLOW_MB_PER_S = 1.0
"""A second of an agent's figures takes some kB."""
PAUSE_S = 1.0
"""Between two measurements of a clock that are to agree."""


def facts_here() -> list[dict[str, str]]:
    """On a member: what `loadstone doctor` finds of its machine."""
    from loadstone.deploy import doctor  # only here: what it examines takes time to load

    return [
        {"name": fact.name, "value": fact.value, "verdict": fact.verdict, "remedy": fact.remedy}
        for fact in doctor.machine_facts()
    ]


def answer_nothing(_: str) -> bool:
    """On a member: takes what was sent."""
    return True


def examined(cluster: Cluster, member: Member, root: bool = False) -> list[Fact]:
    """Facts of a member's machine, its link and its clock. Raises AgentLost and AgentFailed."""
    return [
        *map(_fact, cluster.call(member, facts_here, timeout_s=FACTS_S)),
        *_link(cluster, member),
        _clock(cluster, member),
        _user(root=root),
    ]


def _fact(said: Mapping[str, str]) -> Fact:
    return Fact(said["name"], said["value"], "ok" if said["verdict"] == "ok" else "warn", said["remedy"])


def _link(cluster: Cluster, member: Member) -> list[Fact]:
    trips = []
    for _ in range(EXCHANGES):
        begin = time.monotonic()
        cluster.call(member, answer_nothing, "", timeout_s=FACTS_S)
        trips.append(1e3 * (time.monotonic() - begin))
    middle = statistics.median(trips)
    value = f"{middle:.1f} ms, {min(trips):.1f} to {max(trips):.1f} of {len(trips)}"
    remedy = f"above {TRIP_MS:g} ms: run the command nearer to its agents"
    begin = time.monotonic()
    cluster.call(member, answer_nothing, "x" * SENT_BYTES, timeout_s=FACTS_S)
    speed = SENT_BYTES / 1e6 / max(time.monotonic() - begin - middle / 1e3, 1e-6)
    return [
        Fact("round trip", value, "ok") if middle <= TRIP_MS else Fact("round trip", value, "warn", remedy),
        Fact("bandwidth to it", f"{speed:.0f} MB/s", "ok")
        if speed >= SLOW_MB_PER_S
        else Fact("bandwidth to it", f"{speed:.2f} MB/s", "warn", "its figures of a second may come late"),
    ]


def _clock(cluster: Cluster, member: Member) -> Fact:
    earlier = measure(cluster, member)
    time.sleep(PAUSE_S)
    later = measure(cluster, member)
    bound_ms = later.offset.bound_ns / 1e6
    value = f"beginnings known to ± {bound_ms:.2f} ms"
    if disagreement_ns(earlier, later):
        moved = (later.offset.offset_ns - earlier.offset.offset_ns) / 1e6
        return Fact(
            "clock", f"moved by {moved:.2f} ms in {PAUSE_S:g} s", "warn", "its monotonic clock cannot be trusted"
        )
    if bound_ms > BOUND_MS:
        return Fact("clock", value, "warn", f"above {BOUND_MS:g} ms: a nearer command knows it better")
    return Fact("clock", value, "ok")


def _user(*, root: bool) -> Fact:
    if not root:
        return Fact("user", "an ordinary one", "ok")
    return Fact("user", "root", "warn", "run it as an ordinary user: what it is told to do has its user's rights")
