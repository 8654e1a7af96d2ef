"""What one machine of a fleet can do: a row for each of its own facts, how far it is, and its clock."""

import statistics
import time
from collections.abc import Mapping

from loadstone.addons.fleet.clocks import EXCHANGES, disagreement_ns, measure_clock_offset
from loadstone.addons.fleet.cluster_seam import Cluster, Member
from loadstone.machine.installed_programs import Fact
from loadstone.text.language import translatable
from loadstone.text.message import AnyText, said

FACTS_S = 60.0
TRIP_MS = 50.0
"""A longer way makes a display late, and an instant of beginning uncertain."""
BOUND_MS = 5.0
SENT_BYTES = 2_000_000
SLOW_MB_PER_S = 1.0
"""A second of an agent's figures takes some kB."""
PAUSE_S = 1.0
"""Between two measurements of a clock that are to agree."""


def facts_here() -> list[dict[str, AnyText]]:
    """On a member: what `loadstone doctor` finds of its machine."""
    from loadstone.run import doctor  # only here: what it examines takes time to load

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


def _fact(said: Mapping[str, AnyText]) -> Fact:
    return Fact(str(said["name"]), said["value"], "ok" if said["verdict"] == "ok" else "warn", said["remedy"])


def _link(cluster: Cluster, member: Member) -> list[Fact]:
    trips = []
    for _ in range(EXCHANGES):
        begin = time.monotonic()
        cluster.call(member, answer_nothing, "", timeout_s=FACTS_S)
        trips.append(1e3 * (time.monotonic() - begin))
    middle = statistics.median(trips)
    value = said(
        "{middle:.1f} ms, {least:.1f} to {most:.1f} of {n}",
        middle=middle,
        least=min(trips),
        most=max(trips),
        n=len(trips),
    )
    remedy = said("above {limit_ms:g} ms: run the command nearer to its agents", limit_ms=TRIP_MS)
    begin = time.monotonic()
    cluster.call(member, answer_nothing, "x" * SENT_BYTES, timeout_s=FACTS_S)
    speed = SENT_BYTES / 1e6 / max(time.monotonic() - begin - middle / 1e3, 1e-6)
    return [
        Fact(translatable("round trip"), value, "ok")
        if middle <= TRIP_MS
        else Fact(translatable("round trip"), value, "warn", remedy),
        Fact(translatable("bandwidth to it"), f"{speed:.0f} MB/s", "ok")
        if speed >= SLOW_MB_PER_S
        else Fact(
            translatable("bandwidth to it"), f"{speed:.2f} MB/s", "warn", said("its figures of a second may come late")
        ),
    ]


def _clock(cluster: Cluster, member: Member) -> Fact:
    earlier = measure_clock_offset(cluster, member)
    time.sleep(PAUSE_S)
    later = measure_clock_offset(cluster, member)
    bound_ms = later.offset.bound_ns / 1e6
    value = said("beginnings known to ± {bound_ms:.2f} ms", bound_ms=bound_ms)
    if disagreement_ns(earlier, later):
        moved = (later.offset.offset_ns - earlier.offset.offset_ns) / 1e6
        return Fact(
            translatable("clock"),
            said("moved by {moved:.2f} ms in {seconds:g} s", moved=moved, seconds=PAUSE_S),
            "warn",
            said("its monotonic clock cannot be trusted"),
        )
    if bound_ms > BOUND_MS:
        return Fact(
            translatable("clock"),
            value,
            "warn",
            said("above {limit_ms:g} ms: a nearer command knows it better", limit_ms=BOUND_MS),
        )
    return Fact(translatable("clock"), value, "ok")


def _user(*, root: bool) -> Fact:
    if not root:
        return Fact(translatable("user"), said("an ordinary one"), "ok")
    return Fact(
        translatable("user"),
        said("root"),
        "warn",
        said("run it as an unprivileged user, because everything it starts has its user's rights"),
    )
