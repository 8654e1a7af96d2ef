"""The replicas of a primary of the user's, as the primary itself announces them."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from loadstone.bounds.replies import read_as, shortened
from loadstone.deploy.users_parts import PING_TIMEOUT_S
from loadstone.errors import ServerGone, UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.software.redis.cluster.announced import ANYWHERE, Address, Allowed, require_address, require_plausible
from loadstone.software.redis.probe import probe
from loadstone.software.redis.requirements import explain
from loadstone.software.redis.session import RedisSession

IN_SYNC = frozenset({"online", "stable_sync"})
"""What a primary says of a replica that has its data: Redis and its relatives, Dragonfly."""
REPLICAS_MAX = 64
_REPLICA = re.compile(r"slave[0-9]+")


def replicas_of(
    primary: Endpoint, known: Collection[Endpoint] = (), allowed: Allowed = ANYWHERE
) -> tuple[Endpoint, ...]:
    """Those in sync, with the primary's login and TLS; each was reached, and follows this primary.

    Args:
        primary: of the user's.
        known: those of when the run began, where it has begun: no other one is connected to.
        allowed: the hosts that it may announce.

    Raises:
        UserError: it is no primary, or one of them cannot be reached; one line with the remedy.
    """
    said = replication(primary)
    if said.get("role") != "master":
        at = f"{said.get('master_host')}:{said.get('master_port')}"
        raise UserError(
            f"server {primary.label}: it is a replica; give the address of its primary, {shortened(at, 80)}"
        )
    with read_as(primary.label, "INFO replication", "its replicas"):
        announced = [_address(value) for name, value in said.items() if _REPLICA.fullmatch(name) and _in_sync(value)]
    if len(announced) > REPLICAS_MAX:
        raise UserError(
            f"server {primary.label}: it announces {len(announced):,} replicas; at most {REPLICAS_MAX} are read from"
        )
    found = []
    for host, port in dict.fromkeys(announced):
        if known and (host, port) not in {(one.host, one.port) for one in known}:
            continue
        require_plausible(primary, host, port, "a replica", "replica-announce-ip", allowed)
        replica = primary.model_copy(update={"host": host, "port": port, "replica_of": 0})
        require_following(primary, replica, said.get("master_replid"))
        found.append(replica)
    return tuple(found)


def require_following(primary: Endpoint, replica: Endpoint, data_set: object) -> None:
    """A replica answers at its address, and has the data of this primary. Raises UserError."""
    announced = f"server {primary.label}: it announces a replica at {replica.label}"
    remedy = "every replica must be reached from here: run loadstone where they are, or set replica-announce-ip there"
    try:
        probe(replica)
        said = replication(replica)
    except UserError as error:
        raise UserError(f"{announced}, which cannot be used ({error}); {remedy}") from None
    if said.get("role") == "master" or said.get("master_replid", data_set) != data_set:
        raise UserError(f"{announced}, and another one answers there; {remedy}")


def follows(replica: Endpoint) -> bool:
    """Whether a replica answers, and is connected to its primary."""
    try:
        with RedisSession(replica, PING_TIMEOUT_S) as session:
            return session.info("replication").get("master_link_status") == "up"
    except ServerGone:
        return False


def replication(endpoint: Endpoint) -> Mapping[str, Any]:
    """What a server says of its replication. Raises UserError."""
    with RedisSession(endpoint) as session:
        try:
            return session.info("replication")
        except ServerGone as gone:
            raise UserError(explain(session, gone)) from None


def _in_sync(value: Mapping[str, Any]) -> bool:
    return value["state"] in IN_SYNC


def _address(value: Mapping[str, Any]) -> Address:
    found = str(value["ip"]), int(value["port"])
    require_address(*found)
    return found
