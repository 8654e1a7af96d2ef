"""The way back of an upgrade: whether the server of now loads what the other one wrote, and follows it as a replica."""

import time
from pathlib import Path

from loadstone.safety.bounds.replies import read_as
from loadstone.safety.errors import LoadstoneError, ServerGone, UserError
from loadstone.servers.compared_replies import WayBack
from loadstone.servers.redis.control import RedisControl
from loadstone.servers.redis.local import LOADED_BYTES_PER_S, LocalRedis
from loadstone.servers.server import DeployContext, Server
from loadstone.text.message import AnyText, said

FOLLOWS_WITHIN_S = 15.0
"""How long a replica may take to follow, and longer for much data; a version that is refused is tried every second."""
SAVED_WITHIN_S = 60.0
_POLL_S = 0.05


def begin_with(server: Server, dump: Path) -> None:
    """Let a server of ours load a snapshot when it is started. Raises UserError where it cannot."""
    if not isinstance(server, LocalRedis):
        raise UserError(
            "server {name}: a snapshot is loaded by a program on this machine alone, not by an image; name redis, "
            "valkey or the path of a redis-server",
            name=server.name,
        )
    server.begin_with(dump)


def way_back(now: Server, other: Server, context: DeployContext) -> WayBack | None:
    """Try whether `now` takes what `other` holds: by its snapshot, and as its replica, for which that does not wait.

    Args:
        now: does not run, before and after.
        other: runs.
        context: what `now` is started with.

    Returns: None where one of them is no process on this machine.

    Raises:
        ServerGone: the other one does not answer.
    """
    if not isinstance(now, LocalRedis) or not isinstance(other, LocalRedis):
        return None
    with other.control(SAVED_WITHIN_S) as control:
        keys = _keys(control)
        control.call(b"SAVE")
        where = control.config_get(("dir", "dbfilename"))
        snapshot = Path(where["dir"]) / where["dbfilename"]
        as_replica = _follows(now, control, context, snapshot.stat().st_size)
    return WayBack(keys, _loads(now, snapshot, context), as_replica)


def _loads(now: LocalRedis, snapshot: Path, context: DeployContext) -> int | AnyText:
    try:
        now.begin_with(snapshot)
        now.start(context)
        with now.control() as control:
            return _keys(control)
    except LoadstoneError as error:
        return error.message
    finally:
        now.stop()


def _follows(now: LocalRedis, other: RedisControl, context: DeployContext, dump_bytes: int) -> int | AnyText:
    try:
        now.start(context)
        with now.control() as control:
            if other.endpoint.password:
                control.call(b"CONFIG", b"SET", b"masterauth", other.endpoint.password.encode())
            other.call(b"CONFIG", b"SET", b"repl-diskless-sync-delay", b"0")
            control.call(b"REPLICAOF", other.endpoint.host.encode(), b"%d" % other.endpoint.port)
            ends_s = time.monotonic() + FOLLOWS_WITHIN_S + dump_bytes / LOADED_BYTES_PER_S
            while control.info("replication").get("master_link_status") != "up":
                if time.monotonic() > ends_s:
                    return said("its link was not up within {seconds:.0f} s", seconds=FOLLOWS_WITHIN_S)
                time.sleep(_POLL_S)
            return _keys(control)
    except ServerGone as error:
        ended = now.how_it_ended()
        return said("it ended ({how})", how=ended) if ended else error.message
    except LoadstoneError as error:
        return error.message
    finally:
        now.stop()


def _keys(control: RedisControl) -> int:
    """The number of keys in all databases that do not expire meanwhile."""
    told = control.info("keyspace")
    with read_as(control.endpoint.label, "INFO", said("keys by database")):
        return sum(int(of_database["keys"]) - int(of_database["expires"]) for of_database in told.values())
