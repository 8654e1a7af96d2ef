"""Whether a memcached can serve an experiment: queried once before the first trial, answered in one line."""

import contextlib
import secrets
from collections.abc import Mapping

from loadstone.bounds.conversation import bound_that_ended
from loadstone.bounds.replies import shortened
from loadstone.deploy.provider import ServerFacts
from loadstone.errors import BadReply, ServerGone, ServerRefused, UserError
from loadstone.plan.endpoints import Endpoint
from loadstone.software.memcached.capacity import whole
from loadstone.software.memcached.declared import MEMCACHED
from loadstone.software.memcached.session import TOO_OLD, MemcachedSession
from loadstone.spec.experiment import OUR_PREFIX

PROCESS_ID_END = 2**31
DETAILS = ("libevent", "pointer_size", "threads", "limit_maxbytes", "max_connections")


def inspect_server(endpoint: Endpoint, timeout_s: float = 5.0) -> ServerFacts:
    """What the server at `endpoint` is, once it is sure that it can be loaded.

    Writes and removes one key under our prefix.

    Raises:
        UserError: it cannot be loaded; one line with what it said and the remedy.
    """
    with MemcachedSession(endpoint, timeout_s) as session:
        try:
            session.ping()
            _require_meta(session)
            stats = session.stats()
        except ServerGone as gone:
            asks = not isinstance(gone, ServerRefused | BadReply) and bound_that_ended(gone) is None
            hint = "; is it a memcached, and does a firewall let us through?" if asks else ""
            raise UserError(f"{gone}{hint}") from None
    return ServerFacts(
        software=MEMCACHED.name,
        version=stats.get("version", "unknown"),
        mode="standalone",
        role="primary",
        process_id=_process_id(stats),
        details={name: stats[name] for name in DETAILS if name in stats},
    )


def _process_id(stats: Mapping[str, str]) -> int | None:
    """Its process, where it tells a number that one can have."""
    with contextlib.suppress(ValueError):
        number = whole(stats, "pid")
        return number if 0 < number < PROCESS_ID_END else None
    return None


def _require_meta(session: MemcachedSession) -> None:
    """Writes in the meta protocol as it is today; of earlier 1.6 another syntax is known."""
    key = f"{OUR_PREFIX}probe:{secrets.token_hex(8)}"
    try:
        stored = session.call("ms", key, b"x", "T10")
        said, removed = stored.decode(errors="replace"), session.call("md", key)
    except (ServerRefused, BadReply) as odd:
        said, removed = odd.said or str(odd).partition(": ")[2], b""
    if said.startswith("SERVER_ERROR"):
        problem = f"it takes no writes ({shortened(said, 60)}); free some of its memory, or raise its limit (-m)"
        raise ServerGone(f"server {session.endpoint.label}: {problem}")
    if said != "HD" or removed != b"HD":
        raise ServerGone(f"server {session.endpoint.label}: {TOO_OLD.format(said=shortened(said, 60))}")
