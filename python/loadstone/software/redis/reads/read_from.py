"""`read_from`: which servers get what only reads, as a URL and an experiment say it."""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args
from urllib.parse import parse_qsl, urlsplit

from loadstone.errors import UserError
from loadstone.plan.endpoints import Endpoint

ReadFrom = Literal["primary", "replica", "any"]
READ_FROM = "read_from"
"""The option of a URL."""
CHOICES: tuple[ReadFrom, ...] = get_args(ReadFrom)


def require_read_from(options: Mapping[str, str], shown: str) -> None:
    """What the option says is one of the choices. Raises UserError."""
    said = options.get(READ_FROM, "primary")
    if said not in CHOICES:
        raise UserError(f"url '{shown}': {READ_FROM} '{said[:40]}' is none of {', '.join(CHOICES)}")


def read_from(url: str) -> ReadFrom:
    """Who is read from at a URL that was checked."""
    said = dict(parse_qsl(urlsplit(url).query)).get(READ_FROM)
    return next((choice for choice in CHOICES if choice == said), "primary")


def with_readers(primaries: Sequence[Endpoint], chosen: ReadFrom) -> tuple[Endpoint, ...]:
    """Endpoints, replicas among them, of which those primaries that have a replica are read from as chosen."""
    followed = {endpoint.replica_of for endpoint in primaries}
    return tuple(
        endpoint.model_copy(update={"writes_only": chosen == "replica" and number in followed})
        for number, endpoint in enumerate(primaries)
    )


def require_as_many(where: str, endpoints: Sequence[Endpoint], first: int | None) -> int:
    """As many replicas are read from as when the run began, which is what this returns. Raises UserError.

    Args:
        first: how many were, None the first time.
    """
    found = sum(endpoint.replica_of is not None for endpoint in endpoints)
    if first is not None and found < first:
        raise UserError(
            f"server {where}: replicas that can be read from: {first} when the run began, {found} by now; what fewer "
            "answer is another load: bring them back, or begin again"
        )
    return found if first is None else first


def require_replicas(where: str, endpoints: Sequence[Endpoint], chosen: ReadFrom) -> None:
    """There is who is to be read from: of `replica` for each primary with keys. Raises UserError."""
    if chosen == "primary":
        return
    followed = {endpoint.replica_of for endpoint in endpoints} - {None}
    of_a_cluster = any(endpoint.slots for endpoint in endpoints)
    holders = [number for number, one in enumerate(endpoints) if one.slots or not (of_a_cluster or number)]
    alone = [endpoints[number].label for number in holders if number not in followed]
    if len(alone) == len(holders) or (alone and chosen == "replica"):
        remedy = "add one, or leave --read-from (read_from) out" if chosen == "any" else "add one, or write any"
        raise UserError(f"server {where}: {alone[0]} has no replica in sync that could be read from; {remedy}")
