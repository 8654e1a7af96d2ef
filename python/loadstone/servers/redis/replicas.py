"""Replicas that are read from: which servers get reads, who follows a primary, and what replicas counted of the load.

A replica counts the writes that its primary passes on as well; those are the primary's.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from loadstone.experiment.plan.endpoints import Endpoint
from loadstone.safety.bounds.replies import read_as, shortened
from loadstone.safety.errors import ServerGone, UserError
from loadstone.servers.redis.commands.info import ServerCommands, only_reads
from loadstone.servers.redis.monitor import CommandStat, RedisSnapshot, command_stats
from loadstone.servers.redis.probe import probe
from loadstone.servers.redis.redirect_targets import (
    ANYWHERE,
    AllowedHosts,
    NodeAddress,
    require_address,
    require_plausible,
)
from loadstone.servers.redis.requirements import explain
from loadstone.servers.redis.session import RedisSession
from loadstone.servers.users_server import PING_TIMEOUT_S
from loadstone.text.message import said

ReadFrom = Literal["primary", "replica", "any"]
CHOICES: tuple[ReadFrom, ...] = get_args(ReadFrom)
OF_READS = ("keyspace_hits", "keyspace_misses")
"""Figures that only reads change."""
BETWEEN = "+"
IN_SYNC = frozenset({"online", "stable_sync"})
"""What a primary says of a replica that has its data: Redis and its relatives, Dragonfly."""
REPLICAS_MAX = 64
_REPLICA = re.compile(r"slave[0-9]+")


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
    count = sum(endpoint.replica_of is not None for endpoint in endpoints)
    if first is not None and count < first:
        raise UserError(
            "server {where}: replicas that can be read from: {first} when the run began, {count} by now; "
            "what fewer answer is another load: bring them back, or begin again",
            where=where,
            first=first,
            count=count,
        )
    return count if first is None else first


def require_replicas(where: str, endpoints: Sequence[Endpoint], chosen: ReadFrom) -> None:
    """There is who is to be read from: of `replica` for each primary with keys. Raises UserError."""
    if chosen == "primary":
        return
    followed = {endpoint.replica_of for endpoint in endpoints} - {None}
    of_a_cluster = any(endpoint.slots for endpoint in endpoints)
    holders = [number for number, node in enumerate(endpoints) if node.slots or not (of_a_cluster or number)]
    alone = [endpoints[number].label for number in holders if number not in followed]
    if len(alone) == len(holders) or (alone and chosen == "replica"):
        remedy = "add one, or leave --read-from (read_from) out" if chosen == "any" else "add one, or write any"
        raise UserError(
            "server {where}: {alone} has no replica in sync that could be read from; {remedy}",
            where=where,
            alone=alone[0],
            remedy=remedy,
        )


def replicas_of(
    primary: Endpoint, known: Collection[Endpoint] = (), allowed: AllowedHosts = ANYWHERE
) -> tuple[Endpoint, ...]:
    """Those in sync, with the primary's login and TLS; each was reached, and follows this primary.

    Args:
        primary: of the user's.
        known: those of when the run began, where it has begun: no other one is connected to.
        allowed: the hosts that it may announce.

    Raises:
        UserError: it is no primary, or one of them cannot be reached; one line with the remedy.
    """
    reported = replication(primary)
    if reported.get("role") != "master":
        at = f"{reported.get('master_host')}:{reported.get('master_port')}"
        raise UserError(
            "server {primary_label}: it is a replica; give the address of its primary, {at}",
            primary_label=primary.label,
            at=shortened(at, 80),
        )
    with read_as(primary.label, "INFO replication", said("its replicas")):
        announced = [
            _address(value) for name, value in reported.items() if _REPLICA.fullmatch(name) and _in_sync(value)
        ]
    if len(announced) > REPLICAS_MAX:
        raise UserError(
            "server {primary_label}: it announces {announced_count:,} replicas; at most {replicas_max} are read from",
            primary_label=primary.label,
            announced_count=len(announced),
            replicas_max=REPLICAS_MAX,
        )
    replicas = []
    for host, port in dict.fromkeys(announced):
        if known and (host, port) not in {(replica.host, replica.port) for replica in known}:
            continue
        require_plausible(primary, host, port, "a replica", "replica-announce-ip", allowed)
        replica = primary.model_copy(update={"host": host, "port": port, "replica_of": 0})
        require_following(primary, replica, reported.get("master_replid"))
        replicas.append(replica)
    return tuple(replicas)


def require_following(primary: Endpoint, replica: Endpoint, data_set: object) -> None:
    """A replica answers at its address, and has the data of this primary. Raises UserError."""
    announced = f"server {primary.label}: it announces a replica at {replica.label}"
    remedy = "every replica must be reached from here: run loadstone where they are, or set replica-announce-ip there"
    try:
        probe(replica)
        reported = replication(replica)
    except UserError as error:
        raise UserError(
            "{announced}, which cannot be used ({error}); {remedy}", announced=announced, error=error, remedy=remedy
        ) from None
    if reported.get("role") == "master" or reported.get("master_replid", data_set) != data_set:
        raise UserError("{announced}, and another one answers there; {remedy}", announced=announced, remedy=remedy)


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
            raise UserError.of(explain(session, gone)) from None


def _in_sync(value: Mapping[str, Any]) -> bool:
    return value["state"] in IN_SYNC


def _address(value: Mapping[str, Any]) -> NodeAddress:
    address = str(value["ip"]), int(value["port"])
    require_address(*address)
    return address


class ReplicaReads:
    """The reads of the replicas that the load reads from."""

    def __init__(self, endpoints: Sequence[Endpoint], timeout_s: float) -> None:
        self._sessions = [RedisSession(endpoint, timeout_s) for endpoint in endpoints]
        self._commands = {session: ServerCommands(session) for session in self._sessions}

    def close(self) -> None:
        """Close the connections. May be called more than once."""
        for session in self._sessions:
            session.close()

    def added_to(self, snapshot: RedisSnapshot) -> RedisSnapshot:
        """The snapshot of the primaries with them. Raises ServerGone: one does not answer."""
        for session in self._sessions:
            info = session.info("all")
            snapshot = replace(
                snapshot,
                run_id=f"{snapshot.run_id}{BETWEEN}{info.get('run_id', '')}",
                commands=_together(snapshot.commands, self._reads(session, info)),
                figures={**snapshot.figures, **_sums(snapshot.figures, info)},
            )
        return snapshot

    def _reads(self, session: RedisSession, info: Mapping[str, Any]) -> dict[str, CommandStat]:
        commands = self._commands[session]
        return {name: stat for name, stat in command_stats(info).items() if only_reads(commands, name.split("|"))}


def _together(ours: Mapping[str, CommandStat], more: Mapping[str, CommandStat]) -> dict[str, CommandStat]:
    return {**ours, **{name: stat + ours[name] if name in ours else stat for name, stat in more.items()}}


def _sums(figures: Mapping[str, float], info: Mapping[str, Any]) -> dict[str, float]:
    return {name: figures[name] + float(info[name]) for name in OF_READS if name in figures and name in info}
