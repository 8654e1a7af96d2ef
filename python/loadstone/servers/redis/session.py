"""The control connection to a server: loadstone's own questions, apart from the load.

Commands used: INFO, PING, CONFIG GET, UNLINK, and AUTH and SELECT to connect; SCAN to find keys of ours; EXISTS, GET,
JSON.GET and HGET to look them up after a crash; what an experiment writes as its data and as its counts. While a trial
runs only INFO is sent, so the server's counts of the load's commands stay exact.
"""

import contextlib
import re
import shlex
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import redis
from redis.exceptions import AskError, MovedError

from loadstone.experiment.plan.drive_plan import numbered_key
from loadstone.experiment.plan.endpoints import Endpoint, Tls
from loadstone.experiment.software import REDIS_COUNTING
from loadstone.experiment.spec.experiment import OUR_PREFIX
from loadstone.safety.bounds.deadlines import bound_that_ended
from loadstone.safety.bounds.replies import MISREAD, as_whole_number, bad_reply, read_as, recordable
from loadstone.safety.errors import ServerGone, ServerRefused, UserError
from loadstone.servers.control import untold
from loadstone.servers.redis.connection import LastReply, connection_options, is_bad_reply, name_of
from loadstone.servers.transport import error_text, tls_context
from loadstone.text.message import AnyText, said
from loadstone.text.problem import Problem

BATCH = 1000
FOR_NOW = frozenset({"BUSY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"})
"""Codes of errors that pass by themselves: a script runs, data is loaded, a failover or a reshard goes on."""
NUMBERED_MAX = 100_000_000
GONE = said("; it no longer answers; its own log may give the reason")
"""Text about a server that answered before."""


class LoginRefused(ServerGone):
    """A Redis refuses the name or the password."""


class Redirected(ServerRefused):
    """A node of a cluster answered that another one has the key."""

    node: tuple[str, int]
    """Host and port of the other one."""
    slot: int | None
    """What it has for good; None: it has this key alone."""

    def to(self, node: tuple[str, int], slot: int | None) -> Self:
        """Return this error, with where the key is."""
        self.node = node
        self.slot = slot
        return self


def refused(server: str, error: redis.ResponseError | redis.BusyLoadingError) -> ServerRefused:
    """The error that a server answered, as one line for a person."""
    told = error_text(error)
    message, code = f"server {server}: {told}", told.split(" ")[0]
    if isinstance(error, AskError):  # MOVED is a kind of ASK there
        slot = error.slot_id if isinstance(error, MovedError) else None
        return Redirected.of(message).answered(code, told).to((error.host, error.port), slot)
    return ServerRefused.of(message).answered(code, told, for_now=code in FOR_NOW)


