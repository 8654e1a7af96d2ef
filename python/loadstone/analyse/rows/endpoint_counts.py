"""What each server got where reads are spread over replicas."""

from collections.abc import Iterable, Sequence

from loadstone.analyse.model import EndpointCounts
from loadstone.record.facts import TrialFacts


def endpoint_counts(drives: Iterable[TrialFacts]) -> list[EndpointCounts]:
    """Of each server that got anything, over these drives; nothing where no replica is read from.

    `drives`: one of each drive's observations.
    """
    found: dict[str, EndpointCounts] = {}
    for facts in drives:
        if facts.drive is None:
            continue
        for name, primary, one in zip(
            names_of(facts.replica_of), facts.replica_of, facts.drive.endpoints, strict=False
        ):
            before = found.get(name) or EndpointCounts(name=name, replica=primary is not None, sent=0, ok=0, stale=0)
            sums = {"sent": before.sent + one.sent, "ok": before.ok + one.ok, "stale": before.stale + one.stale}
            found[name] = before.model_copy(update=sums)
    return [one for one in found.values() if one.sent]


def names_of(replica_of: Sequence[int | None]) -> list[str]:
    """What endpoints are called, in their order."""
    primaries = [number for number, primary in enumerate(replica_of) if primary is None]
    replicas = [number for number, primary in enumerate(replica_of) if primary is not None]
    several = len({replica_of[number] for number in replicas}) > 1 or _is_cluster(replica_of)
    names = {number: f"primary {place}" if several else "primary" for place, number in enumerate(primaries, start=1)}
    names |= {number: f"replica {place}" for place, number in enumerate(replicas, start=1)}
    return [names[number] for number in range(len(replica_of))]


def _is_cluster(replica_of: Sequence[int | None]) -> bool:
    """Its first two endpoints are primaries; else what is no replica gets nothing but the first."""
    return len(replica_of) > 1 and replica_of[1] is None
