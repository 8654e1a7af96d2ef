"""After a failover: where a primary of the user's was copied to, and which server has taken its data over.

The replication id proves it: a replica that is promoted keeps that of its primary as its second one.
"""

import contextlib
from collections.abc import Mapping

from loadstone.run_folder.ledger import Copies, place_of
from loadstone.safety.bounds.replies import read_as
from loadstone.safety.errors import UserError
from loadstone.servers.control import Standing
from loadstone.servers.redis.redirect_targets import (
    AllowedHosts,
    NodeAddress,
    require_address,
    require_few,
    require_plausible,
)
from loadstone.servers.redis.session import RedisSession
from loadstone.text.message import said


def copies_of(session: RedisSession, server: str, allowed: AllowedHosts) -> Copies | None:
    """Return the data set of a primary, and its replicas that may be connected to; None if it has none.

    A primary without replicas has an id that the first replica changes, so it proves nothing. Raises ServerGone.
    """
    info = session.info("replication")
    with read_as(session.endpoint.label, "INFO replication", said("its replicas")):
        described = [value for name, value in info.items() if name.startswith("slave") and isinstance(value, Mapping)]
        announced = [(str(one["ip"]), int(one["port"])) for one in described]
    if info.get("role") != "master" or not announced or not info.get("master_replid"):
        return None
    require_few(session.endpoint.label, "replicas", len(announced))
    found = [_address(session, server, address, allowed) for address in dict.fromkeys(announced)]
    return Copies(str(info["master_replid"]), tuple(address for address in found if address is not None))


def standing_of(session: RedisSession, server: str, allowed: AllowedHosts) -> Standing:
    """Return how a server stands to those that have the same data. Raises ServerGone."""
    info = session.info("replication")
    with read_as(session.endpoint.label, "INFO replication", said("its role")):
        if info["role"] == "master":
            ids = (str(info[name]) for name in ("master_replid", "master_replid2") if name in info)
            return Standing(leads=True, follows=None, data_sets=tuple(ids))
        primary = str(info["master_host"]), int(info["master_port"])
    return Standing(leads=False, follows=_address(session, server, primary, allowed), data_sets=())


def _address(session: RedisSession, server: str, address: NodeAddress, allowed: AllowedHosts) -> str | None:
    """The address as of a place, with the database of this one; None of a server that is not to be connected to."""
    host, port = address
    with contextlib.suppress(UserError, ValueError):
        require_address(host, port)
        require_plausible(session.endpoint, host, port, "a replica", "replica-announce-ip", allowed)
        there = session.endpoint.model_copy(update={"host": host, "port": port, "unix_path": None})
        return place_of(server, there).address
    return None