class RedisSession:
    """One connection to `endpoint`, made when first needed; safe to use from several threads.

    Raises:
        ServerGone: the server does not answer; one line with the reason.
        ServerRefused: it answers with an error; one line with its message.
    """

    def __init__(self, endpoint: Endpoint, timeout_s: float = 5.0) -> None:
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._last = LastReply()
        self.connect_to(endpoint)

    def connect_to(self, endpoint: Endpoint) -> None:
        """The next command goes there, over a new connection."""
        self.endpoint = endpoint
        options = connection_options(endpoint, self._timeout_s, lambda: tls_context(endpoint.tls or Tls()))
        pool = redis.ConnectionPool(max_connections=1, last_reply=self._last, **options)
        self.client = redis.Redis(connection_pool=pool)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. May be called more than once."""
        with contextlib.suppress(redis.RedisError, OSError):
            self.client.connection_pool.disconnect()

    def each_node(self) -> "Sequence[RedisSession]":
        """Return a connection to each node of a cluster; of a single server this one."""
        return (self,)

    def node_of(self, key: str | bytes | int) -> "RedisSession":  # noqa: ARG002 (one node has every key)
        """The one of `each_node` that has a key."""
        return self

    def call(self, *command: Any) -> Any:
        """The reply to one command, as redis-py parses it; its errors as `ServerGone`."""
        try:
            with self._lock:
                self._last.expect(command[0])
                return self.client.execute_command(*command)  # type: ignore[no-untyped-call]
        except (redis.RedisError, OSError, *MISREAD) as error:
            raise self._failed(error, _shown(command), GONE) from error

    def pipelined(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """The replies to several commands that are sent all at once; the first error as `ServerGone`."""
        return self.without_errors(commands, self.each_reply(commands))

    def without_errors(self, commands: Sequence[Sequence[Any]], replies: list[Any]) -> list[Any]:
        """The replies, if there is no error among them; the first one as `ServerGone`."""
        for command, reply in zip(commands, replies, strict=True):
            if isinstance(reply, Exception):
                raise self._failed(reply, _shown(command), "") from reply
        return replies

    def each_reply(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """As `pipelined`, with the server's errors in the place of replies."""
        try:
            with self._lock, self.client.pipeline(transaction=False) as pipeline:
                self._last.expect(commands[0][0])
                for command in commands:
                    pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
                return list(pipeline.execute(raise_on_error=False))
        except (redis.RedisError, OSError, *MISREAD) as error:
            raise self._failed(error, _shown(commands[0]), "") from error

    def number(self, *command: Any) -> int:
        """The whole number that a command answers. Raises BadReply if it answers anything else."""
        return as_whole_number(self.endpoint.label, str(command[0]), self.call(*command))

    def _failed(self, error: BaseException, command: str, hint: AnyText) -> ServerGone:
        """The error as one line for a person."""
        ended = bound_that_ended(error)
        if ended is not None:
            return ServerGone(
                "server {endpoint_label}: {command}: {ended}",
                endpoint_label=self.endpoint.label,
                command=command,
                ended=ended,
            )
        if is_bad_reply(error):
            return bad_reply(
                self.endpoint.label, command, said("a reply of the Redis protocol to it"), self._last.came(error)
            )
        if isinstance(error, redis.ResponseError | redis.BusyLoadingError):
            return refused(self.endpoint.label, error)
        if isinstance(error, redis.AuthenticationError):
            return LoginRefused(
                "server {endpoint_label}: {error}", endpoint_label=self.endpoint.label, error=error_text(error)
            ).because(error_text(error))
        if isinstance(error, redis.TimeoutError) and str(error).startswith("Timeout reading"):
            # It stands still, or the network does.
            told = said("it has not answered for {seconds:.1f} s", seconds=self._timeout_s)
            if hint:
                told = said("{told}; its own log may give the reason", told=told)
            return ServerGone("server {server}: {problem}", server=self.endpoint.label, problem=told).because(
                error_text(error)
            )
        return ServerGone(
            "server {endpoint_label}: {error}{hint}",
            endpoint_label=self.endpoint.label,
            error=error_text(error),
            hint=hint,
        ).because(error_text(error))

    def present(self, keys: Sequence[str]) -> list[bool]:
        """Whether the server holds each of these keys."""
        count = self.number("EXISTS", *keys) if keys else 0
        if count in (0, len(keys)):
            return [count > 0] * len(keys)
        return [bool(reply) for reply in self.pipelined([("EXISTS", key) for key in keys])]

    def by_way_of(self, endpoint: Endpoint) -> Self:
        """See `servers.control.ServerQueries`."""
        return type(self)(endpoint, self._timeout_s)

    def ping(self) -> None:
        """Returns if the server answers."""
        self.call("PING")

    def info(self, *sections: str) -> Mapping[str, Any]:
        """INFO as redis-py parses it; of `sections`: `all`, `everything`, `commandstats`..."""
        reply = self.call("INFO", *sections)
        with read_as(self.endpoint.label, "INFO", said("its sections")):
            return dict(reply)

    def commandstats(self) -> dict[str, int]:
        """Command as commandstats names it (`json.set`, `config|get`) -> calls since the server's start."""
        stats = self.info("commandstats")
        with read_as(self.endpoint.label, "INFO commandstats", said("counts of calls")):
            return {name.removeprefix("cmdstat_"): int(values["calls"]) for name, values in stats.items()}

    def config_get(self, names: Iterable[str]) -> dict[str, str]:
        """The server's settings of these names; without those that it does not have or does not tell."""
        settings: dict[str, str] = {}
        for name in names:
            try:
                reply = self.call("CONFIG GET", name)
                with read_as(self.endpoint.label, "CONFIG GET", said("names and values")):
                    settings |= {str(setting): str(value) for setting, value in reply.items()}
            except ServerRefused as refusal:
                if refusal.code == "LOADING":  # it does not tell now
                    raise
                continue
        return settings

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """The server's settings under the names that they are requested by; without those that it does not tell."""
        return {name: value for name in names for value in self.config_get([name]).values()}

    def scan(self, cursor: str, *options: object) -> tuple[str, list[bytes]]:
        """One step of SCAN: the next cursor, `0` at the end, and some keys. Raises BadReply."""
        reply = self.call("SCAN", cursor, *options)
        with read_as(self.endpoint.label, "SCAN", said("a cursor and keys")):
            next_cursor, keys = reply
            if not all(isinstance(key, bytes) for key in keys):
                raise TypeError("keys that are no texts")
            following = str(int(next_cursor))
            if following == cursor != "0":  # it only grows, bits reversed, whatever happens to the table meanwhile
                raise Problem("the cursor {cursor} once more", cursor=cursor)
            return following, list(keys)

    def keys(self) -> int:
        """Return how many keys the database holds."""
        return self.number("DBSIZE")

    def count(self, text: str) -> int:
        """The number that a reading command answers, written as in a shell: `SCARD loadstone:posts`.

        Raises:
            UserError: it does not begin with one of `REDIS_COUNTING`, or its answer is not a number.
        """
        try:
            arguments = shlex.split(text)
        except ValueError as error:
            raise UserError(
                "count '{text}': {error}; write it as in a shell", text=text, error=str(error).lower()
            ) from None
        if not arguments or arguments[0].upper() not in REDIS_COUNTING:
            raise UserError(
                "count '{text}': begin it with one of {counting}", text=text, counting=", ".join(REDIS_COUNTING)
            )
        try:
            reply = self.call(*arguments)
            return recordable(int(reply)) if reply is not None else 0  # a counter that nothing has counted yet
        except ServerRefused as refused:
            raise UserError("count '{text}': {refused}", text=text, refused=refused) from None
        except (ValueError, TypeError):
            raise UserError("count '{text}': the answer is no number; name a key that holds one", text=text) from None

    def remove_beginning(self, prefix: str) -> int:
        """Remove every key that begins with `prefix`; how many there were. Looks at every key's name.

        Raises:
            UserError: `prefix` does not begin with `loadstone:`.
        """
        _require_ours(prefix)
        pattern = re.sub(r"([\\*?\[\]^])", r"\\\1", prefix) + "*"
        removed, cursor = 0, "0"
        while True:
            cursor, keys = self.scan(cursor, "MATCH", pattern, "COUNT", BATCH)
            with read_as(self.endpoint.label, "SCAN", said("keys of ours")):
                if not all(key.startswith(prefix.encode()) for key in keys):
                    raise Problem("keys that do not begin as they must")
            if keys:
                removed += self.number("UNLINK", *keys)
            if cursor == "0":
                return removed

    def remove_key(self, key: str) -> int:
        """Remove one key of ours; how many there were. Raises UserError as `remove_beginning`."""
        _require_ours(key)
        return self.number("UNLINK", key)

    def remove_numbered(self, prefix: str, count: int, tell: Callable[[int], None] = untold) -> int:
        """Remove the keys of a plan, `prefix` and a 12-digit number below `count`; how many there were.

        Looks at no other key, so it takes the same time in a large database as in a small one; of more than
        `NUMBERED_MAX`, where a look at every key is shorter, it looks at all.

        Raises:
            UserError: `prefix` does not begin with `loadstone:`.
        """
        _require_ours(prefix)
        if count > NUMBERED_MAX:
            return self.remove_beginning(prefix)
        removed = 0
        for start in range(0, count, BATCH):
            keys = [numbered_key(prefix, number) for number in range(start, min(start + BATCH, count))]
            removed += self.number("UNLINK", *keys)
            tell(start + len(keys))
        return removed


def _shown(command: Sequence[Any]) -> str:
    """What of a command says what it is: of CLUSTER and SENTINEL two words."""
    return name_of(*command[: 2 if isinstance(command[0], bytes) else 1])


def _require_ours(prefix: str) -> None:
    if not prefix.startswith(OUR_PREFIX):
        raise UserError(
            "prefix '{prefix}': only keys that begin with '{our_prefix}' are removed; use such a prefix",
            prefix=prefix,
            our_prefix=OUR_PREFIX,
        )
