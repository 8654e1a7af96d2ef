"""A Redis of the user's that stands behind a service: it is asked INFO, and nothing is written to it."""

from loadstone.servers.redis.session import RedisSession
from loadstone.servers.redis.url import parse_url
from loadstone.servers.redis.users_process import local_pid, process_id

ANSWER_S = 0.8
"""Below the monitors' second: one that hangs must not hold up the other monitors."""


def watch_only(url: str) -> tuple[RedisSession, int | None]:
    """A connection for its figures, and its process where that is one of this machine's.

    Raises:
        UserError: it is no such URL.
        ServerGone: it does not answer.
    """
    endpoint = parse_url(url)
    session = RedisSession(endpoint, ANSWER_S)
    return session, local_pid(endpoint, process_id(session))
