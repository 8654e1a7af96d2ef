"""Replicas among a plan's endpoints: those that are read from."""

from collections.abc import Sequence
from itertools import dropwhile
from typing import Protocol


class _Endpoint(Protocol):
    @property
    def in_service(self) -> bool: ...
    @property
    def replica_of(self) -> int | None: ...
    @property
    def writes_only(self) -> bool: ...
    @property
    def slots(self) -> tuple[tuple[int, int], ...]: ...


def wrong_in_replicas(endpoints: Sequence[_Endpoint], *, of_redis: bool) -> str | None:
    """What is wrong with them; None if nothing is, or if no replica is read from.

    `of_redis`: whether the load is one of Redis, and no recording.
    """
    primaries = {endpoint.replica_of for endpoint in endpoints if endpoint.replica_of is not None}
    for number, endpoint in enumerate(endpoints):
        if endpoint.writes_only and number not in primaries:
            return f"endpoints.{number}.writes_only: it has no replicas that could be read from; set it to false"
        if endpoint.replica_of is None:
            continue
        place = f"endpoints.{number}.replica_of: {endpoint.replica_of}"
        if not of_redis:
            return f"{place}: only a Redis whose load is no recording is read from replicas; leave it out"
        primary = endpoints[endpoint.replica_of] if endpoint.replica_of < len(endpoints) else None
        if primary is None or primary.replica_of is not None or not primary.in_service or endpoint.slots:
            return f"{place} must be the number of a primary, and a replica has no slots of its own"
    return _wrong_in_places(endpoints) if primaries else None


def _wrong_in_places(endpoints: Sequence[_Endpoint]) -> str | None:
    """Without slots one primary has all keys; it and its replicas stand before all that get no load."""
    of_a_cluster = any(endpoint.slots for endpoint in endpoints)
    primaries = [number for number, one in enumerate(endpoints) if one.in_service and one.replica_of is None]
    others = dropwhile(lambda one: one.in_service, endpoints)
    if any(one.in_service for one in others) or not (of_a_cluster or primaries == [0]):
        return "endpoints: replicas stand behind their one primary, and before Sentinels; put them there"
    return None
