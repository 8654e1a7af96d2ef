"""Sentinels and standbys among a plan's endpoints."""

from collections.abc import Sequence
from typing import Protocol


class _Endpoint(Protocol):
    @property
    def standby(self) -> bool: ...
    @property
    def sentinel_of(self) -> str | None: ...
    @property
    def slots(self) -> tuple[tuple[int, int], ...]: ...
    @property
    def unix_path(self) -> str | None: ...


def wrong_in_sentinels(endpoints: Sequence[_Endpoint], *, of_redis: bool) -> str | None:
    """What is wrong with them; None if nothing is, or if all endpoints get load from the beginning."""
    others = [number for number, one in enumerate(endpoints) if one.standby or one.sentinel_of is not None]
    if not others:
        return None
    if not of_redis:
        return f"endpoints.{others[0]}: only a Redis has Sentinels; leave it out"
    for number, endpoint in enumerate(endpoints):
        if endpoint.slots or endpoint.unix_path is not None:
            return f"endpoints.{number}: a server that Sentinel watches has no slots and no Unix socket; leave them out"
    if others != list(range(1, len(endpoints))):
        return "endpoints: they must begin with the one primary, with Sentinel"
    if all(endpoint.sentinel_of is None for endpoint in endpoints):
        return f"endpoints.{others[0]}: a standby needs a Sentinel that says when it takes over"
    return None
