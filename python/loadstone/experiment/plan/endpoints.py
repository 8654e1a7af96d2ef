"""Where the load goes: endpoints, the hash slots of a cluster's nodes, replicas that are read from, Sentinels."""

from collections.abc import Sequence
from itertools import dropwhile, pairwise

from pydantic import Field

from loadstone.experiment.plan.operations import Headers
from loadstone.experiment.spec.part import PlanPart, is_left_out, is_none
from loadstone.text.message import AnyText, said

SLOTS = 16_384
Ranges = Sequence[tuple[int, int]]


class Tls(PlanPart):
    """Settings by which a TLS connection is verified. Without `ca_file` the machine's own roots are used."""

    ca_file: str | None = None
    server_name: str | None = None
    verify: bool = True
    cert_file: str | None = None
    key_file: str | None = None


class Endpoint(PlanPart):
    """Where a server listens: TCP host and port, or a Unix socket; and how to log in.

    `password` is a secret: it reaches the driver and nothing else (no file, no log). So are the values of
    `secret_headers` (HTTP), which go with every request. In HTTP `username` and `password` are sent as basic
    authentication, and `base_path` stands before every path.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=6379, ge=0, le=65535)
    unix_path: str | None = None
    tls: Tls | None = None
    username: str | None = None
    password: str | None = Field(default=None, repr=False)
    database: int = Field(default=0, ge=0, lt=2**31)
    base_path: str = Field(default="", pattern=r"^(/[!-\"$-~]*[!-\"$-.0-~])?$")
    secret_headers: Headers = Field(default={}, repr=False)
    slots: tuple[tuple[int, int], ...] = Field(
        default=(), description="hash slots of a node of a Redis Cluster: ranges of 0 to 16383, both ends included"
    )

    standby: bool = Field(
        default=False, description="takes the place of the primary when Sentinel says so", exclude_if=is_left_out
    )
    sentinel_of: str | None = Field(
        default=None,
        description="it is a Sentinel, and this is the name by which it knows the primary",
        exclude_if=is_left_out,
    )
    replica_of: int | None = Field(
        default=None,
        ge=0,
        description="the number of the endpoint that it is a replica of: it gets what only reads that one's keys",
        exclude_if=is_none,
    )
    writes_only: bool = Field(default=False, description="its replicas get all that only reads", exclude_if=is_left_out)

    @property
    def in_service(self) -> bool:
        """Whether the load goes there from the beginning."""
        return self.sentinel_of is None and (not self.standby or self.replica_of is not None)

    @property
    def label(self) -> str:
        """The address as printed for people; never holds a secret."""
        return self.unix_path or f"{self.host}:{self.port}"


def even_slots(nodes: int) -> list[tuple[tuple[int, int], ...]]:
    """The slots of each node where they are spread evenly: one range each."""
    ends = [SLOTS * number // nodes for number in range(nodes + 1)]
    return [((first, last - 1),) for first, last in pairwise(ends)]


def wrong_in_slots(endpoints: Sequence[Ranges]) -> AnyText | None:
    """What is wrong with the slots of the endpoints; None if nothing is, or if none has any.

    An endpoint without slots among others that have them is a node that slots may move to.
    """
    if not any(endpoints):
        return None
    holder: dict[int, int] = {}
    for number, ranges in enumerate(endpoints):
        for first, last in ranges:
            if not 0 <= first <= last < SLOTS:
                return said(
                    "endpoints.{number}.slots: [{first}, {last}] must be two slots from 0 to {slots}, the smaller "
                    "first",
                    number=number,
                    first=first,
                    last=last,
                    slots=SLOTS - 1,
                )
            for slot in range(first, last + 1):
                if slot in holder:
                    return said(
                        "endpoints.{number}.slots: slot {slot} belongs to endpoints.{holder} too; give it to one",
                        number=number,
                        slot=slot,
                        holder=holder[slot],
                    )
                holder[slot] = number
    missing = next((slot for slot in range(SLOTS) if slot not in holder), None)
    if missing is None:
        return None
    return said("endpoints: no endpoint has slot {missing}; give it to one", missing=missing)


def wrong_in_replicas(endpoints: Sequence[Endpoint], *, of_redis: bool) -> AnyText | None:
    """What is wrong with them; None if nothing is, or if no replica is read from.

    `of_redis`: whether the load is one of Redis, and no recording.
    """
    primaries = {endpoint.replica_of for endpoint in endpoints if endpoint.replica_of is not None}
    for number, endpoint in enumerate(endpoints):
        if endpoint.writes_only and number not in primaries:
            return said(
                "endpoints.{number}.writes_only: it has no replicas that could be read from; set it to false",
                number=number,
            )
        if endpoint.replica_of is None:
            continue
        place = said("endpoints.{number}.replica_of: {replica_of}", number=number, replica_of=endpoint.replica_of)
        if not of_redis:
            return said(
                "{place}: only a Redis whose load is no recording is read from replicas; leave it out", place=place
            )
        primary = endpoints[endpoint.replica_of] if endpoint.replica_of < len(endpoints) else None
        if primary is None or primary.replica_of is not None or not primary.in_service or endpoint.slots:
            return said("{place} must be the number of a primary, and a replica has no slots of its own", place=place)
    return _wrong_in_places(endpoints) if primaries else None


def _wrong_in_places(endpoints: Sequence[Endpoint]) -> AnyText | None:
    """Without slots one primary has all keys; it and its replicas stand before all that get no load."""
    of_a_cluster = any(endpoint.slots for endpoint in endpoints)
    primaries = [number for number, one in enumerate(endpoints) if one.in_service and one.replica_of is None]
    others = dropwhile(lambda one: one.in_service, endpoints)
    if any(one.in_service for one in others) or not (of_a_cluster or primaries == [0]):
        return said("endpoints: replicas stand behind their one primary, and before Sentinels; put them there")
    return None


def wrong_in_sentinels(endpoints: Sequence[Endpoint], *, of_redis: bool) -> AnyText | None:
    """What is wrong with them; None if nothing is, or if all endpoints get load from the beginning."""
    others = [number for number, one in enumerate(endpoints) if one.standby or one.sentinel_of is not None]
    if not others:
        return None
    if not of_redis:
        return said("endpoints.{others}: only a Redis has Sentinels; leave it out", others=others[0])
    for number, endpoint in enumerate(endpoints):
        if endpoint.slots or endpoint.unix_path is not None:
            return said(
                "endpoints.{number}: a server that Sentinel watches has no slots and no Unix socket; leave them out",
                number=number,
            )
    if others != list(range(1, len(endpoints))):
        return said("endpoints: they must begin with the one primary, with Sentinel")
    if all(endpoint.sentinel_of is None for endpoint in endpoints):
        return said("endpoints.{others}: a standby needs a Sentinel that says when it takes over", others=others[0])
    return None
